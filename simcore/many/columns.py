"""Figures of many designs, column by column."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from simcore.memory.fit import MemoryFit
from simcore.result import IterationResult

Floats = NDArray[np.float64]

COMPLETE, INFEASIBLE, FAILED = "complete", "infeasible", "failed"

TOGETHER = ""
"""Way of designs that were simulated together; of the others it says why they were not."""


class Source(Protocol):
    """Remarks on designs that have results, by their places: see ``IterationResult``."""

    def names(self, at: int) -> Sequence[str]:
        """Names of the metrics of a design, in their order."""

    def notes(self, at: int) -> tuple[str, ...]:
        """Notes on a design."""

    def memory_fit(self, at: int) -> MemoryFit:
        """Verdict on the memory of a design."""


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
    _sources: Mapping[int, tuple[Source, int]] = field(default_factory=dict)
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

    def error(self, row: int) -> Exception | None:
        """The rule that a design breaks, or what failed, as an error; None: it has a result."""
        return self._errors.get(row)

    def notes(self, row: int) -> tuple[str, ...]:
        """Notes on a design that has a result, as ``IterationResult.notes``."""
        source, at = self._sources[row]
        return source.notes(at)

    def memory_fit(self, row: int) -> MemoryFit:
        """Verdict on the memory of a design that has a result."""
        source, at = self._sources[row]
        return source.memory_fit(at)

    def metrics_of(self, row: int) -> dict[str, float]:
        """The metrics that one design has, in the order of ``IterationResult.metrics``."""
        if row not in self._sources:
            return {}
        source, at = self._sources[row]
        return {name: float(self.metrics[name][row]) for name in source.names(at)}

    def result(self, row: int) -> IterationResult:
        """The result of one design, which is simulated by itself.

        Raises:
            InfeasibleError, ConfigError: As ``Simulator.simulate``.
        """
        assert self._result is not None, "designs were simulated"
        return self._result(row)
