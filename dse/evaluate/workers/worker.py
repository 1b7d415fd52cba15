"""The inside of a worker process: one evaluator, built once, and chunks of designs."""

import resource
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from dse.evaluate.base import Evaluation, Evaluator, EvaluatorInput, Measured, judge, measure
from dse.evaluate.registry import build_evaluator
from dse.space import Design
from simcore import collect_rarely, files_kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one evaluation.

    Attributes:
        timeout_s: Time, or None for no limit.
        memory_bytes: Memory beyond what the worker holds once it has started, or None.
        first_s: Added to the time of a worker's first evaluation, which loads and compiles.
        load_s: Added instead where another worker of the machine has compiled already.
    """

    timeout_s: float | None = None
    memory_bytes: float | None = None
    first_s: float = 120.0
    load_s: float = 15.0

    @property
    def on_warm_machine(self) -> "Limits":
        """These limits for a worker that need not compile."""
        return replace(self, first_s=self.load_s)


def limit_memory(memory_bytes: float | None) -> None:
    """From now on let this process take at most *memory_bytes* more; then MemoryError is raised.

    Address space is what is bounded: the operating system bounds nothing else strictly.
    """
    if memory_bytes is None:
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + int(memory_bytes)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def end_after(timeout_s: float) -> None:
    """Let SIGALRM end this process after *timeout_s*; 0: never.

    A signal of the kernel ends a loop in compiled code too, where no thread of Python's gets a
    turn.
    """
    signal.setitimer(signal.ITIMER_REAL, timeout_s)


class Task(NamedTuple):  # which travels as plain values, fast
    """A design to be evaluated, and its place in ask order."""

    number: int
    design: Design


class Answer(NamedTuple):
    """The outcome of one task, and who found it."""

    number: int
    evaluation: Evaluation
    worker: str


IDLE, MANY = -1, -2
"""Positions that a worker notes between two evaluations, and while it evaluates a whole chunk."""


class Serving(Protocol):
    """The inside of a worker process, as its crew sees it."""

    def start(self) -> None:
        """Make ready.

        Raises:
            SimcoreError: That cannot be done.
        """

    def evaluate(self, chunk: Sequence[Any]) -> list[Any]:
        """Answers to what was sent."""

    def rest(self) -> None:
        """Do what is due in any case, once the answers are sent: nobody waits for it."""


class WorkerInput(ABC):
    """Input of workers that do more than to evaluate designs."""

    @abstractmethod
    def serving(
        self, name: str, limits: Limits, starting: Callable[[int], None] | None, *, alone: bool
    ) -> Serving:
        """The inside of a worker; arguments as of ``Worker``."""


def serving(
    what: EvaluatorInput | WorkerInput,
    name: str,
    limits: Limits | None = None,
    starting: Callable[[int], None] | None = None,
    *,
    alone: bool = False,
) -> Serving:
    """The inside of a worker that is made of *what*; the other arguments as of ``Worker``."""
    if isinstance(what, WorkerInput):
        return what.serving(name, limits or Limits(), starting, alone=alone)
    return Worker(what, name, limits, starting, alone=alone)


class Worker:
    """Evaluates chunks within limits.

    A worker that has its process to itself (*alone*) lets Python's garbage collection begin less
    often after its first evaluation (``collect_rarely``).
    """

    def __init__(
        self,
        what: EvaluatorInput,
        name: str,
        limits: Limits | None = None,
        starting: Callable[[int], None] | None = None,
        *,
        alone: bool = False,
    ) -> None:
        self._input, self._name, self._alone = what, name, alone
        self._limits = limits or Limits()
        self._starting = starting
        self._evaluator: Evaluator | None = None
        self._is_first = True

    def start(self) -> None:
        """Build the evaluator and bound the memory; done by the first chunk otherwise.

        Raises:
            SimcoreError: The evaluator cannot be built.
        """
        if self._evaluator is None:
            self._evaluator = build_evaluator(self._input)
            self._evaluator.prepare()
            limit_memory(self._limits.memory_bytes)

    @property
    def evaluator(self) -> Evaluator:
        """The evaluator, once the worker has started."""
        assert self._evaluator is not None, "the worker has started"
        return self._evaluator

    def rest(self) -> None:
        """Do nothing: an evaluation leaves nothing to be done."""

    def evaluate(self, chunk: Sequence[Task]) -> list[Answer]:
        """Outcomes of all designs of *chunk*, in its order; the last one where memory ran out."""
        self.start()
        with files_kept(self._input.files):
            found = self._found(chunk)
        if self._limits.timeout_s is not None:
            end_after(0)
        if self._starting is not None:
            self._starting(IDLE)
        # all at once, while this code is in the processor's caches
        goals, fidelity = self._input.goals, self.evaluator.fidelity
        return [
            Answer(
                number=task.number,
                evaluation=judge(measured, goals, fidelity),
                worker=self._name,
            )
            for task, measured in zip(chunk, found, strict=False)
        ]

    def _found(self, chunk: Sequence[Task]) -> list[Measured]:
        """Outcomes of *chunk*, up to the design where memory ran out.

        All are evaluated at once where it takes many, and memory is not bounded.
        """
        rest, found = list(chunk), list[Measured]()
        if self.evaluator.takes_many and self._limits.memory_bytes is None and len(rest) > 1:
            if self._is_first:
                found.append(self._one(0, rest.pop(0)))  # it loads and compiles, which takes long
            found += self._many(rest)
        for position, task in enumerate(chunk[len(found) :], len(found)):
            if found and found[-1].is_out_of_memory:
                break
            found.append(self._one(position, task))
        return found

    def _one(self, position: int, task: Task) -> Measured:
        if self._starting is not None:
            self._starting(position)
        return self._timed(task.design)

    def _many(self, tasks: Sequence[Task]) -> list[Measured]:
        """Outcomes of *tasks*; none where the memory did not suffice for all at once."""
        if self._starting is not None:
            self._starting(MANY)
        if self._limits.timeout_s is not None:
            end_after(self._limits.timeout_s * len(tasks))
        start_s = time.perf_counter()
        try:
            outcomes = self.evaluator.accounts([task.design for task in tasks])
        except MemoryError:
            return []
        each_s = (time.perf_counter() - start_s) / max(len(tasks), 1)
        found = [Measured(outcome, each_s) for outcome in outcomes]
        return list(takewhile(lambda one: not one.is_out_of_memory, found))

    def _timed(self, design: Design) -> Measured:
        if self._limits.timeout_s is not None:
            grace_s = self._limits.first_s if self._is_first else 0.0
            end_after(self._limits.timeout_s + grace_s)
        measured = measure(self.evaluator, design)
        if self._is_first and self._alone:
            collect_rarely()
        self._is_first = False
        return measured
