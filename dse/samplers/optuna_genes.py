"""Genes as Optuna's parameters."""

from typing import TYPE_CHECKING, Any

from dse.space import Gene, Value

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution


def distribution(gene: Gene, *, keeps_words: bool = True) -> "BaseDistribution":
    """What Optuna draws *gene* from; *keeps_words*: choices without order stay so."""
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

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
