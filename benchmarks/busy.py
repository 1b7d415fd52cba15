"""An evaluator that only takes CPU time, for measuring what surrounds it."""

import dataclasses
import time
from dataclasses import dataclass
from typing import Self

from dse.evaluate import EVALUATORS, Evaluator, EvaluatorInput
from dse.evaluate.base import Account
from dse.objectives import needed_metrics
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
        names = needed_metrics(what.goals) | {f"metric_{index}" for index in range(20)}
        self._answer = dict.fromkeys(sorted(names), 0.5)

    def account(self, design: Design) -> Account:
        end_s = time.thread_time() + self._evaluation_s
        metrics = dict(self._answer)
        if self._sleeps:
            time.sleep(self._evaluation_s)
        while not self._sleeps and time.thread_time() < end_s:
            pass
        return Account(metrics)

    def check(self) -> None:
        """Nothing can be wrong."""


EVALUATORS._entries["busy"] = Busy  # type: ignore[assignment]
