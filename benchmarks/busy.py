"""An evaluator that only takes CPU time, for measuring what surrounds it."""

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from dse.evaluate import EVALUATORS, Evaluator, EvaluatorInput
from dse.space import Design


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyInput(EvaluatorInput):
    """Unpickling it brings the evaluator into the worker."""

    evaluation_s: float = 0.0
    sleeps: bool = False

    @classmethod
    def like(cls, what: EvaluatorInput, evaluation_s: float, *, sleeps: bool = False) -> Self:
        """Same goals, but an evaluator that is busy, or asleep, for *evaluation_s*."""
        fields = {field.name: getattr(what, field.name) for field in dataclasses.fields(what)}
        return cls(**{**fields, "name": "busy"}, evaluation_s=evaluation_s, sleeps=sleeps)


class Busy(Evaluator):
    """Takes CPU time, then answers what any design may have answered."""

    fidelity = "busy"

    def __init__(self, what: BusyInput) -> None:
        self._evaluation_s, self._sleeps = what.evaluation_s, what.sleeps
        self._names = tuple(f"metric_{index}" for index in range(20))

    def metrics(self, design: Design) -> Mapping[str, float]:
        end_s = time.thread_time() + self._evaluation_s
        metrics = dict.fromkeys(self._names, 1.5)
        metrics |= {"iteration_time_s": 1.0, "capital_cost_usd": 2.0, "memory_fill": 0.5}
        if self._sleeps:
            time.sleep(self._evaluation_s)
        while not self._sleeps and time.thread_time() < end_s:
            pass
        return metrics

    def check(self) -> None:
        """Nothing can be wrong."""


EVALUATORS._entries["busy"] = Busy  # type: ignore[assignment]
