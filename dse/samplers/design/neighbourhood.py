"""Facts about a space that moves need, worked out once."""

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import TypeVar

from dse.samplers.design.genome import Genome, GenomeSpace, Span
from dse.space import Value

PRIMES = (2, 3, 5, 7)
"""Factors to split products into; a value without them moves as a whole."""

Item = TypeVar("Item")


class Neighbourhood:
    """The knobs of a space by what can be done to them.

    Attributes:
        space: The space.
        products: Positions of the knobs that multiply to a fixed number, per product.
        ladders: Positions of the other knobs whose choices have an order.
        words: Positions of the other knobs whose choices have none.
        stems: Positions of knobs that say the same of different network dimensions.
        ordered_stems: Those of *stems* whose choices have an order.
        slots: The network dimension of each knob, or None.
        place: Per knob, the position of each choice.
        tops: Per knob, the position of the last choice.
    """

    def __init__(self, space: GenomeSpace) -> None:
        self.space, knobs = space, space.knobs
        self.products = [product for span in space.spans for product in span.products]
        grouped = {at for product in self.products for at in product}
        is_ordered = [knob.is_ordered for knob in knobs]
        self.ladders = [at for at, yes in enumerate(is_ordered) if yes and at not in grouped]
        self.words = [at for at, yes in enumerate(is_ordered) if not yes and at not in grouped]
        self.stems = _stems(space)
        self.ordered_stems = [stem for stem in self.stems if is_ordered[stem[0]]]
        self.slots = [knob.slot for knob in knobs]
        self.place = [{value: at for at, value in enumerate(knob.choices)} for knob in knobs]
        self.tops = [len(knob.choices) - 1 for knob in knobs]
        self._loose = [
            {
                at: _is_conditional(span, at - span.first)
                for at in range(span.first, span.end)
                if at not in grouped or _is_conditional(span, at - span.first)
            }
            for span in space.spans
        ]
        self._block_of = [
            number for number, span in enumerate(space.spans) for _ in range(span.first, span.end)
        ]

    def finish(self, genome: Genome, codes: list[int], touched: Iterable[int]) -> Genome | None:
        """The genome with *codes* if the blocks of the knobs that were *touched* hold it."""
        count, touched = genome.dimensions, set(touched)
        for number in {self._block_of[at] for at in touched}:
            if not self.space.holds(number, count, codes) and not self._mended(
                number, count, codes, touched
            ):
                return None
        return Genome(count, tuple(codes), genome.reals)

    def _mended(self, number: int, count: int, codes: list[int], touched: set[int]) -> bool:
        """True if one more knob of the block, changed in place, makes its *codes* valid.

        A knob may lose its meaning, or gain one, or has to give way: the nearest choice that fits.
        """
        for at, is_conditional in self._loose[number].items():
            if at in touched:
                continue
            before = codes[at]
            for code in self._others(at, before, is_conditional):
                codes[at] = code
                if self.space.holds(number, count, codes):
                    return True
            codes[at] = before
        return False

    def _others(self, at: int, before: int, is_conditional: bool) -> list[int]:
        """Other codes of a knob, the nearest first; to have no meaning before all."""
        if before < 0:
            return list(range(self.tops[at] + 1))
        codes = [code for code in range(self.tops[at] + 1) if code != before]
        codes.sort(key=lambda code: abs(code - before))
        return [-1, *codes] if is_conditional else codes

    def moved(self, genome: Genome, values: Mapping[int, Value]) -> Genome | None:
        """The genome with those values for some knobs, if each has that choice."""
        codes = list(genome.codes)
        for at, value in values.items():
            code = self.place[at].get(value)
            if code is None:
                return None
            codes[at] = code
        return self.finish(genome, codes, values)


def shifted(values: list[int], random: Random) -> tuple[int, int]:
    """Move a prime factor from one of *values* to another, in place; says which two."""
    givers = [at for at, value in enumerate(values) if value > 1]
    giver = pick(givers, random)
    taker = below(len(values) - 1, random)
    taker += taker >= giver
    factors = [p for p in PRIMES if values[giver] % p == 0] or [values[giver]]
    factor = pick(factors, random)
    values[giver] //= factor
    values[taker] *= factor
    return giver, taker


def active(genome: Genome, knobs: Iterable[int]) -> list[int]:
    """Knobs, of *knobs*, that have a meaning in *genome*."""
    codes = genome.codes
    return [at for at in knobs if codes[at] >= 0]


def below(size: int, random: Random) -> int:
    """A number drawn from 0 to *size* - 1; several times faster than ``randrange``."""
    return int(random.random() * size)


def pick(items: Sequence[Item], random: Random) -> Item:
    """One of *items*."""
    return items[int(random.random() * len(items))]


def pick_two(items: Sequence[Item], random: Random) -> tuple[Item, Item]:
    """Two different ones of *items*."""
    first = int(random.random() * len(items))
    second = int(random.random() * (len(items) - 1))
    return items[first], items[second + (second >= first)]


def _is_conditional(span: Span, column: int) -> bool:
    """True if the knob has a meaning in some rows of its block only."""
    tables = [table[:, column] for table in span.block.tables.values()]
    return any(bool((codes < 0).any() and (codes >= 0).any()) for codes in tables)


def _stems(space: GenomeSpace) -> list[list[int]]:
    groups: dict[str, list[int]] = {}
    for at, knob in enumerate(space.knobs):
        if knob.slot is not None:
            groups.setdefault(knob.name.replace(f"[{knob.slot}]", "[*]"), []).append(at)
    return [group for group in groups.values() if len(group) > 1]
