"""A design as positions in lists of choices: what moves change, always valid."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import prod
from operator import mul
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.space import Design, KnobBlock, Parameter, Space

_STEPS = 2**40
"""Places in a range that are told apart."""

_TOGETHER = 1024
"""Designs that are looked up at once: as many as the caches of a processor hold."""

_ABSENT, _UNKNOWN = object(), -2
"""Value of a knob that a design does not have; code of a value that no knob has."""


class Genome(NamedTuple):
    """One valid design.

    Attributes:
        dimensions: Number of network dimensions.
        codes: Position of each discrete knob in its list of choices; -1 where it has no meaning.
        reals: Place of each continuous knob in its range, 0 to 1.
    """

    dimensions: int
    codes: tuple[int, ...]
    reals: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Place of the knobs of one block in ``Genome.codes``.

    Attributes:
        block: The block.
        first: Position of its first knob.
        end: Position behind its last knob.
        products: Positions of the knobs that multiply to a fixed number, per product.
    """

    block: KnobBlock
    first: int
    end: int
    products: tuple[tuple[int, ...], ...]


class GenomeSpace:
    """Draws, checks and decodes the genomes of a space.

    Attributes:
        space: What it was made from.
        knobs: The discrete knobs, in the order of ``Genome.codes``.
        reals: The continuous knobs, in the order of ``Genome.reals``.
        spans: The blocks.
        counts: The numbers of network dimensions.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self.knobs: tuple[Parameter, ...] = tuple(
            space.parameters[name] for block in space.blocks for name in block.names
        )
        self.reals = space.continuous
        self._places: list[dict[object, int]] = [
            {_ABSENT: -1} | {value: at for at, value in enumerate(knob.choices)}
            for knob in self.knobs
        ]
        self.spans = _spans(space.blocks)
        self.counts = tuple(space.dimensions)
        sizes = [float(prod(b.rows(count) for b in space.blocks)) for count in self.counts]
        self._shares = (np.cumsum(sizes) / sum(sizes)).tolist()
        own = [self.knobs[span.first : span.end] for span in self.spans]
        self._radix = [_radix([len(knob.choices) for knob in knobs]) for knobs in own]
        self._free = {  # a knob of which any choice will do
            (number, count)
            for number, span in enumerate(self.spans)
            for count in self.counts
            if span.end - span.first == 1
            and span.block.rows(count) == len(self.knobs[span.first].choices)
        }
        self._keys = {
            (number, count): span.block.tables[count] @ np.array(self._radix[number], np.int64)
            for number, span in enumerate(self.spans)
            for count in self.counts
        }

    def draw(self, random: Random) -> Genome:
        """A genome drawn uniformly from all valid ones."""
        at = bisect_right(self._shares, random.random())
        count = self.counts[min(at, len(self.counts) - 1)]
        codes: list[int] = []
        for number in range(len(self.spans)):
            codes += self.draw_block(number, count, random)
        return Genome(count, tuple(codes), tuple(random.random() for _ in self.reals))

    def draw_block(self, number: int, count: int, random: Random) -> list[int]:
        """The codes of a block, drawn uniformly from its rows."""
        table = self.spans[number].block.tables[count]
        row: list[int] = table[int(random.random() * table.shape[0])].tolist()
        return row

    def holds(self, number: int, count: int, codes: Sequence[int]) -> bool:
        """True if block *number* has a row with its part of *codes* (of all knobs)."""
        if (number, count) in self._free:
            return codes[self.spans[number].first] >= 0
        return self._row(number, count, codes) >= 0

    def is_valid(self, genome: Genome) -> bool:
        """True if every block has the row that *genome* takes of it."""
        count, codes, _ = genome
        return all(self.holds(number, count, codes) for number in range(len(self.spans)))

    def design(self, genome: Genome) -> Design:
        """The values that *genome* means."""
        pairs = zip(self.reals, genome.reals, strict=True)
        reals = {p.name: p.value_at(share) for p, share in pairs}
        return self.space.design(genome.dimensions, self.rows(genome), reals)

    def rows(self, genome: Genome) -> list[int]:
        """The row that *genome* takes of each block."""
        count, codes, _ = genome
        return [self._row(number, count, codes) for number in range(len(self.spans))]

    def genome(self, design: Mapping[str, object]) -> Genome | None:
        """The genome of *design*, or None if the space does not hold it."""
        codes = tuple(
            place.get(design.get(knob.name, _ABSENT), _UNKNOWN)
            for knob, place in zip(self.knobs, self._places, strict=True)
        )
        reals = self._shares_of(design)
        if _UNKNOWN in codes or reals is None:
            return None
        found = (Genome(count, codes, reals) for count in self.counts)
        return next((genome for genome in found if self.is_valid(genome)), None)

    def genomes(self, designs: Sequence[Mapping[str, object]]) -> list[Genome] | None:
        """The genomes of many designs at once; None if the space does not hold one of them."""
        result = [Genome(_UNKNOWN, ())] * len(designs)
        for first in range(0, len(designs), _TOGETHER):
            alike: dict[tuple[str, ...], list[int]] = {}
            for at in range(first, min(first + _TOGETHER, len(designs))):
                alike.setdefault(tuple(designs[at]), []).append(at)
            for rows in alike.values():
                found = self._genomes_alike([designs[at] for at in rows])
                if found is None:
                    return None
                for at, genome in zip(rows, found, strict=True):
                    result[at] = genome
        return result

    def settled(self, genome: Genome) -> Genome:
        """*genome* as it is known again from its design: what has no meaning at 0, no more digits.

        Shares of a range are multiples of ``1 / _STEPS``, which survive the way to a value and
        back.
        """
        if not self.reals:
            return genome
        if self.space.budgets:
            genome = genome._replace(reals=self._budgeted(genome))
        slots = self.space.dimensions[genome.dimensions]
        reals = tuple(
            round(share * _STEPS) / _STEPS if knob.slot is None or knob.slot in slots else 0.0
            for knob, share in zip(self.reals, genome.reals, strict=True)
        )
        return genome._replace(reals=reals)

    def _budgeted(self, genome: Genome) -> tuple[float, ...]:
        """Shares of the values that *genome* means, which keep the budgets of the space."""
        design = self.design(genome)
        return tuple(
            share if knob.name not in design else knob.share_of(float(design[knob.name]))
            for knob, share in zip(self.reals, genome.reals, strict=True)
        )

    def _genomes_alike(self, designs: Sequence[Mapping[str, object]]) -> list[Genome] | None:
        """``genomes`` of designs that all have the same knobs: column by column, which is fast."""
        columns = zip(*(design.values() for design in designs), strict=True)
        values = dict(zip(designs[0], columns, strict=True))
        absent = (_ABSENT,) * len(designs)
        try:
            codes = [
                list(map(place.__getitem__, values.get(knob.name, absent)))
                for knob, place in zip(self.knobs, self._places, strict=True)
            ]
        except KeyError:
            return None
        counts = np.full(len(designs), _UNKNOWN)
        for count in reversed(self.counts):
            counts[self._are_valid(count, codes, len(designs))] = count
        shares = map(self._shares_of, designs) if self.reals else repeat((), len(designs))
        reals = [found for found in shares if found is not None]
        if (counts == _UNKNOWN).any() or len(reals) < len(designs):
            return None
        rows = zip(*codes, strict=True) if codes else repeat((), len(designs))
        return list(map(Genome, counts.tolist(), rows, reals))

    def _shares_of(self, design: Mapping[str, object]) -> tuple[float, ...] | None:
        shares = []
        for knob in self.reals:
            value = design.get(knob.name, knob.low)
            if not isinstance(value, int | float) or not knob.low <= value <= knob.high:
                return None
            shares.append(round(knob.share_of(value) * _STEPS) / _STEPS)
        return tuple(shares)

    def _are_valid(
        self, count: int, codes: Sequence[Sequence[int]], designs: int
    ) -> NDArray[np.bool_]:
        """Designs that all blocks hold, of equal knobs: (designs,) bool; *codes*: by knob."""
        valid = np.ones(designs, bool)
        for number, span in enumerate(self.spans):
            if (number, count) in self._free:
                valid &= codes[span.first][0] >= 0  # what one of them lacks they all lack
                continue
            keys = self._keys[number, count]
            own = np.array(codes[span.first : span.end], np.int64)
            wanted = np.array(self._radix[number], np.int64) @ own
            valid &= keys[np.minimum(keys.searchsorted(wanted), keys.size - 1)] == wanted
        return valid

    def _row(self, number: int, count: int, codes: Sequence[int]) -> int:
        """The row of a block that *codes* take, or -1."""
        span, keys = self.spans[number], self._keys[number, count]
        key = sum(map(mul, codes[span.first : span.end], self._radix[number]))
        row = int(keys.searchsorted(key))
        return row if row < keys.size and keys[row] == key else -1


def _spans(blocks: tuple[KnobBlock, ...]) -> tuple[Span, ...]:
    spans, first = [], 0
    for block in blocks:
        products = tuple(
            tuple(first + block.names.index(name) for name in names if name in block.names)
            for names, _ in block.products
        )
        end = first + len(block.names)
        spans.append(Span(block=block, first=first, end=end, products=products))
        first = end
    return tuple(spans)


def _radix(sizes: Sequence[int]) -> list[int]:
    """Weights that turn a row of codes, each from -1 on, into a number of its own.

    The numbers rise from row to row, since the rows of a table do.
    """
    weights: NDArray[np.int64] = np.cumprod([1] + [size + 1 for size in sizes[:0:-1]])
    result: list[int] = weights[::-1].tolist()
    return result
