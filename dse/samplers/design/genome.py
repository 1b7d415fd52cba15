"""A design as positions in lists of choices: what moves change, always valid."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from random import Random

import numpy as np
from numpy.typing import NDArray

from dse.space import Design, Parameter, Space
from dse.space.space import Block


@dataclass(frozen=True, slots=True)
class Genome:
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
    """Where the knobs of one block stand in ``Genome.codes``, and which of them form products."""

    block: Block
    first: int
    products: tuple[tuple[int, ...], ...]

    @property
    def end(self) -> int:
        return self.first + len(self.block.names)


class GenomeSpace:
    """Draws, checks and decodes the genomes of a space.

    Attributes:
        space: What it was made from.
        knobs: The discrete knobs, in the order of ``Genome.codes``.
        reals: The continuous knobs, in the order of ``Genome.reals``.
        spans: The blocks.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self.knobs: tuple[Parameter, ...] = tuple(
            space.parameters[name] for block in space.blocks for name in block.names
        )
        self.reals = space.continuous
        self.spans = tuple(_spans(space.blocks))
        self._counts = tuple(space.dimensions)
        sizes = [float(prod(b.rows(count) for b in space.blocks)) for count in self._counts]
        self._shares = (np.cumsum(sizes) / sum(sizes)).tolist()
        self._digits = [
            [(at, len(self.knobs[at].choices) + 1) for at in range(span.first, span.end)]
            for span in self.spans
        ]
        self._keys = {
            (number, count): _keys(span.block.tables[count], self._digits[number]).tolist()
            for number, span in enumerate(self.spans)
            for count in self._counts
        }

    def draw(self, random: Random) -> Genome:
        """A genome drawn uniformly from all valid ones."""
        count = self._counts[bisect_right(self._shares, random.random())]
        codes: list[int] = []
        for span in self.spans:
            table = span.block.tables[count]
            codes += table[int(random.random() * table.shape[0])].tolist()
        return Genome(count, tuple(codes), tuple(random.random() for _ in self.reals))

    def draw_block(self, number: int, count: int, random: Random) -> list[int]:
        """The codes of a block, drawn uniformly from its rows."""
        table = self.spans[number].block.tables[count]
        row: list[int] = table[int(random.random() * table.shape[0])].tolist()
        return row

    def holds(self, number: int, count: int, codes: list[int]) -> bool:
        """Whether block *number* has a row with its part of *codes* (of all knobs)."""
        return self._row(number, count, codes) >= 0

    def is_valid(self, genome: Genome) -> bool:
        codes = list(genome.codes)
        return all(self.holds(number, genome.dimensions, codes) for number in range(len(self.spans)))

    def rows(self, genome: Genome) -> list[int]:
        """The row of each block."""
        codes = list(genome.codes)
        return [self._row(n, genome.dimensions, codes) for n in range(len(self.spans))]

    def design(self, genome: Genome) -> Design:
        """The values that *genome* means."""
        reals = {
            p.name: _within(p, share) for p, share in zip(self.reals, genome.reals, strict=True)
        }
        return self.space.design(genome.dimensions, self.rows(genome), reals)

    def genome(self, design: Mapping[str, object]) -> Genome | None:
        """The genome of *design*, or None if the space does not hold it."""
        codes = []
        for knob in self.knobs:
            if knob.name not in design:
                codes.append(-1)
            elif design[knob.name] in knob.choices:
                codes.append(knob.choices.index(design[knob.name]))  # type: ignore[arg-type]
            else:
                return None
        reals = tuple(_share(p, float(design[p.name])) for p in self.reals)  # type: ignore[arg-type]
        for count in self._counts:
            genome = Genome(count, tuple(codes), reals)
            if self.is_valid(genome):
                return genome
        return None

    def _row(self, number: int, count: int, codes: list[int]) -> int:
        keys = self._keys[number, count]
        key = 0
        for at, radix in self._digits[number]:
            key = key * radix + codes[at] + 1
        row = bisect_left(keys, key)
        return row if row < len(keys) and keys[row] == key else -1


def _spans(blocks: tuple[Block, ...]) -> list[Span]:
    spans, first = [], 0
    for block in blocks:
        products = tuple(
            tuple(first + block.names.index(name) for name in names if name in block.names)
            for names, _ in block.products
        )
        spans.append(Span(block=block, first=first, products=products))
        first += len(block.names)
    return spans


def _keys(table: NDArray[np.int32], digits: list[tuple[int, int]]) -> NDArray[np.int64]:
    """Each row as one number; they rise, since the rows of a table are sorted."""
    keys = np.zeros(table.shape[0], np.int64)
    for column, (_, radix) in enumerate(digits):
        keys = keys * radix + table[:, column] + 1
    return keys


def _within(parameter: Parameter, share: float) -> float:
    low, high = parameter.low, parameter.high
    if parameter.log:
        return float(low * (high / low) ** share)
    return low + (high - low) * share


def _share(parameter: Parameter, value: float) -> float:
    low, high = parameter.low, parameter.high
    if parameter.log:
        return float(np.log(value / low) / np.log(high / low))
    return (value - low) / (high - low)
