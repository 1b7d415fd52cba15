"""All designs that differ from one in a single decision, one after the other."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from dse.samplers.design.genome import Genome
from dse.samplers.design.neighbourhood import Neighbourhood, active

Change = tuple[list[int], tuple[int, ...]]
"""Codes of all knobs, and the positions of those that were changed."""


def around(near: Neighbourhood, genome: Genome) -> Iterator[Genome]:
    """Valid designs one step on a ladder, one word or one split of two factors from *genome*."""
    yield from retuned(near, genome)
    yield from _valid(near, genome, _other_splits(near, genome))


def retuned(near: Neighbourhood, genome: Genome) -> Iterator[Genome]:
    """Valid designs one step on a ladder or one word from *genome*."""
    yield from _valid(near, genome, _other_codes(near, genome))


def grafted(near: Neighbourhood, genome: Genome, others: Sequence[Genome]) -> Iterator[Genome]:
    """Valid designs that have one block of one of *others*, and all else of *genome*."""
    for other in others:
        for number, span in enumerate(near.space.spans):
            own = other.codes[span.first : span.end]
            if own == genome.codes[span.first : span.end]:
                continue
            if near.space.holds(number, genome.dimensions, other.codes):
                codes = (*genome.codes[: span.first], *own, *genome.codes[span.end :])
                yield genome._replace(codes=codes)


def _other_codes(near: Neighbourhood, genome: Genome) -> Iterator[Change]:
    """A step up or down on each ladder, and each other word."""
    for at in active(genome, near.ladders):
        for code in (genome.codes[at] - 1, genome.codes[at] + 1):
            if 0 <= code <= near.tops[at]:
                yield _with(genome, {at: code}), (at,)
    for at in active(genome, near.words):
        for code in range(near.tops[at] + 1):
            if code != genome.codes[at]:
                yield _with(genome, {at: code}), (at,)


def _other_splits(near: Neighbourhood, genome: Genome) -> Iterator[Change]:
    """Each way in which two knobs of a product can share what they make together."""
    for product in near.products:
        for one, two in combinations(active(genome, product), 2):
            values = [int(near.space.knobs[at].choices[genome.codes[at]]) for at in (one, two)]
            together = values[0] * values[1]
            for value, code in near.place[one].items():
                rest, left = divmod(together, int(value))
                other = None if left or code == genome.codes[one] else near.place[two].get(rest)
                if other is not None:
                    yield _with(genome, {one: code, two: other}), (one, two)


def _valid(near: Neighbourhood, genome: Genome, changes: Iterable[Change]) -> Iterator[Genome]:
    """*genome* with each of the changes that the space holds."""
    for codes, touched in changes:
        found = near.finish(genome, codes, touched)
        if found is not None and found != genome:
            yield found


def _with(genome: Genome, codes: dict[int, int]) -> list[int]:
    return [codes.get(at, code) for at, code in enumerate(genome.codes)]
