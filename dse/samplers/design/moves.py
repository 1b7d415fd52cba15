"""Small changes that turn one valid design into another, in the terms of the field.

A move gives None where it does not apply or leads out of the space; the search then tries another.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from random import Random

from dse.samplers.design.genome import Genome
from dse.samplers.design.neighbourhood import Neighbourhood, active, below, pick, pick_two, shifted

Move = Callable[[Neighbourhood, Genome, Random], Genome | None]


def shift_factor(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """Move a prime factor from one knob of a product to another."""
    return _shifted(near, genome, 1, random)


def shift_factors(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """Move two or three prime factors within a product; what lies between may be invalid."""
    return _shifted(near, genome, 2 + (random.random() < 0.35), random)


def _shifted(near: Neighbourhood, genome: Genome, times: int, random: Random) -> Genome | None:
    knobs = active(genome, pick(near.products, random))
    values = [int(near.space.knobs[at].choices[genome.codes[at]]) for at in knobs]
    if len(knobs) < 2 or max(values) < 2:
        return None
    for _ in range(times):
        shifted(values, random)
    return near.moved(genome, dict(zip(knobs, values, strict=True)))


def swap_factors(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """Exchange the values of two knobs of a product."""
    knobs = active(genome, pick(near.products, random))
    if len(knobs) < 2:
        return None
    one, two = pick_two(knobs, random)
    choices, codes = near.space.knobs, genome.codes
    first, second = choices[one].choices[codes[one]], choices[two].choices[codes[two]]
    return None if first == second else near.moved(genome, {one: second, two: first})


def step_ladder(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """One step on a ladder, or now and then two."""
    knobs = active(genome, near.ladders)
    if not knobs:
        return None
    at = pick(knobs, random)
    step = (1 if random.random() < 0.75 else 2) * (1 if random.random() < 0.5 else -1)
    codes = list(genome.codes)
    goal = min(max(codes[at] + step, 0), near.tops[at])
    if goal == codes[at]:  # at an end: the other way
        goal = min(max(codes[at] - step, 0), near.tops[at])
    codes[at] = goal
    return near.finish(genome, codes, (at,))


def trade_ladders(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """A step up on one ladder, a step down on another of the same kind."""
    knobs = active(genome, pick(near.ordered_stems, random))
    if len(knobs) < 2:
        return None
    up, down = pick_two(knobs, random)
    codes = list(genome.codes)
    codes[up] += 1
    codes[down] -= 1
    if codes[up] > near.tops[up] or codes[down] < 0:
        return None
    return near.finish(genome, codes, (up, down))


def change_word(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """Another value for a knob without order."""
    knobs = active(genome, near.words)
    if not knobs:
        return None
    at = pick(knobs, random)
    if not near.tops[at]:
        return None
    codes = list(genome.codes)
    codes[at] = (codes[at] + 1 + below(near.tops[at], random)) % (near.tops[at] + 1)
    return near.finish(genome, codes, (at,))


def copy_value(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """The value that one network dimension has, for another one or for all of them."""
    knobs = active(genome, pick(near.stems, random))
    if len(knobs) < 2:
        return None
    source, target = pick_two(knobs, random)
    value = near.space.knobs[source].choices[genome.codes[source]]
    targets = knobs if random.random() < 0.5 else [target]
    return near.moved(genome, dict.fromkeys(targets, value))


def swap_dimensions(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """Exchange two network dimensions with all that belongs to them.

    Values that the other dimension cannot take give way to those at the same place in its list.
    """
    knobs = near.space.knobs
    present = sorted(
        {slot for at, slot in enumerate(near.slots) if slot is not None and genome.codes[at] >= 0}
    )
    if len(present) < 2:
        return None
    pair = pick_two(present, random)
    codes = list(genome.codes)
    touched: list[int] = []
    for stem in near.stems:
        own = [at for at in stem if near.slots[at] in pair and genome.codes[at] >= 0]
        if len(own) < 2:
            continue
        for to, of in (own, reversed(own)):
            code = genome.codes[of]
            value = knobs[of].choices[code]
            codes[to] = near.place[to].get(value, min(code, near.tops[to]))
        touched += own
    return near.finish(genome, codes, touched)


def redraw_block(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """Another row for one block."""
    number = below(len(near.space.spans), random)
    span = near.space.spans[number]
    codes = list(genome.codes)
    codes[span.first : span.end] = near.space.draw_block(number, genome.dimensions, random)
    return genome._replace(codes=tuple(codes))


def move_real(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """A step in a continuous range, of a size drawn between 0.1 % and 30 % of it."""
    reals = list(genome.reals)
    at = below(len(reals), random)
    step = random.gauss(0.0, 1.0) * 10 ** random.uniform(-3.0, -0.5)
    reals[at] = min(max(reals[at] + step, 0.0), 1.0)
    return genome._replace(reals=tuple(reals))


def change_dimensions(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """Another number of network dimensions; blocks that still have their row keep it."""
    counts = [count for count in near.space.counts if count != genome.dimensions]
    count = pick(counts, random)
    codes = list(genome.codes)
    for number, span in enumerate(near.space.spans):
        if not near.space.holds(number, count, codes):
            codes[span.first : span.end] = near.space.draw_block(number, count, random)
    return Genome(count, tuple(codes), genome.reals)


def cross(near: Neighbourhood, one: Genome, two: Genome, random: Random) -> Genome:
    """A child with some blocks of *one* and the others of *two*, of which it has the dimensions."""
    codes = list(two.codes)
    alike = one.dimensions == two.dimensions
    for number, span in enumerate(near.space.spans):
        if random.random() < 0.5 and (alike or near.space.holds(number, two.dimensions, one.codes)):
            codes[span.first : span.end] = one.codes[span.first : span.end]
    reals = [a if random.random() < 0.5 else b for a, b in zip(one.reals, two.reals, strict=True)]
    return Genome(two.dimensions, tuple(codes), tuple(reals))


def moves_for(near: Neighbourhood) -> list[tuple[Move, float]]:
    """The moves that a space allows, each with its share before anything is known about its use."""
    is_spread = bool(near.stems)
    offered: list[tuple[Move, float, bool]] = [
        (shift_factor, 0.16, bool(near.products)),
        (shift_factors, 0.10, bool(near.products)),
        (swap_factors, 0.10, bool(near.products)),
        (step_ladder, 0.20, bool(near.ladders)),
        (trade_ladders, 0.06, bool(near.ordered_stems)),
        (change_word, 0.12, bool(near.words)),
        (copy_value, 0.06, is_spread),
        (swap_dimensions, 0.06, is_spread),
        (redraw_block, 0.06, True),
        (move_real, 0.10, bool(near.space.reals)),
        (change_dimensions, 0.02, len(near.space.counts) > 1),
    ]
    return [(move, share) for move, share, applies in offered if applies]


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
