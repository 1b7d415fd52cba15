"""Small changes that turn one valid design into another, in the terms of the field.

A move gives None where it does not apply or leads out of the space; the search then tries another.
"""

from collections.abc import Callable
from random import Random

from dse.samplers.design.genome import Genome, GenomeSpace

PRIMES = (2, 3, 5, 7)


class Neighbourhood:
    """What the moves need to know about a space, worked out once."""

    def __init__(self, space: GenomeSpace) -> None:
        self.space = space
        self.block_of = [
            number for number, span in enumerate(space.spans) for _ in range(span.first, span.end)
        ]
        knobs = space.knobs
        self.products = [product for span in space.spans for product in span.products]
        grouped = {at for product in self.products for at in product}
        self.ladders = [i for i, k in enumerate(knobs) if k.is_ordered and i not in grouped]
        self.words = [i for i, k in enumerate(knobs) if not k.is_ordered and i not in grouped]
        self.place = [{value: at for at, value in enumerate(k.choices)} for k in knobs]
        self.stems = _stems(space)

    def finish(self, genome: Genome, codes: list[int], touched: set[int]) -> Genome | None:
        """The genome with *codes* if the blocks that were *touched* hold it."""
        blocks = {self.block_of[at] for at in touched}
        if all(self.space.holds(number, genome.dimensions, codes) for number in blocks):
            return Genome(genome.dimensions, tuple(codes), genome.reals)
        return None


Move = Callable[[Neighbourhood, Genome, Random], Genome | None]


def shift_factor(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """Move a prime factor from one knob of a product to another."""
    product, active = _active_product(near, genome, random)
    if len(active) < 2:
        return None
    choices = [near.space.knobs[at].choices for at in active]
    values = [int(c[genome.codes[at]]) for c, at in zip(choices, active, strict=True)]
    givers = [i for i, value in enumerate(values) if value > 1]
    if not givers:
        return None
    giver = givers[_below(random, len(givers))]
    taker = _below(random, len(active) - 1)
    taker += taker >= giver
    factors = [p for p in PRIMES if values[giver] % p == 0] or [values[giver]]
    factor = factors[_below(random, len(factors))]
    if random.random() < 0.25 and values[giver] % (factor * factor) == 0:
        factor *= factor
    codes = list(genome.codes)
    for at, value in (
        (active[giver], values[giver] // factor),
        (active[taker], values[taker] * factor),
    ):
        code = near.place[at].get(value)
        if code is None:
            return None
        codes[at] = code
    return near.finish(genome, codes, {active[giver], active[taker]})


def swap_factors(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """Exchange the values of two knobs of a product."""
    product, active = _active_product(near, genome, random)
    if len(active) < 2:
        return None
    first, second = random.sample(range(len(active)), 2)
    one, two = active[first], active[second]
    knobs = near.space.knobs
    codes = list(genome.codes)
    for at, other in ((one, two), (two, one)):
        code = near.place[at].get(knobs[other].choices[genome.codes[other]])
        if code is None:
            return None
        codes[at] = code
    return near.finish(genome, codes, {one, two})


def step_ladder(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """One or two steps on a ladder."""
    active = [at for at in near.ladders if genome.codes[at] >= 0]
    if not active:
        return None
    at = active[_below(random, len(active))]
    codes = list(genome.codes)
    return _stepped(near, genome, codes, at, random)


def trade_ladders(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """A step up on one ladder, a step down on another of the same kind."""
    groups = [[at for at in stem if genome.codes[at] >= 0] for stem in near.stems]
    groups = [group for group in groups if len(group) > 1 and near.space.knobs[group[0]].is_ordered]
    if not groups:
        return None
    group = groups[_below(random, len(groups))]
    first, second = random.sample(range(len(group)), 2)
    codes = list(genome.codes)
    for at, step in ((group[first], 1), (group[second], -1)):
        codes[at] += step
        if not 0 <= codes[at] < len(near.space.knobs[at].choices):
            return None
    return near.finish(genome, codes, {group[first], group[second]})


def change_word(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """Another value for a knob without order."""
    active = [at for at in near.words if genome.codes[at] >= 0]
    if not active:
        return None
    at = active[_below(random, len(active))]
    choices = len(near.space.knobs[at].choices)
    if choices < 2:
        return None
    codes = list(genome.codes)
    codes[at] = (codes[at] + 1 + _below(random, choices - 1)) % choices
    return near.finish(genome, codes, {at})


def copy_word(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """The value that one network dimension has, for all of them or for another one."""
    groups = [[at for at in stem if genome.codes[at] >= 0] for stem in near.stems]
    groups = [group for group in groups if len(group) > 1]
    if not groups:
        return None
    group = groups[_below(random, len(groups))]
    source = group[_below(random, len(group))]
    value = near.space.knobs[source].choices[genome.codes[source]]
    targets = group
    if random.random() < 0.5:
        targets = [group[_below(random, len(group))]]
    codes = list(genome.codes)
    for at in targets:
        code = near.place[at].get(value)
        if code is None:
            return None
        codes[at] = code
    return near.finish(genome, codes, set(targets))


def swap_dimensions(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """Exchange two network dimensions with all that belongs to them."""
    slots = sorted(
        {k.slot for k, c in zip(near.space.knobs, genome.codes, strict=True) if k.slot is not None and c >= 0}
    )
    if len(slots) < 2:
        return None
    first, second = random.sample(range(len(slots)), 2)
    one, two = slots[first], slots[second]
    codes = list(genome.codes)
    touched: set[int] = set()
    for stem in near.stems:
        own = {near.space.knobs[at].slot: at for at in stem}
        if one not in own or two not in own:
            continue
        a, b = own[one], own[two]
        if codes[a] < 0 or codes[b] < 0:
            continue
        values = [near.space.knobs[at].choices[codes[at]] for at in (a, b)]
        left, right = near.place[a].get(values[1]), near.place[b].get(values[0])
        if left is None or right is None:
            left, right = min(codes[b], len(near.place[a]) - 1), min(codes[a], len(near.place[b]) - 1)
        codes[a], codes[b] = left, right
        touched |= {a, b}
    return near.finish(genome, codes, touched)


def redraw_block(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """Another row for one block."""
    number = _below(random, len(near.space.spans))
    span = near.space.spans[number]
    codes = list(genome.codes)
    codes[span.first : span.end] = near.space.draw_block(number, genome.dimensions, random)
    return Genome(genome.dimensions, tuple(codes), genome.reals)


def move_real(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """A step in a continuous range, of a size drawn between 0.1 % and 30 % of it."""
    if not genome.reals:
        return None
    at = _below(random, len(genome.reals))
    step = random.gauss(0.0, 1.0) * 10 ** random.uniform(-3.0, -0.5)
    reals = list(genome.reals)
    reals[at] = min(max(reals[at] + step, 0.0), 1.0)
    return Genome(genome.dimensions, genome.codes, tuple(reals))


def change_dimensions(near: Neighbourhood, genome: Genome, random: Random) -> Genome | None:
    """Another number of network dimensions; blocks that still have their row keep it."""
    counts = [count for count in near.space.space.dimensions if count != genome.dimensions]
    if not counts:
        return None
    count = counts[_below(random, len(counts))]
    codes = list(genome.codes)
    for number, span in enumerate(near.space.spans):
        if not near.space.holds(number, count, codes):
            codes[span.first : span.end] = near.space.draw_block(number, count, random)
    return Genome(count, tuple(codes), genome.reals)


def cross(near: Neighbourhood, one: Genome, two: Genome, random: Random) -> Genome:
    """A child with some blocks of *one* and the others of *two*, of which it has the dimensions."""
    codes = list(two.codes)
    for number, span in enumerate(near.space.spans):
        if random.random() < 0.5 and near.space.holds(number, two.dimensions, list(one.codes)):
            codes[span.first : span.end] = one.codes[span.first : span.end]
    reals = [a if random.random() < 0.5 else b for a, b in zip(one.reals, two.reals, strict=True)]
    return Genome(two.dimensions, tuple(codes), tuple(reals))


MOVES: dict[str, tuple[Move, float]] = {
    "shift_factor": (shift_factor, 0.22),
    "swap_factors": (swap_factors, 0.10),
    "step_ladder": (step_ladder, 0.20),
    "trade_ladders": (trade_ladders, 0.06),
    "change_word": (change_word, 0.12),
    "copy_word": (copy_word, 0.06),
    "swap_dimensions": (swap_dimensions, 0.06),
    "redraw_block": (redraw_block, 0.06),
    "move_real": (move_real, 0.10),
    "change_dimensions": (change_dimensions, 0.02),
}
"""The moves and the share that each has before anything is known about their use."""


def _active_product(
    near: Neighbourhood, genome: Genome, random: Random
) -> tuple[tuple[int, ...], list[int]]:
    if not near.products:
        return (), []
    product = near.products[_below(random, len(near.products))]
    return product, [at for at in product if genome.codes[at] >= 0]


def _stepped(
    near: Neighbourhood, genome: Genome, codes: list[int], at: int, random: Random
) -> Genome | None:
    step = 1 if random.random() < 0.75 else 2
    if random.random() < 0.5:
        step = -step
    top = len(near.space.knobs[at].choices) - 1
    moved = min(max(codes[at] + step, 0), top)
    if moved == codes[at]:
        moved = min(max(codes[at] - step, 0), top)
    if moved == codes[at]:
        return None
    codes[at] = moved
    return near.finish(genome, codes, {at})


def _stems(space: GenomeSpace) -> list[list[int]]:
    """Knobs that say the same of different network dimensions."""
    groups: dict[str, list[int]] = {}
    for at, knob in enumerate(space.knobs):
        if knob.slot is not None:
            stem = knob.name.replace(f"[{knob.slot}]", "[*]")
            groups.setdefault(stem, []).append(at)
    return list(groups.values())


def _below(random: Random, size: int) -> int:
    """A number drawn from 0 to *size* - 1; several times faster than ``randrange``."""
    return int(random.random() * size)
