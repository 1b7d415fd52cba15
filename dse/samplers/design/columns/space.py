"""The genomes of a space: drawn, checked and decoded, one by one or as columns."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import prod
from operator import mul
from random import Random

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dse.samplers.design.columns.genomes import Codes, Flags, Genome, Genomes, Ints
from dse.space import Design, KnobBlock, Parameter, Space
from simcore import plain_sum

_STEPS = 2**40
"""Places in a range that are told apart."""

_TOGETHER = 1024
"""Designs that are looked up at once: as many as the caches of a processor hold."""

_ABSENT, _UNKNOWN = object(), -2
"""Value of a knob that a design does not have; code of a value that no knob has."""


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
        self._shares = (np.cumsum(sizes) / plain_sum(sizes)).tolist()
        own = [self.knobs[span.first : span.end] for span in self.spans]
        self._radix = [_radix([len(knob.choices) for knob in knobs]) for knobs in own]
        self._weights = [np.array(radix, np.int64) for radix in self._radix]
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
        self._finders = {
            place: _Finder.of(keys.astype(np.int64)) for place, keys in self._keys.items()
        }
        position = {knob.name: at for at, knob in enumerate(self.knobs)}
        self._order = [
            (knob.name, position.get(knob.name, -1), knob.choices)
            for knob in space.parameters.values()
        ]

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
        codes = genome.codes
        if not self.reals:
            return {name: ch[codes[at]] for name, at, ch in self._order if codes[at] >= 0}
        slots = self.space.dimensions[genome.dimensions]
        pairs = zip(self.reals, genome.reals, strict=True)
        own = {p.name: p.value_at(s) for p, s in pairs if p.slot is None or p.slot in slots}
        for budget in self.space.budgets:
            own |= budget.shared(own)
        return {
            name: choices[codes[at]] if at >= 0 else own[name]
            for name, at, choices in self._order
            if (codes[at] >= 0 if at >= 0 else name in own)
        }

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

    def draw_many(self, number: int, rng: Generator) -> Genomes:
        """*number* genomes drawn uniformly from all valid ones."""
        shares = np.searchsorted(self._shares, rng.random(number), side="right")
        dimensions = np.array(self.counts, np.int16)[np.minimum(shares, len(self.counts) - 1)]
        codes = [self.draw_blocks(at, dimensions, rng) for at in range(len(self.spans))]
        none = np.zeros((number, 0), np.int16)
        reals = rng.random((number, len(self.reals)))
        return Genomes(dimensions, np.concatenate([none, *codes], axis=1), reals)

    def draw_blocks(self, number: int, dimensions: Codes, rng: Generator) -> Codes:
        """Codes of block *number* for genomes with those *dimensions*, drawn from its rows."""
        span, luck = self.spans[number], rng.random(len(dimensions))
        result = np.empty((len(dimensions), span.end - span.first), np.int16)
        for count in self.counts:
            own = dimensions == count
            table = span.block.tables[count]
            result[own] = table[(luck[own] * table.shape[0]).astype(np.int64)]
        return result

    def block_rows(self, number: int, dimensions: Codes, codes: Codes) -> Ints:
        """(N,) the row of block *number* with its part of *codes* (of all knobs), or -1."""
        return self.find_rows(number, dimensions, self._keys_of(number, codes))

    def _keys_of(self, number: int, codes: Codes) -> Ints:
        """(N,) keys of the part of *codes* (of all knobs) that is of block *number*."""
        span = self.spans[number]
        if span.end - span.first == 1:
            return codes[:, span.first].astype(np.int64)
        keys: Ints = codes[:, span.first : span.end].astype(np.int64) @ self._weights[number]
        return keys

    def radix(self, number: int) -> Ints:
        """Weights of the knobs of a block in the keys of its rows."""
        return self._weights[number].copy()

    def keys(self, number: int, count: int) -> Ints:
        """Keys of the rows of block *number* with *count* network dimensions; they rise."""
        return self._keys[number, count].astype(np.int64)

    def find_rows(self, number: int, dimensions: Codes, keys: Ints) -> Ints:
        """The rows of block *number* with those keys, (N, ...) as *keys* are; -1: none."""
        if len(self.counts) == 1:
            return self._finders[number, self.counts[0]].rows(keys)
        result = np.full(keys.shape, -1, np.int64)
        for count in self.counts:
            own = dimensions == count
            result[own] = self._finders[number, count].rows(keys[own])
        return result

    def rows_of(self, genomes: Genomes) -> NDArray[np.int32]:
        """(N, blocks) the row that each genome takes of each block; -1: none."""
        dimensions, codes = genomes.dimensions, genomes.codes
        rows = np.empty((len(genomes), len(self.spans)), np.int32)
        first = int(dimensions[0]) if len(genomes) else self.counts[0]
        are_alike = bool((dimensions == first).all())
        for number in range(len(self.spans)):
            keys = self._keys_of(number, codes)
            if are_alike:
                rows[:, number] = self._finders[number, first].rows(keys)
            else:
                rows[:, number] = self.find_rows(number, dimensions, keys)
        return rows

    def are_valid(self, genomes: Genomes) -> Flags:
        """True where every block has the row that a genome takes of it."""
        return np.asarray((self.rows_of(genomes) >= 0).all(axis=1))

    def settle(self, genomes: Genomes) -> Genomes:
        """``settled`` for many."""
        if not self.reals:
            return genomes
        reals = genomes.reals
        if self.space.budgets:
            reals = np.array([self._budgeted(genome) for genome in genomes.each()])
            reals = reals.reshape(genomes.reals.shape)
        reals = np.round(reals * _STEPS) / _STEPS
        for count in self.counts:
            slots = self.space.dimensions[count]
            idle = [knob.slot is not None and knob.slot not in slots for knob in self.reals]
            reals[np.ix_(genomes.dimensions == count, np.array(idle))] = 0.0
        return Genomes(genomes.dimensions, genomes.codes, reals)

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


_DENSE = 1 << 20
"""Most keys of a block whose rows are listed key by key."""


@dataclass(frozen=True, slots=True, eq=False)
class _Finder:
    """Rows of a block by their keys, which rise.

    Attributes:
        keys: Of the rows.
        first: The key of the first place that is listed.
        listed: The row of each key from *first* on, or -1, as at both ends, which stand for all
            keys beyond; empty where there are too many.
    """

    keys: Ints
    first: int
    listed: Ints

    @classmethod
    def of(cls, keys: Ints) -> "_Finder":
        first = int(keys[0]) - 1
        span = int(keys[-1]) - first + 2
        listed = np.full(span if span <= _DENSE else 0, -1, np.int64)
        if listed.size:
            listed[keys - first] = np.arange(keys.size)
        return cls(keys, first, listed)

    def rows(self, wanted: Ints) -> Ints:
        if self.listed.size:
            return self.listed.take(wanted - self.first, mode="clip")
        at = np.minimum(self.keys.searchsorted(wanted), self.keys.size - 1)
        return np.where(self.keys[at] == wanted, at, -1)


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
