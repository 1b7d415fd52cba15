"""Figures of many designs, column by column."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcore.result import IterationResult

Floats = NDArray[np.float64]

COMPLETE, INFEASIBLE, FAILED = "complete", "infeasible", "failed"

TOGETHER = ""
"""Way of designs that were simulated together; of the others it says why they were not."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Simulations:
    """N simulated designs, in the order in which they were asked for.

    Attributes:
        iteration_time_ns: (N,) int64, whole nanoseconds; 0 where a design was not simulated.
        metrics: By name, (N,) float64 as ``IterationResult.metrics`` has them; NaN where a design
            was not simulated, or has no such figure.
        state: ``complete``, ``infeasible`` or ``failed``, of each.
        rule: Name of the rule that an infeasible design breaks; else empty.
        ways: Empty where a design was simulated together with others; else the reason for which
            it was not. Results are the same.
    """

    iteration_time_ns: NDArray[np.int64]
    metrics: Mapping[str, Floats]
    state: Sequence[str]
    rule: Sequence[str]
    ways: Sequence[str]
    _errors: Mapping[int, Exception] = field(default_factory=dict)
    _result: Callable[[int], IterationResult] | None = None

    def __len__(self) -> int:
        return len(self.state)

    @property
    def together(self) -> int:
        """Designs that were simulated together, or found infeasible without simulation."""
        return sum(way == TOGETHER for way in self.ways)

    def reason(self, row: int) -> str:
        """Sentence for an infeasible or failed design; else empty."""
        return str(self._errors[row]) if row in self._errors else ""

    def metrics_of(self, row: int) -> dict[str, float]:
        """The metrics that one design has."""
        each = ((name, float(column[row])) for name, column in self.metrics.items())
        return {name: value for name, value in each if value == value}

    def result(self, row: int) -> IterationResult:
        """The result of one design, which is simulated by itself.

        Raises:
            InfeasibleError, ConfigError: As ``Simulator.simulate``.
        """
        assert self._result is not None, "designs were simulated"
        return self._result(row)
