"""A watcher that hands what a study finds to an experiment tracker as well."""

from types import TracebackType
from typing import Self

from dse.rank.pareto import Front
from dse.results.result import StudyResult
from dse.run.watcher import Watcher, tell_waiting
from dse.store.folder import REPORT, SUMMARY
from dse.study.compile import Study
from dse.study.counts import Tally
from dse.study.trials import Trial
from dse.trackers import TRACKERS

MOST_STEPS = 200
"""Points in time, beside those at which a best improves, that a study is logged at."""

_KEPT = ("study.yaml", "pareto.csv", SUMMARY, REPORT)


class LoggedWatcher(Watcher):
    """Another watcher, and a run of a tracker.

    Logged are counts, size of the front and best values of the objectives: whenever one improves,
    and now and then. At the end follow hypervolume and gaps, and the files of the results.

    Args:
        tracker: A name of ``TRACKERS``.
        inner: Watcher that is told as before.
        name: Of the run.

    Raises:
        ConfigError: There is no such tracker, or its package is not installed.
    """

    def __init__(self, tracker: str, inner: Watcher, name: str) -> None:
        if tracker not in TRACKERS:
            raise TRACKERS.unknown(tracker, at="--log")
        self._tracker, self._inner, self._name = TRACKERS[tracker](), inner, name
        self._tally, self._front = Tally(), Front[int]()
        self._signs: dict[str, int] = {}
        self._level, self._every, self._begun, self._failed = "", 1, False, True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._begun:
            self._tracker.end(failed=self._failed)

    def started(self, study: Study, known: int, total: int) -> None:
        if not self._begun:
            self._tracker.begin(self._name, _settings(study))
            self._begun = True
        self._tally, self._front = Tally(), Front()
        self._signs = dict(zip(study.goals.objectives, study.goals.signs, strict=True))
        self._level = f"{study.fidelity}/" if len(study.levels) > 1 else ""
        self._every = max(1, total // MOST_STEPS)
        self._inner.started(study, known, total)

    def folded(self, trial: Trial, duplicates: int) -> None:
        before = dict(self._tally.best)
        self._tally.add(trial, self._signs)
        if trial.is_feasible:
            objectives = trial.evaluation.objectives
            point = [sign * objectives[name] for name, sign in self._signs.items()]
            self._front.add(trial.number, point)
        if before != self._tally.best or self._tally.proposals % self._every == 0:
            self._log()
        self._inner.folded(trial, duplicates)

    def stopping(self) -> bool:
        return self._inner.stopping()

    def waiting(self, text: str) -> None:
        """Tell the inner watcher that the study waits for workers."""
        tell_waiting(self._inner, text)

    def finish(self, result: StudyResult) -> None:
        """Log what is known at the end, and keep the files of the results."""
        numbers = {
            f"summary/{name}": float(value)
            for name, value in result.summary.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
        self._log()
        self._tracker.log(numbers, max(self._tally.proposals, 1))
        if result.folder is not None:
            paths = [result.folder / name for name in _KEPT]
            self._tracker.keep([path for path in paths if path.is_file()])
        self._failed = False

    def _log(self) -> None:
        tally = self._tally
        values: dict[str, float] = {
            "front": len(self._front.kept),
            "evaluated": tally.evaluated,
            "infeasible": tally.infeasible,
            "pruned": tally.pruned,
            "failed": tally.failed,
            **{f"best/{name}": value for name, value in tally.best.items()},
        }
        named = {f"{self._level}{name}": value for name, value in values.items()}
        self._tracker.log(named, tally.proposals)


def _settings(study: Study) -> dict[str, str | int | float]:
    """Settings of a study that runs are told apart by."""
    file = study.file
    return {
        "question": file.question,
        "seed": file.seed,
        "sampler": file.search.sampler,
        "trials": file.search.trials,
        "evaluator": file.evaluator,
        "fidelity": ", ".join(study.levels),
        "objectives": ", ".join(f"{sense} {name}" for name, sense in file.objectives.items()),
        "designs": study.space.counts.valid,
    }
