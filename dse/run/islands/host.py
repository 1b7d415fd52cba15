"""The inside of a worker that islands live on."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from dse.evaluate import Answer, Dispatcher, EvaluatorInput, Limits, Task
from dse.evaluate.workers.dispatch import CHUNK_S, FIRST_S
from dse.evaluate.workers.local_pool import LocalCrew
from dse.evaluate.workers.worker import Serving, Worker, WorkerInput, limit_memory
from dse.run.cache import WORKER, CachedEvaluations, EvaluationCache
from dse.run.islands.island import Island
from dse.run.islands.messages import Order, Report
from dse.run.islands.rounds import Rounds
from dse.run.terms import Evaluations
from dse.space import Design
from dse.study.compile import Study
from simcore import SimcoreError, files_kept


@dataclass(frozen=True, slots=True, kw_only=True)
class IslandInput(WorkerInput):
    """All that workers with islands are made of.

    Attributes:
        study: The study.
        evaluator: What designs are evaluated by.
        rounds: Of the islands.
        starts: Designs that the study starts with.
        lessons: Designs that earlier studies teach.
        cache: Folder of evaluations that studies share; empty: there is none.
    """

    study: Study
    evaluator: EvaluatorInput
    rounds: Rounds
    starts: Sequence[Design] = ()
    lessons: Sequence[Design] = ()
    cache: str = ""

    def serving(
        self, name: str, limits: Limits, starting: Callable[[int], None] | None, *, alone: bool
    ) -> Serving:
        return Host(self, name, limits, starting, alone=alone)


class Host:
    """Some islands of a study; after their last round a worker as any other."""

    def __init__(
        self,
        what: IslandInput,
        name: str,
        limits: Limits,
        starting: Callable[[int], None] | None,
        *,
        alone: bool,
    ) -> None:
        self._input, self._limits = what, limits
        unlimited = replace(limits, memory_bytes=None)  # proposing takes memory of its own
        self._worker = Worker(what.evaluator, name, unlimited, starting, alone=alone)
        self._evaluations = _Switched(what, self._worker, name, limits)
        self._islands: dict[int, Island] = {}
        self._has_islands = True

    def start(self) -> None:
        """Build the evaluator; see ``Worker``."""
        self._worker.start()

    def evaluate(self, chunk: Sequence[Order | Task]) -> list[Report] | list[Answer]:
        """Reports of islands, as many as fit into a while; or outcomes of designs."""
        tasks = [task for task in chunk if isinstance(task, Task)]
        if tasks:
            self._end_islands()
            return self._worker.evaluate(tasks)
        self._worker.start()
        reports: list[Report] = []
        until_s = time.monotonic() + CHUNK_S
        with files_kept(self._input.study.files):
            for order in chunk:
                assert isinstance(order, Order), "chunks hold designs or orders"
                found = self._report(order, until_s)
                reports.append(found)
                if time.monotonic() >= until_s or found.error or found.is_out_of_memory:
                    break
        return reports

    def rest(self) -> None:
        """Let the islands learn from what they have reported, while the driver reads it."""
        with files_kept(self._input.study.files):
            for island in self._islands.values():
                island.settle()

    def island(self, number: int) -> Island:
        """One of the islands, which has been given an order."""
        return self._islands[number]

    def _report(self, order: Order, until_s: float) -> Report:
        try:
            self._evaluations.guard(is_guarded=order.is_guarded)
            return self._island(order).go_on(order, until_s)
        except MemoryError:
            return Report(island=order.island, turn=order.turn, is_out_of_memory=True)
        except SimcoreError as error:
            return Report(island=order.island, turn=order.turn, error=str(error))
        except Exception as error:  # of a sampler from outside: a sentence, not a dead worker
            told = f"{type(error).__name__}: {error}"
            return Report(island=order.island, turn=order.turn, error=told)

    def _island(self, order: Order) -> Island:
        if order.begins:
            what, number = self._input, order.island
            self._islands.pop(number, None)
            evaluator = self._worker.evaluator
            queue = _Queue(self._evaluations, lambda: self._evaluations.are_computed)
            self._islands[number] = Island(
                what.study, number, what.rounds, what.starts, evaluator, queue, what.lessons
            )
        return self._islands[order.island]

    def _end_islands(self) -> None:
        """Be a worker that evaluates, within all limits."""
        if self._has_islands:
            self._has_islands = False
            self._islands.clear()
            self._evaluations.close()
            limit_memory(self._limits.memory_bytes)


class _Switched:
    """Evaluations in this process, or in one of their own where one may end it."""

    def __init__(self, what: IslandInput, worker: Worker, name: str, limits: Limits) -> None:
        self._what, self._name, self._limits = what.evaluator, name, limits
        self._worker = worker
        self._here: Evaluations = _Here(worker)
        self._guard: Evaluations | None = None
        self._held = ExitStack()
        self._is_guarded = False
        self._cache: EvaluationCache | None = None
        if what.cache:
            self._cache = EvaluationCache(Path(what.cache).expanduser(), what.study)
            self._here = CachedEvaluations(self._here, self._cache)

    def guard(self, *, is_guarded: bool) -> None:
        """Choose where the next designs are evaluated; memory is limited in a guarded one alone."""
        self._is_guarded = is_guarded or self._limits.memory_bytes is not None
        if self._is_guarded and self._guard is None:
            crew = LocalCrew(self._what, workers=1, limits=self._limits)
            self._guard = self._held.enter_context(Dispatcher(crew, limits=self._limits))
            if self._cache is not None:
                self._guard = CachedEvaluations(self._guard, self._cache)
        elif not self._is_guarded:
            self._end_guard()

    @property
    def are_computed(self) -> bool:
        """True if evaluations take this process's processor, and wait for nobody."""
        return not self._is_guarded and self._worker.evaluator.takes_many

    def submit(self, tasks: Iterable[Task]) -> None:
        self._chosen.submit(tasks)

    def finished(self, timeout_s: float) -> list[Answer]:
        found = self._chosen.finished(timeout_s)
        return [a if a.worker == WORKER else a._replace(worker=self._name) for a in found]

    def close(self) -> None:
        """End the process and close the cache."""
        self._end_guard()
        if self._cache is not None:
            self._cache.close()

    @property
    def _chosen(self) -> Evaluations:
        return self._guard if self._is_guarded and self._guard is not None else self._here

    def _end_guard(self) -> None:
        self._held.close()
        self._guard = None


class _Queue:
    """The designs of one island, of which as many are evaluated at once as fit into a while."""

    def __init__(self, evaluations: Evaluations, are_computed: Callable[[], bool]) -> None:
        """*are_computed*: whether they take the processor alone, whose time counts then."""
        self._evaluations, self._are_computed = evaluations, are_computed
        self._tasks: deque[Task] = deque()
        self._mean_s = FIRST_S

    def submit(self, tasks: Iterable[Task]) -> None:
        self._tasks.extend(tasks)

    def finished(self, timeout_s: float) -> list[Answer]:
        """Outcomes of the next designs."""
        most = min(max(1, int(CHUNK_S / self._mean_s)), len(self._tasks))
        self._evaluations.submit([self._tasks.popleft() for _ in range(most)])
        answers: list[Answer] = []
        begin_s = time.process_time()
        while len(answers) < most:
            answers += self._evaluations.finished(timeout_s)
        each_s = (time.process_time() - begin_s) / max(most, 1)
        for answer in answers:  # the first evaluation loads, so that its time says little
            # on a loaded machine all take long: fewer at once would take longer still
            own_s = each_s if self._are_computed() else answer.evaluation.duration_s
            spent_s = min(own_s, 10 * self._mean_s)
            self._mean_s = max(self._mean_s + 0.1 * (spent_s - self._mean_s), 1e-6)
        return answers


class _Here:
    """Evaluations in the process that asks for them."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._tasks: list[Task] = []

    def submit(self, tasks: Iterable[Task]) -> None:
        self._tasks += tasks

    def finished(self, timeout_s: float) -> list[Answer]:
        """Outcomes.

        Raises:
            MemoryError: There was not enough of it for one of them.
        """
        tasks, self._tasks = self._tasks, []
        answers = self._worker.evaluate(tasks)
        if answers and answers[-1].evaluation.failure == "out_of_memory":
            raise MemoryError
        return answers
