"""Machines that costs of designs are of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dse.space import Design
from simcore import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCosts:
    """Costs that an evaluator knows of a design's machine without evaluating the design.

    Attributes:
        metrics: Gives them of a design, with units in their names; raises ``InfeasibleError``
            where a part of the machine is not sold.
        deciding: Names of the knobs that they depend on.
        rise: Whether no cost falls where an NPU count or a bandwidth rises; gaps are proven with
            such costs alone.
    """

    metrics: Callable[[Design], Mapping[str, float]]
    deciding: frozenset[str]
    rise: bool = False


@dataclass(frozen=True, slots=True)
class PricedMachine:
    """A machine with what it brings forth, so that it can be priced at other prices.

    Attributes:
        platform: The machine.
        period_s: Time of an iteration; of a service, between two answers while it is busy.
        tokens: Tokens trained in one iteration, or of one answer.
    """

    platform: Platform
    period_s: float
    tokens: int
