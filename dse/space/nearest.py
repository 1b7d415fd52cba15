"""Codes that say roughly which row of a block is meant: the valid row that comes nearest is it."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dse.space.genes import BlockCode, Gene, Genes, gene_of
from dse.space.parameters import Parameter
from dse.space.space import KnobBlock
from dse.space.tables import Product

Floats = NDArray[np.float64]


class NearestCode(BlockCode):
    """Genes of their own for the knobs of products, plain genes for the others."""

    def __init__(self, block: KnobBlock, parameters: Mapping[str, Parameter]) -> None:
        self.block = block
        grouped = {name for names, _ in block.products for name in names}
        self._others = [name for name in block.names if name not in grouped]
        self._parameters = parameters
        self._groups = [Product(names=names, equals=equals) for names, equals in block.products]
        genes = [gene for group in self._groups for gene in self.dealt(group)]
        genes += [gene_of(parameters[name]) for name in self._others]
        self._count_gene = "number of dimensions"
        if block.leads:
            size = len(block.tables)
            genes.insert(0, Gene(name=self._count_gene, kind="choice", size=size))
        self.genes = tuple(genes)
        self._points = {count: self._coordinates(count) for count in block.tables}

    @abstractmethod
    def dealt(self, group: Product) -> list[Gene]:
        """The genes that deal the factors of a product to its knobs."""

    @abstractmethod
    def logs(self, values: Genes, group: Product, present: Sequence[str]) -> Floats:
        """Binary logarithms of what the knobs that are *present* should be, at least one."""

    @abstractmethod
    def reverse(self, logs: Floats, group: Product, present: Sequence[str]) -> Genes:
        """Genes from which ``logs`` makes *logs* again."""

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
        for group in self._groups:
            present = [name for name in group.names if codes[name] >= 0]
            for gene in self.dealt(group):  # values of genes that decide nothing
                result[gene.name] = 0.0 if gene.kind == "real" else gene.size - 1
            logs = np.array([self._scale(name)[codes[name]] for name in present])
            result |= self.reverse(logs, group, present)
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

    def _target(self, values: Genes, active: NDArray[np.bool_]) -> Floats:
        """Target of the genes; *active* marks the knobs that have a meaning."""
        target = np.zeros(len(self.block.names))
        for group in self._groups:
            columns = [self.block.names.index(name) for name in group.names]
            columns = [column for column in columns if active[column]]
            if columns:
                present = [self.block.names[column] for column in columns]
                target[columns] = self.logs(values, group, present)
        for name in self._others:
            own = self._scale(name)
            target[self.block.names.index(name)] = own[int(values[name])]
        return target


class WeightsCode(NearestCode):
    """A weight per knob of a product: its share of the product's logarithm."""

    def dealt(self, group: Product) -> list[Gene]:
        return [Gene(name=f"weight of {name}", kind="real") for name in group.names]

    def logs(self, values: Genes, group: Product, present: Sequence[str]) -> Floats:
        weights = np.asarray([float(values[f"weight of {name}"]) for name in present])
        total = weights.sum()
        shares = weights / total if total > 0 else np.full(len(present), 1.0 / len(present))
        return np.asarray(shares * np.log2(group.equals))

    def reverse(self, logs: Floats, group: Product, present: Sequence[str]) -> Genes:
        whole = math.log2(group.equals) or 1.0
        pairs = zip(present, logs, strict=True)
        return {f"weight of {name}": float(own) / whole for name, own in pairs}


class CutsCode(NearestCode):
    """Per prime, its factors in a row, and the places where the row is cut, in any order.

    The first knob gets what stands before the first cut, the last knob what is left.
    """

    def dealt(self, group: Product) -> list[Gene]:
        return [
            Gene(name=_cut(group, prime, at), kind="step", size=power + 1)
            for prime, power in _powers(group.equals).items()
            for at in range(len(group.names) - 1)
        ]

    def logs(self, values: Genes, group: Product, present: Sequence[str]) -> Floats:
        result = np.zeros(len(present))
        for prime, power in _powers(group.equals).items():
            names = [_cut(group, prime, at) for at in range(len(present) - 1)]
            cuts = sorted(int(values[name]) for name in names)
            result += math.log2(prime) * np.diff([0, *cuts, power])
        return result

    def reverse(self, logs: Floats, group: Product, present: Sequence[str]) -> Genes:
        knobs = [_powers(round(2.0**own)) for own in logs]
        return {
            _cut(group, prime, at): sum(knob.get(prime, 0) for knob in knobs[: at + 1])
            for prime in _powers(group.equals)
            for at in range(len(present) - 1)
        }


def _cut(group: Product, prime: int, at: int) -> str:
    return f"cut {at} of the factors {prime} of {group.names[0]} and others"


def _powers(number: int) -> Mapping[int, int]:
    """The prime factors of *number*, each with its power."""
    result: dict[int, int] = {}
    prime = 2
    while number > 1:
        if prime * prime > number:
            prime = number
        while number % prime == 0:
            result[prime] = result.get(prime, 0) + 1
            number //= prime
        prime += 1
    return result
