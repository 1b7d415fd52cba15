"""Designs as parameters of Optuna's trials: the knobs themselves, or genes of which any will do."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from dse.samplers.design import GenomeSpace
from dse.space import Design, Encoding, Gene, Parameter, Space, Value
from dse.space.encoding import Style
from dse.space.genes import Genes

if TYPE_CHECKING:
    from optuna.trial import Trial


class View(ABC):
    """One way to write designs as parameters, with the same names in every trial.

    Attributes:
        distributions: What the parameters are drawn from.
    """

    distributions: dict[str, BaseDistribution]

    @abstractmethod
    def design(self, params: Mapping[str, Any]) -> Design:
        """The design that *params* mean."""

    @abstractmethod
    def params(self, design: Design) -> dict[str, Any] | None:
        """Parameters that mean *design*, or None if the space does not hold it."""


class KnobView(View):
    """The knobs as they are: a design lists those that have a meaning in it."""

    def __init__(self, space: Space) -> None:
        self.distributions = knob_distributions(space)

    def design(self, params: Mapping[str, Any]) -> Design:
        return dict(params)

    def params(self, design: Design) -> dict[str, Any]:
        return design


class GeneView(View):
    """Genes, each free of the others: every combination of their values is a valid design."""

    def __init__(self, space: Space, style: Style, *, keeps_words: bool = True) -> None:
        self._encoding, self._keeps = Encoding(space, style), keeps_words
        self.genes = self._encoding.genes
        self.distributions = {
            gene.name: distribution(gene, keeps_words=keeps_words) for gene in self.genes
        }

    @cached_property
    def _space(self) -> GenomeSpace:
        return GenomeSpace(self._encoding.space)

    def design(self, params: Mapping[str, Any]) -> Design:
        return self._encoding.design(self.values(params))

    def params(self, design: Design) -> dict[str, Any] | None:
        genome = self._space.genome(design)
        if genome is None:
            return None
        rows = self._space.rows(genome)
        return self.named(self._encoding.values(genome.dimensions, rows, design))

    def values(self, params: Mapping[str, Any]) -> dict[str, int | float]:
        """Values of the genes that *params* name."""
        keeps = self._keeps
        return {g.name: from_optuna(g, params[g.name], keeps_words=keeps) for g in self.genes}

    def named(self, values: Genes) -> dict[str, Any]:
        """Parameters with these values of the genes."""
        keeps = self._keeps
        return {g.name: to_optuna(g, values[g.name], keeps_words=keeps) for g in self.genes}


def knob_distributions(space: Space) -> dict[str, BaseDistribution]:
    """Distribution of each knob, in the order of the space."""
    return {name: knob_distribution(knob) for name, knob in space.parameters.items()}


_WIDE = 8.0
"""Ratio of the ends of a range from which on it is seen on a logarithmic scale."""


def knob_distribution(knob: Parameter, unit: float = 1.0) -> BaseDistribution:
    """Distribution of one knob: a list of numbers that go up or down is a range of numbers.

    Args:
        knob: The knob.
        unit: Unit of the distribution, in base units of the knob; 1 for counts.
    """
    if knob.is_continuous:
        return FloatDistribution(knob.low / unit, knob.high / unit, log=knob.log)
    if not knob.is_ordered:
        return CategoricalDistribution(knob.choices)
    numbers = [float(choice) / unit for choice in knob.choices]
    low, high = min(numbers), max(numbers)
    log = low > 0 and high / low >= _WIDE
    if unit == 1.0 and all(type(choice) is int for choice in knob.choices):
        return IntDistribution(int(low), int(high), log=log)
    return FloatDistribution(low, high, log=log)


def suggested(trial: "Trial", name: str, drawn_from: BaseDistribution) -> Any:
    """The value of a parameter of a trial, whatever it is drawn from."""
    if isinstance(drawn_from, CategoricalDistribution):
        return trial.suggest_categorical(name, drawn_from.choices)
    if isinstance(drawn_from, IntDistribution):
        return trial.suggest_int(name, drawn_from.low, drawn_from.high)
    assert isinstance(drawn_from, FloatDistribution)
    return trial.suggest_float(name, drawn_from.low, drawn_from.high, log=drawn_from.log)


def distribution(gene: Gene, *, keeps_words: bool = True) -> BaseDistribution:
    """Optuna distribution of *gene*; *keeps_words*: choices without order stay so."""
    if gene.kind == "real":
        return FloatDistribution(gene.low, gene.high, log=gene.log)
    if gene.kind == "step" or not keeps_words:
        return IntDistribution(0, gene.size - 1)
    return CategoricalDistribution(gene.labels or tuple(range(gene.size)))


def to_optuna(gene: Gene, value: int | float, *, keeps_words: bool = True) -> Value:
    """The value of a gene as Optuna records it."""
    if gene.kind == "choice" and gene.labels and keeps_words:
        return gene.labels[int(value)]
    return value


def from_optuna(gene: Gene, value: Any, *, keeps_words: bool = True) -> int | float:
    """The value of a gene that Optuna has recorded as *value*."""
    if gene.kind == "choice" and gene.labels and keeps_words:
        return gene.labels.index(value)
    return float(value) if gene.kind == "real" else int(value)
