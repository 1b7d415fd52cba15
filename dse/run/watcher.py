"""Watchers of a study while it runs, which may stop it."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from dse.evaluate.workers.ray_meter import Meter, RayMeter, Reading
from dse.proof.told_costs import ToldCosts
from dse.run.gap import StudyProof
from dse.study.compile import Study
from dse.study.counts import FailureStreak, Tally
from dse.study.stretch import Stretch
from dse.study.trials import Trial


class Watcher(Protocol):
    """Watcher of a running study.

    One that has a method ``waiting(text)`` too is told why the study waits for workers, when it
    begins to. One that has a method ``all_folded(rows)`` too is told many rows at once by it
    (``Stretch``), and none of these one by one.
    """

    def started(self, study: Study, known: int, total: int) -> None:
        """Workers are up; *known* of *total* trials are there already."""
        return

    def folded(self, trial: Trial, duplicates: int) -> None:
        """One more row, in ask order."""
        return

    def stopping(self) -> bool:
        """True if proposing must stop."""
        return False


class Unwatched(Watcher):
    """Nobody looks, nobody stops."""


def tell_waiting(watcher: Watcher, text: str) -> None:
    """Tell a watcher that wants to know why the study waits."""
    told: Any = getattr(watcher, "waiting", None)
    if told is not None:
        told(text)


class Listeners:
    """All that look at the rows of a study while it runs, beside the search itself.

    Attributes:
        proof: That of the study, if it has one.
        provenance: Number of that of what is evaluated now.
    """

    def __init__(self, study: Study, watcher: Watcher, write: Callable[[Trial], None]) -> None:
        """*write*: called for rows that are not stored as they were evaluated."""
        self._watcher, self._write = watcher, write
        self._streak, self._told = FailureStreak(), ToldCosts(study)
        self.proof: StudyProof | None = None
        self.provenance = 0

    def folded(self, trial: Trial, duplicates: int) -> None:
        """One more row, in ask order, with the duplicates up to it."""
        if trial.repeats is not None:
            self._write(trial)
        if self.proof is not None:
            self.proof.learn(trial)
        self._watcher.folded(trial, duplicates)
        self._streak.add(trial)
        self._hold(trial)

    def all_folded(self, rows: Stretch) -> None:
        """Many more rows: a trial is made of one only where somebody looks at it."""
        for trial in rows.some(~rows.is_new):
            self._write(trial)
        if self.proof is not None:
            for trial, _ in rows.each():
                self.proof.learn(trial)
        tell_all(self._watcher, rows)
        self._streak.add_all(rows)
        measured = rows.some(rows.is_new & rows.outcomes["is_measured"])
        for trial in measured if self._told.holds else ():
            self._hold(trial)
            if not self._told.holds:
                break

    def _hold(self, trial: Trial) -> None:
        if trial.repeats is None and trial.provenance == self.provenance:
            self._told.hold(trial.design, trial.evaluation)


def tell_all(watcher: Watcher, rows: Stretch) -> None:
    """Tell a watcher many rows at once, or one by one if it looks at each."""
    at_once: Any = getattr(watcher, "all_folded", None)
    if at_once is not None:
        at_once(rows)
    elif getattr(type(watcher), "folded", None) is not Watcher.folded:
        for trial, duplicates in rows.each():
            watcher.folded(trial, duplicates)


def metered(study: Study, out: Path | str | None, watcher: Watcher) -> tuple[Watcher, Meter]:
    """The watcher, and the meter of a study, which counts on a Ray cluster alone.

    A Ray that is started for one study is seen by nobody else, and so are its metrics.

    Args:
        study: The study.
        out: Its folder, by whose name its metrics are found.
        watcher: Told as before.
    """
    execution = study.file.execution
    if execution.executor != "ray" or execution.address is None:
        return watcher, Meter()
    meter = RayMeter("study" if out is None else Path(out).name)
    return MeteredWatcher(watcher, meter), meter


class MeteredWatcher(Watcher):
    """Another watcher, and counts of what it is told for a meter."""

    def __init__(self, inner: Watcher, meter: Meter) -> None:
        """*inner*: told as before; *meter*: asks for the counts when it records them."""
        self._inner = inner
        self._tallies: dict[str, Tally] = defaultdict(Tally)
        self._spent_s: dict[str, float] = defaultdict(float)
        self._signs: dict[str, int] = {}
        self._level = ""
        meter.read(self._readings)

    def started(self, study: Study, known: int, total: int) -> None:
        self._signs = dict(zip(study.goals.objectives, study.goals.signs, strict=True))
        self._level = study.fidelity if len(study.levels) > 1 else ""
        self._inner.started(study, known, total)

    def folded(self, trial: Trial, duplicates: int) -> None:
        self._tallies[self._level].add(trial, self._signs)
        if trial.repeats is None:
            self._spent_s[self._level] += trial.evaluation.duration_s
        self._inner.folded(trial, duplicates)

    def all_folded(self, rows: Stretch) -> None:
        """Many more rows, in ask order."""
        self._tallies[self._level].add_all(rows, self._signs)
        self._spent_s[self._level] += float(rows.outcomes["duration_s"][rows.is_new].sum())
        tell_all(self._inner, rows)

    def stopping(self) -> bool:
        return self._inner.stopping()

    def waiting(self, text: str) -> None:
        """Tell the inner watcher that the study waits for workers."""
        tell_waiting(self._inner, text)

    def _readings(self) -> Iterator[Reading]:
        for level, tally in self._tallies.items():
            tags = {"level": level}
            known = tally.duplicates + tally.infeasible + tally.pruned + tally.failed
            states = {
                "complete": tally.proposals - known,
                "infeasible": tally.infeasible,
                "pruned": tally.pruned,
                "failed": tally.failed,
            }
            yield Reading("dse_proposals", tally.proposals, tags)
            yield Reading("dse_evaluation_seconds", self._spent_s[level], tags)
            for state, count in states.items():
                yield Reading("dse_trials", count, {**tags, "state": state})
            for name, value in tally.best.items():
                yield Reading("dse_best", value, {**tags, "objective": name})
