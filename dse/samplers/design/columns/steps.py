"""Designs one step away: a knob up or down, a factor from one degree to another, another word.

What a search tries around its front and what ``dse explain`` shows of a design are the same steps.
"""

from collections.abc import Iterator

from dse.samplers.design.columns.genomes import Genome
from dse.samplers.design.columns.neighbourhood import PRIMES, Neighbourhood, active

MOST_WORDS = 4
"""Other choices that are tried of a knob without an order: the first ones of its list."""

NamedStep = tuple[str, Genome | None]
"""Name of the knob that a step is taken on, and where it leads; None: to no valid design."""


def rungs(near: Neighbourhood, genome: Genome) -> Iterator[NamedStep]:
    """Steps on ladders, up and down."""
    for at in active(genome, near.ladders):
        for way in (1, -1):
            code = genome.codes[at] + way
            if 0 <= code <= near.tops[at]:
                yield near.space.knobs[at].name, _with(near, genome, at, code)


def words(near: Neighbourhood, genome: Genome) -> Iterator[NamedStep]:
    """Other choices of knobs without an order."""
    for at in active(genome, near.words):
        others = [code for code in range(near.tops[at] + 1) if code != genome.codes[at]]
        for code in others[:MOST_WORDS]:
            yield near.space.knobs[at].name, _with(near, genome, at, code)


def shifts(near: Neighbourhood, genome: Genome) -> Iterator[NamedStep]:
    """The smallest factor of each degree of a product, handed to each other degree."""
    knobs = near.space.knobs
    for product in near.products:
        held = active(genome, product)
        for giver in held:
            value = knobs[giver].choices[genome.codes[giver]]
            if not isinstance(value, int) or value < 2:
                continue
            factor = next((prime for prime in PRIMES if value % prime == 0), value)
            for taker in held:
                if taker != giver:
                    yield knobs[giver].name, _shifted(near, genome, giver, taker, factor)


def _with(near: Neighbourhood, genome: Genome, at: int, code: int) -> Genome | None:
    codes = list(genome.codes)
    codes[at] = code
    return near.finish(genome, codes, (at,))


def _shifted(
    near: Neighbourhood, genome: Genome, giver: int, taker: int, factor: int
) -> Genome | None:
    knobs, codes = near.space.knobs, genome.codes
    less, more = knobs[giver].choices[codes[giver]], knobs[taker].choices[codes[taker]]
    if not isinstance(less, int) or not isinstance(more, int):
        return None
    return near.moved(genome, {giver: less // factor, taker: more * factor})
