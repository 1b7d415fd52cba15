"""Evaluation of the lessons of a search, and which of them its store holds."""

from collections.abc import Callable, Sequence

from dse.evaluate import Answer, Task
from dse.run.lessons.beside import Beside
from dse.run.terms import WAIT_S, Evaluations, Hooks, Slot
from dse.study.trials import Trial


class LessonEvaluations:
    """Evaluations of the lessons of one search."""

    def __init__(
        self,
        beside: Beside,
        evaluations: Evaluations,
        hooks: Hooks,
        stored: dict[int, Trial],
        file: Callable[[Answer], None],
    ) -> None:
        """Begin.

        Args:
            beside: The lessons.
            evaluations: Evaluates them.
            hooks: Those of the search.
            stored: Trials of a study that goes on, by number.
            file: Takes an answer, to a lesson or to anything else that the search has asked for.
        """
        self._beside, self._evaluations, self._hooks = beside, evaluations, hooks
        self._stored, self._file = stored, file

    def begin(self, slots: list[Slot], asked: int) -> list[Slot]:
        """Have the lessons in *slots* evaluated behind *asked* rows; those that nobody knows."""
        new = self._beside.take(slots, asked, self._stored)
        tasks = [Task(number=slot.number, design=slot.proposal.design) for slot in new]
        self._evaluations.submit(tasks)
        return new

    def wait(self) -> bool:
        """Wait until all have an outcome; False: not any longer."""
        while self._beside.is_waiting:
            if self._hooks.pausing():
                return False
            for answer in self._evaluations.finished(WAIT_S):
                self._file(answer)
        return True

    def outcomes(self, asked: int) -> Sequence[Trial]:
        """Outcomes of those that are no rows yet after *asked* rows, and whose designs no row has.

        They have the numbers that they will have as rows.
        """
        return self._beside.evaluated(asked)

    def keep(self, asked: int) -> None:
        """Have the store hold them under their numbers, and under no other."""
        for trial in self.outcomes(asked):
            if trial.number not in self._stored:
                self._stored[trial.number] = trial
                self._hooks.finished(trial)
        if gone := self._beside.gone(asked, self._stored):
            for number in gone:
                del self._stored[number]
            self._hooks.dropped(gone)
