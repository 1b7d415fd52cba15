"""The commands that evaluate designs, and what they show meanwhile."""

import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any, Self

import click
import numpy as np
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from dse.cli.logged import LoggedWatcher
from dse.cli.showing import show_result
from dse.rank.pareto import Front
from dse.report.amounts import show_objective
from dse.results.result import StudyResult
from dse.run.api import enumerate_study, run_study
from dse.run.watcher import Watcher
from dse.store.removal import delete_study
from dse.study.compile import Study
from dse.study.counts import Tally
from dse.study.stretch import COMPLETE, Stretch
from dse.study.trials import Trial
from simcore import ConfigError

MAX_MACHINES = 8
"""Machines whose speed is shown, the busiest first."""

PLAIN_S = 10.0
"""Seconds between two lines where there is no terminal."""


class Progress:
    """Counts, rates and bests of a running study; a watcher of ``run_study``."""

    def __init__(self, stop: Callable[[], bool], *, quiet: bool) -> None:
        self._stop, self._quiet = stop, quiet
        self._console = Console(stderr=True)
        self._live: Live | None = None
        self._tally = Tally()
        self._by_machine: Counter[str] = Counter()
        self._front: Front[int] = Front()
        self._signs: dict[str, int] = {}
        self._level = ""
        self._total = self._known = self._duplicates = 0
        self._start_s = self._said_s = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def started(self, study: Study, known: int, total: int) -> None:
        """Workers are up; *known* of *total* trials are there already.

        Called again for each finer level, whose designs are then counted anew.
        """
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._tally, self._front, self._duplicates = Tally(), Front(), 0
        self._signs = dict(zip(study.goals.objectives, study.goals.signs, strict=True))
        self._total, self._known = total, known
        self._level = study.fidelity if len(study.levels) > 1 else ""
        self._start_s = self._said_s = time.monotonic()
        if not self._quiet and self._console.is_terminal:
            self._live = Live(console=self._console, refresh_per_second=4, transient=True)
            self._live.start()

    def folded(self, trial: Trial, duplicates: int) -> None:
        """One more row."""
        self._tally.add(trial, self._signs)
        self._duplicates = duplicates
        if self._tally.proposals > self._known and (machine := trial.worker.rpartition(".")[0]):
            self._by_machine[machine] += 1
        if trial.is_feasible:
            objectives = trial.evaluation.objectives
            point = [sign * objectives[name] for name, sign in self._signs.items()]
            self._front.add(trial.number, point)
        self._say()

    def all_folded(self, rows: Stretch) -> None:
        """Many more rows at once."""
        numbers = np.arange(self._tally.proposals, self._tally.proposals + len(rows))
        unknown = rows.is_new & (numbers >= self._known)
        self._tally.add_all(rows, self._signs)
        self._duplicates = rows.duplicates + int(np.count_nonzero(~rows.is_new))
        for worker, count in rows.evaluated_by(np.flatnonzero(unknown)).items():
            if machine := worker.rpartition(".")[0]:
                self._by_machine[machine] += count
        found, signs = rows.of(COMPLETE), np.array(list(self._signs.values()))
        self._front.add_all(numbers[found].tolist(), rows.outcomes["objectives"][found] * signs)
        self._say()

    def _say(self) -> None:
        """Show how far the study is, now and then."""
        now_s = time.monotonic()
        if self._live is not None:
            if now_s - self._said_s > 0.25:
                self._said_s = now_s
                self._live.update(self._table())
        elif not self._quiet and now_s - self._said_s > PLAIN_S:
            self._said_s = now_s
            self._console.print(self._line(), highlight=False, soft_wrap=True)

    @property
    def has_trials(self) -> bool:
        """True if a trial of the study has been evaluated."""
        return self._tally.proposals > 0

    def stopping(self) -> bool:
        """True if Ctrl-C was pressed."""
        return self._stop()

    def waiting(self, text: str) -> None:
        """Say why the study waits for workers, when it begins to."""
        if not self._quiet:
            self._console.print(f"dse: {text}", highlight=False, soft_wrap=True)

    def _rate(self) -> float:
        spent_s = max(time.monotonic() - self._start_s, 1e-3)
        return max(self._tally.proposals - self._known, 0) / spent_s

    def _facts(self) -> list[tuple[str, str]]:
        tally, rate = self._tally, self._rate()
        left_s = (self._total - tally.proposals) / rate if rate > 0 else float("inf")
        facts = [
            ("trials", f"{tally.proposals} of {self._total}"),
            ("per second", f"{rate:.1f}"),
            ("time left", f"{left_s:.0f} s" if left_s < 1e6 else "-"),
            ("front", str(len(self._front.kept))),
            ("infeasible", str(tally.infeasible)),
            ("pruned", str(tally.pruned)),
            ("failed", str(tally.failed)),
            ("repeated", str(self._duplicates)),
        ]
        spent_s = max(time.monotonic() - self._start_s, 1e-3)
        if self._level:
            facts.insert(0, ("judging at", self._level))
        if len(self._by_machine) > 1:
            nodes = self._by_machine.most_common(MAX_MACHINES)
            facts += [(name, f"{count / spent_s:.1f} per second") for name, count in nodes]
        facts += [(f"best {name}", show_objective(name, v)) for name, v in tally.best.items()]
        return facts

    def _line(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self._facts())

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2))
        table.add_row("", ProgressBar(total=self._total, completed=self._tally.proposals, width=40))
        for name, value in self._facts():
            table.add_row(name, value)
        return table


class StopSwitch:
    """Ctrl-C: the first one lets what is under way come in, the second one stops."""

    def __init__(self) -> None:
        self.pressed = False

    def __call__(self) -> bool:
        return self.pressed

    def install(self) -> None:
        """Take over Ctrl-C for this process, and the signal that batch systems end one with."""
        signal.signal(signal.SIGINT, self._press)
        signal.signal(signal.SIGTERM, self._press)

    def release(self) -> None:
        """Ignore Ctrl-C from here on: all is written, and Python would end by the signal."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
        click.echo("dse: stopping; Ctrl-C again to leave at once.", err=True)


def results_folder(file: str, out: Path | None, *, resume: bool, force: bool) -> Path:
    """Folder of a study's results: *out*, else ``runs/NAME``, with a number if that is taken.

    With *resume* the last one that is there is gone on with. With *force* the study in the folder
    is deleted first, with no file that is not its own; a folder without a study is left alone.

    Raises:
        ConfigError: *force* is given with *resume*, the folder holds no study, or it is being run.
    """
    if force and resume:
        raise ConfigError("--force", "must stand without --resume", got=None)
    first = Path("runs") / Path(file).stem
    if out is None and not force:
        number, last = 2, first
        while (following := first.with_name(f"{first.name}-{number}")).exists():
            number, last = number + 1, following
        if resume:
            return last
        return following if first.exists() else first
    folder = out or first
    if force and folder.exists() and any(folder.iterdir()):
        delete_study(folder, Path(file))
    return folder


def run_command(
    file: str,
    *,
    out: Path,
    resume: bool,
    quiet: bool,
    timeout_s: float | None,
    overrides: Mapping[str, Any],
) -> None:
    """``dse study``."""
    overrides = dict(overrides)
    log = overrides.pop("log", None)

    def run(folder: Path, watcher: Watcher) -> StudyResult:
        return run_study(
            file, out=folder, resume=resume, watcher=watcher, timeout_s=timeout_s, **overrides
        )

    _run(out, quiet, run, log)


def enumerate_command(
    file: str, *, out: Path, resume: bool, quiet: bool, overrides: Mapping[str, Any]
) -> None:
    """``dse enumerate``."""
    overrides = dict(overrides)
    log = overrides.pop("log", None)

    def run(folder: Path, watcher: Watcher) -> StudyResult:
        return enumerate_study(file, out=folder, resume=resume, watcher=watcher, **overrides)

    _run(out, quiet, run, log)


def _run(
    folder: Path, quiet: bool, run: Callable[[Path, Watcher], StudyResult], log: str | None
) -> None:
    is_new = not folder.exists()
    with Progress(stop := StopSwitch(), quiet=quiet) as progress, ExitStack() as stack:
        logged = LoggedWatcher(log, progress, folder.name) if log else None
        if logged is not None:
            stack.enter_context(logged)
        stop.install()
        try:
            result = run(folder, logged or progress)
        except ConfigError:
            if is_new and not progress.has_trials:  # a study that was refused leaves nothing
                shutil.rmtree(folder, ignore_errors=True)
            raise
        if logged is not None:
            logged.finish(result)
    show_result(result)
    stop.release()
