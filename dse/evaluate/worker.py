"""What runs inside a worker process: one evaluator, built once, and chunks of designs."""

from collections.abc import Sequence
from dataclasses import dataclass

from dse.evaluate.base import Evaluation, Evaluator, EvaluatorInput, evaluate
from dse.evaluate.registry import build_evaluator
from dse.space import Design


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A design to be evaluated, and its place in ask order."""

    number: int
    design: Design


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The outcome of one task, and who found it."""

    number: int
    evaluation: Evaluation
    worker: str


class Worker:
    """Evaluates chunks; the evaluator is built at the first one and kept."""

    def __init__(self, what: EvaluatorInput, name: str) -> None:
        self._input, self._name = what, name
        self._evaluator: Evaluator | None = None

    def evaluate(self, chunk: Sequence[Task]) -> list[Answer]:
        """Outcomes of all designs of *chunk*, in its order."""
        if self._evaluator is None:
            self._evaluator = build_evaluator(self._input)
        return [
            Answer(
                number=task.number,
                evaluation=evaluate(self._evaluator, self._input.goals, task.design),
                worker=self._name,
            )
            for task in chunk
        ]
