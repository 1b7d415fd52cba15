"""The space as samplers see it: flat genes with fixed names and ranges, each setting valid.

A block is coded in one of three ways. ``index``: the number of a row, one gene. ``weights``: a
weight per knob of a product group, which sets the share of the product's logarithm that the knob
should get; ``cuts``: where the prime factors of the product, standing in a row, are cut to be dealt
to the knobs. With both there is one gene per other knob, and the block takes the valid row that
comes nearest. They keep neighbours alike and suit evolutionary and continuous samplers; an index
suits samplers that learn from the value of single choices, and uniform draws.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from dse.space.genes import BlockCode, Gene, Genes
from dse.space.nearest import CutsCode, WeightsCode
from dse.space.parameters import Design, Parameter
from dse.space.space import KnobBlock, Space

Style = Literal["index", "weights", "cuts"]

MAX_LISTED = 512
"""Most rows that ``index`` offers as unordered choices; beyond, the row number is a range."""


class DirectCode(BlockCode):
    """A block of one knob: its position in the list of allowed choices."""

    def __init__(self, block: KnobBlock, parameter: Parameter) -> None:
        self.block = block
        codes = np.unique(np.concatenate([table[:, 0] for table in block.tables.values()]))
        self._codes = codes[codes >= 0]
        labels = tuple(parameter.choices[code] for code in self._codes)
        size = len(labels)
        if parameter.is_ordered:
            self.genes = (Gene(name=parameter.name, kind="step", size=size),)
        else:
            self.genes = (Gene(name=parameter.name, kind="choice", size=size, labels=labels),)

    def row(self, values: Genes, dimensions: int | None) -> tuple[int, int]:
        count = dimensions if dimensions is not None else next(iter(self.block.tables))
        table = self.block.tables[count][:, 0]
        if table[0] < 0:
            return count, 0
        code = self._codes[int(values[self.genes[0].name])]
        return count, int(np.flatnonzero(table == code)[0])

    def values(self, dimensions: int, row: int) -> dict[str, int | float]:
        code = self.block.tables[dimensions][row, 0]
        position = 0 if code < 0 else int(np.flatnonzero(self._codes == code)[0])
        return {self.genes[0].name: position}


class IndexCode(BlockCode):
    """The number of a row, over all numbers of dimensions if the block decides that number."""

    def __init__(self, block: KnobBlock) -> None:
        self.block = block
        sizes = {count: block.rows(count) for count in block.tables}
        self._size = sum(sizes.values()) if block.leads else max(sizes.values())
        name = "rows of " + " ".join(block.names)
        kind: Literal["choice", "step"] = "choice" if self._size <= MAX_LISTED else "step"
        self.genes = (Gene(name=name, kind=kind, size=self._size),)

    def row(self, values: Genes, dimensions: int | None) -> tuple[int, int]:
        index = int(values[self.genes[0].name])
        if self.block.leads:
            for count in self.block.tables:
                if index < self.block.rows(count):
                    return count, index
                index -= self.block.rows(count)
        count = dimensions if dimensions is not None else next(iter(self.block.tables))
        return count, index % self.block.rows(count)

    def values(self, dimensions: int, row: int) -> dict[str, int | float]:
        before = 0
        if self.block.leads:
            counts = list(self.block.tables)
            earlier = counts[: counts.index(dimensions)]
            before = sum(self.block.rows(count) for count in earlier)
        return {self.genes[0].name: before + row}


class Encoding:
    """A space as flat genes; every combination of gene values is a valid design."""

    def __init__(self, space: Space, style: Style) -> None:
        self.space = space
        codes = [_code(block, space.parameters, style) for block in space.blocks]
        self._codes = codes
        self._order = sorted(range(len(codes)), key=lambda i: not codes[i].block.leads)
        reals = [
            Gene(name=p.name, kind="real", low=p.low, high=p.high, log=p.log)
            for p in space.continuous
        ]
        self.genes = tuple(gene for code in codes for gene in code.genes) + tuple(reals)

    def design(self, values: Genes) -> Design:
        """The valid design that *values* mean."""
        dimensions: int | None = None
        if len(self.space.dimensions) == 1:
            dimensions = next(iter(self.space.dimensions))
        rows = [0] * len(self._codes)
        for index in self._order:
            dimensions, rows[index] = self._codes[index].row(values, dimensions)
        count = dimensions if dimensions is not None else next(iter(self.space.dimensions))
        reals = {p.name: float(values[p.name]) for p in self.space.continuous}
        return self.space.design(count, rows, reals)

    def values(self, dimensions: int, rows: Sequence[int], design: Design) -> Genes:
        """Values of all genes that mean *design*, which takes ``rows[i]`` of block i."""
        result: dict[str, int | float] = {}
        for code, row in zip(self._codes, rows, strict=True):
            result |= code.values(dimensions, row)
        return result | {p.name: float(design.get(p.name, p.low)) for p in self.space.continuous}


def _code(block: KnobBlock, parameters: Mapping[str, Parameter], style: Style) -> BlockCode:
    if len(block.names) == 1:
        return DirectCode(block, parameters[block.names[0]])
    if style == "index":
        return IndexCode(block)
    return CutsCode(block, parameters) if style == "cuts" else WeightsCode(block, parameters)
