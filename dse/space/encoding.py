"""How samplers see a space: flat genes with fixed names and ranges, each setting a valid design.

A block is coded in one of two ways. ``index``: the number of a row, one gene. ``weights``: a
weight per knob of a product group, which sets the share of the product's logarithm that the knob
should get, and one gene per other knob; the block takes the valid row that comes nearest. Weights
keep neighbours alike and suit evolutionary and continuous samplers; an index suits samplers that
learn from the value of single choices, and uniform draws.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dse.space.parameters import Design, Parameter, Value
from dse.space.space import Block, Space

Style = Literal["index", "weights"]

MAX_LISTED = 512
"""Most rows that ``index`` offers as unordered choices; beyond, the row number is a range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gene:
    """One flat variable of a sampler.

    Attributes:
        name: Fixed for the whole study.
        kind: ``choice`` (unordered), ``step`` (0 to *size* - 1, ordered) or ``real``.
        size: Number of values of a choice or a step.
        labels: Values of a choice as shown in the sampler's own records; empty: 0 to size - 1.
        low: Least value of a real.
        high: Greatest value of a real.
        log: Whether a real is drawn on a logarithmic scale.
    """

    name: str
    kind: Literal["choice", "step", "real"]
    size: int = 0
    labels: tuple[Value, ...] = ()
    low: float = 0.0
    high: float = 1.0
    log: bool = False


Genes = Mapping[str, int | float]
"""Values of genes by name: positions for choices and steps."""


class BlockCode(ABC):
    """How the rows of one block are chosen by genes."""

    block: Block
    genes: tuple[Gene, ...]

    @abstractmethod
    def row(self, values: Genes, dimensions: int | None) -> tuple[int, int]:
        """The number of network dimensions and the row that *values* mean.

        Args:
            values: Values of at least the genes of this block.
            dimensions: The number of network dimensions, or None if this block decides it.
        """

    @abstractmethod
    def values(self, dimensions: int, row: int) -> dict[str, int | float]:
        """Values of the genes of this block that mean *row*: the reverse of ``row``."""


class DirectCode(BlockCode):
    """A block of one knob: its position in the list of allowed choices."""

    def __init__(self, block: Block, parameter: Parameter) -> None:
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

    def __init__(self, block: Block) -> None:
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


class WeightsCode(BlockCode):
    """Weights for the knobs of products, own genes for the others; the nearest valid row."""

    def __init__(self, block: Block, parameters: Mapping[str, Parameter]) -> None:
        self.block = block
        grouped = {name for names, _ in block.products for name in names}
        self._others = [name for name in block.names if name not in grouped]
        self._parameters = parameters
        genes = [
            Gene(name=f"weight of {name}", kind="real") for name in block.names if name in grouped
        ]
        genes += [_own_gene(parameters[name]) for name in self._others]
        self._count_gene = "number of dimensions"
        if block.leads:
            size = len(block.tables)
            genes.insert(0, Gene(name=self._count_gene, kind="choice", size=size))
        self.genes = tuple(genes)
        self._points = {count: self._coordinates(count) for count in block.tables}

    def row(self, values: Genes, dimensions: int | None) -> tuple[int, int]:
        counts = list(self.block.tables)
        if self.block.leads:
            count = counts[int(values[self._count_gene])]
        else:
            count = dimensions if dimensions is not None else counts[0]
        points, scale = self._points[count]
        meant = points == points
        target = self._target(values, meant.any(axis=0))
        words = np.isinf(scale)
        distance = np.where(meant, points - target, 0.0)
        distance[:, words] = distance[:, words] != 0
        weight = np.where(words, 16.0, scale)
        return count, int(np.argmin((distance**2 * weight).sum(axis=1)))

    def values(self, dimensions: int, row: int) -> dict[str, int | float]:
        result: dict[str, int | float] = {}
        if self.block.leads:
            result[self._count_gene] = list(self.block.tables).index(dimensions)
        codes = dict(
            zip(self.block.names, self.block.tables[dimensions][row].tolist(), strict=True)
        )
        for names, product in self.block.products:
            whole = math.log2(product) or 1.0
            for name in names:
                meant = codes[name] >= 0
                share = float(self._scale(name)[codes[name]]) / whole if meant else 0.0
                result[f"weight of {name}"] = share
        return result | {name: max(codes[name], 0) for name in self._others}

    def _coordinates(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Position of each row, NaN where a knob has no meaning; and the weight per knob."""
        table = self.block.tables[count]
        points = np.full(table.shape, np.nan)
        scale = np.ones(len(self.block.names))
        for column, name in enumerate(self.block.names):
            codes = table[:, column]
            own = self._scale(name)
            points[codes >= 0, column] = own[codes[codes >= 0]]
            if name in self._others:
                ordered = self._parameters[name].coordinates is not None
                scale[column] = 4.0 if ordered else np.inf
        return points, scale

    def _scale(self, name: str) -> NDArray[np.float64]:
        parameter = self._parameters[name]
        if name not in self._others:
            return np.log2(np.asarray(parameter.choices, dtype=np.float64))
        own = parameter.coordinates
        return np.arange(float(len(parameter.choices))) if own is None else own

    def _target(self, values: Genes, active: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Where the genes point; *active* says which knobs have a meaning at all."""
        target = np.zeros(len(self.block.names))
        for names, product in self.block.products:
            columns = [self.block.names.index(name) for name in names]
            weights = np.asarray([float(values[f"weight of {name}"]) for name in names])
            weights = np.where(active[columns], weights, 0.0)
            total = weights.sum()
            shares = weights / total if total > 0 else active[columns] / active[columns].sum()
            target[columns] = shares * np.log2(product)
        for name in self._others:
            own = self._scale(name)
            target[self.block.names.index(name)] = own[int(values[name])]
        return target


def _own_gene(parameter: Parameter) -> Gene:
    size = len(parameter.choices)
    if parameter.is_ordered:
        return Gene(name=parameter.name, kind="step", size=size)
    return Gene(name=parameter.name, kind="choice", size=size, labels=parameter.choices)


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


def _code(block: Block, parameters: Mapping[str, Parameter], style: Style) -> BlockCode:
    if len(block.names) == 1:
        return DirectCode(block, parameters[block.names[0]])
    if style == "index":
        return IndexCode(block)
    return WeightsCode(block, parameters)
