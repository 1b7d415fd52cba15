"""All designs that differ from one in a single decision, one after the other."""

from collections.abc import Iterator

from dse.samplers.design.genome import Genome
from dse.samplers.design.neighbourhood import PRIMES, Neighbourhood, active


def around(near: Neighbourhood, genome: Genome) -> Iterator[Genome]:
    """Valid designs one step on a ladder, one word, one factor or one swap away from *genome*."""
    for codes, touched in (*_other_codes(near, genome), *_other_factors(near, genome)):
        found = near.finish(genome, codes, touched)
        if found is not None and found != genome:
            yield found


def _other_codes(
    near: Neighbourhood, genome: Genome
) -> Iterator[tuple[list[int], tuple[int, ...]]]:
    """A step up or down on each ladder, and each other word."""
    for at in active(genome, near.ladders):
        for code in (genome.codes[at] - 1, genome.codes[at] + 1):
            if 0 <= code <= near.tops[at]:
                yield _with(genome, {at: code}), (at,)
    for at in active(genome, near.words):
        for code in range(near.tops[at] + 1):
            if code != genome.codes[at]:
                yield _with(genome, {at: code}), (at,)


def _other_factors(
    near: Neighbourhood, genome: Genome
) -> Iterator[tuple[list[int], tuple[int, ...]]]:
    """A prime factor from each knob of a product to each other one."""
    for product in near.products:
        knobs = active(genome, product)
        values = {at: int(near.space.knobs[at].choices[genome.codes[at]]) for at in knobs}
        for giver in knobs:
            factors = [prime for prime in PRIMES if values[giver] % prime == 0]
            for taker in knobs:
                for factor in factors if taker != giver else ():
                    less = near.place[giver].get(values[giver] // factor)
                    more = near.place[taker].get(values[taker] * factor)
                    if less is not None and more is not None:
                        yield _with(genome, {giver: less, taker: more}), (giver, taker)


def _with(genome: Genome, codes: dict[int, int]) -> list[int]:
    return [codes.get(at, code) for at, code in enumerate(genome.codes)]
