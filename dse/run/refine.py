"""Evaluates designs that are known beforehand: the best of a study again, at finer levels."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from itertools import islice

from dse.evaluate import Task
from dse.fidelity.compare import refined_rows, searched_rows
from dse.fidelity.promote import promotion
from dse.fidelity.settle import Settlement
from dse.run.gap import FinestProof
from dse.run.stage import Stage
from dse.run.terms import WAIT_S, Evaluations
from dse.study.compile import Study
from dse.study.trials import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class RefineHooks:
    """Calls between a refinement and its surroundings.

    Attributes:
        workers: Starts workers for a study at a level, and what goes with them.
        judging: Called with the study at a level and the number of designs that are judged next.
        finished: Called for each outcome, as it comes in.
        dropped: Called for each known outcome of a design that is not among the best any more.
        proving: Starts the proof at the finest level; None where nothing is proven there.
        stopping: Whether to begin nothing more; what is under way is awaited.
        pausing: Whether to leave what is under way too.
        provenance: Of what is evaluated.
    """

    workers: Callable[[Study], AbstractContextManager[Stage]]
    judging: Callable[[Study, int], None]
    finished: Callable[[Trial], None]
    dropped: Callable[[Trial], None]
    proving: Callable[[], FinestProof | None]
    stopping: Callable[[], bool]
    pausing: Callable[[], bool]
    provenance: int = 0


class Refinement:
    """The finer levels of a study.

    Who is judged again depends on the outcomes of the level before, and at the last level on those
    there, alone; and so do the rows, however many workers there are and however often the study was
    interrupted.

    Attributes:
        proof: The proof at the finest level; None: nothing is proven there.
    """

    def __init__(self, study: Study, known: Iterable[Trial], hooks: RefineHooks) -> None:
        """*known*: outcomes at finer levels that are stored already."""
        self.proof: FinestProof | None = None
        self._study, self._hooks = study, hooks
        self._found = {(row.evaluation.fidelity, row.number): row for row in known}

    @property
    def rows(self) -> list[Trial]:
        """The outcomes so far, level by level, in the order of their numbers."""
        found = sorted(self._found.values(), key=lambda row: row.number)
        return [row for level in self._study.levels[1:] for row in refined_rows(found, level)]

    def run(self, rows: Sequence[Trial]) -> None:
        """Judge the best of *rows*, all of the first level, at each level in turn."""
        searched = below = searched_rows(self._study, rows)
        for level in self._study.levels[1:]:
            tasks = [Task(row.number, row.design) for row in promotion(self._study, below).rows]
            with ExitStack() as workers:
                judge = _Judge(self._study.judged_at(level), level, self._found, self._hooks)
                judge.judge(tasks, workers)
                if level == self._study.levels[-1]:
                    settlement = Settlement(self._study, level, searched)
                    self._settle(settlement, judge, workers)
                    self._prove(settlement, judge, workers)
            if self._hooks.stopping():
                return
            self._drop_others(level, judge.numbers)
            below = judge.rows

    def _settle(self, settlement: Settlement, judge: "_Judge", workers: ExitStack) -> None:
        """Judge steps from the front until none is left that may be a bargain."""
        while not self._hooks.stopping() and (tasks := settlement.next(judge.rows)):
            judge.judge(tasks, workers)

    def _prove(self, settlement: Settlement, judge: "_Judge", workers: ExitStack) -> None:
        """Judge what the proof at the finest level asks for, as far as it may."""
        if self._hooks.stopping():
            return
        self.proof = proof = self._hooks.proving()
        while proof is not None and not self._hooks.stopping():
            wanted = proof.next(judge.rows, self._hooks.stopping)
            if not wanted:
                return
            judge.judge([settlement.task(design) for design in wanted], workers)

    def _drop_others(self, level: str, numbers: Iterable[int]) -> None:
        """Forget what an earlier run judged at *level* for reasons that do not hold any more."""
        wanted = {(level, number) for number in numbers}
        for key in [key for key in self._found if key[0] == level and key not in wanted]:
            self._hooks.dropped(self._found.pop(key))


class _Judge:
    """Judge of designs at one level.

    Attributes:
        numbers: Of those that were to be judged, whether they have an outcome or not.
    """

    def __init__(
        self, study: Study, level: str, found: dict[tuple[str, int], Trial], hooks: RefineHooks
    ) -> None:
        """*study*: at that level; *found*: all outcomes, those of earlier runs included."""
        self._study, self._level, self._found, self._hooks = study, level, found, hooks
        self._stage: Stage | None = None
        self.numbers: list[int] = []

    @property
    def rows(self) -> list[Trial]:
        """The outcomes, in the order of their numbers."""
        keys = [(self._level, number) for number in sorted(self.numbers)]
        return [self._found[key] for key in keys if key in self._found]

    def judge(self, tasks: Sequence[Task], workers: ExitStack) -> None:
        """Judge those of *tasks* that nobody knows, with workers that stay up until all is done."""
        hooks = self._hooks
        self.numbers += [task.number for task in tasks]
        left = [task for task in tasks if not self._is_known(task)]
        if not left or hooks.stopping():
            return
        if self._stage is None:
            self._stage = workers.enter_context(hooks.workers(self._study))
        stage = self._stage
        hooks.judging(self._study, len(left))
        found = each_evaluated(
            stage.evaluations,
            iter(left),
            hooks.stopping,
            hooks.pausing,
            lambda: 2 * max(stage.crew.workers, 1),
            hooks.provenance,
        )
        for trial in found:
            # what ended its worker says not at which level
            outcome = replace(trial.evaluation, fidelity=self._level)
            row = replace(trial, evaluation=outcome)
            self._found[self._level, row.number] = row
            hooks.finished(row)

    def _is_known(self, task: Task) -> bool:
        row = self._found.get((self._level, task.number))
        return row is not None and row.design == task.design


def each_evaluated(
    evaluations: Evaluations,
    tasks: Iterator[Task],
    stopping: Callable[[], bool],
    pausing: Callable[[], bool],
    ahead: Callable[[], int],
    provenance: int = 0,
) -> Iterator[Trial]:
    """The outcomes of *tasks* as they come in, at most *ahead* of them under way.

    With *stopping* no more are begun; with *pausing* none is awaited either.
    """
    under_way: dict[int, Task] = {}
    while True:
        room = max(ahead() - len(under_way), 0)
        more = [] if stopping() else list(islice(tasks, room))
        under_way |= {task.number: task for task in more}
        evaluations.submit(more)
        if not under_way or pausing():
            return
        for answer in evaluations.finished(WAIT_S):
            task = under_way.pop(answer.number)
            yield Trial(
                number=task.number,
                design=task.design,
                evaluation=answer.evaluation,
                worker=answer.worker,
                provenance=provenance,
            )
