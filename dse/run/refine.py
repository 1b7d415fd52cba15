"""Judges the best designs of a study again at finer levels, each with workers of its own."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from dse.evaluate import Task
from dse.fidelity.compare import refined_rows, searched_rows
from dse.fidelity.promote import promotion
from dse.run.search import Evaluations, each_evaluated
from dse.study.compile import Study
from dse.study.trials import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class RefineHooks:
    """Calls between a refinement and its surroundings.

    Attributes:
        workers: Starts workers for a study at a level, with so many designs to judge.
        finished: Called for each outcome, as it comes in.
        dropped: Called for each known outcome of a design that is not among the best any more.
        stopping: Whether to begin nothing more; what is under way is awaited.
        provenance: Of what is evaluated.
    """

    workers: Callable[[Study, int], AbstractContextManager[Evaluations]]
    finished: Callable[[Trial], None]
    dropped: Callable[[Trial], None]
    stopping: Callable[[], bool]
    provenance: int = 0


class Refinement:
    """The finer levels of a study.

    Who is judged again depends on the outcomes of the level before alone, and so do the rows,
    however many workers there are and however often the study was interrupted.
    """

    def __init__(self, study: Study, known: Iterable[Trial], hooks: RefineHooks) -> None:
        """*known*: outcomes at finer levels that are stored already."""
        self._study, self._hooks = study, hooks
        self._found = {(row.evaluation.fidelity, row.number): row for row in known}

    @property
    def rows(self) -> list[Trial]:
        """The outcomes so far, level by level, in the order of their numbers."""
        found = sorted(self._found.values(), key=lambda row: row.number)
        return [row for level in self._study.levels[1:] for row in refined_rows(found, level)]

    def run(self, rows: Sequence[Trial]) -> None:
        """Judge the best of *rows*, all of the first level, at each level in turn."""
        below = searched_rows(self._study, rows)
        for level in self._study.levels[1:]:
            if self._hooks.stopping():
                return
            chosen = promotion(self._study, below).rows
            self._judge(level, chosen)
            below = refined_rows(self.rows, level)

    def _judge(self, level: str, chosen: Sequence[Trial]) -> None:
        wanted = {(level, row.number) for row in chosen}
        for key in [key for key in self._found if key[0] == level and key not in wanted]:
            self._hooks.dropped(self._found.pop(key))
        left = {row.number: row for row in chosen if (level, row.number) not in self._found}
        if not left:
            return
        tasks = (Task(number=row.number, design=row.design) for row in left.values())
        ahead = 2 * (self._study.file.execution.workers or 1)
        with self._hooks.workers(self._study.judged_at(level), len(left)) as evaluations:
            hooks = self._hooks
            found = each_evaluated(evaluations, tasks, ahead, hooks.stopping, hooks.provenance)
            for trial in found:
                # what ended its worker says not at which level
                outcome = replace(trial.evaluation, fidelity=level)
                row = replace(trial, evaluation=outcome)
                self._found[level, row.number] = row
                self._hooks.finished(row)
