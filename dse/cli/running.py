"""The commands that evaluate designs."""

import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import click

from dse.cli.progress import Progress
from dse.cli.showing import show_result
from dse.results.result import StudyResult
from dse.run.api import enumerate_study, run_study


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

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
        click.echo("dse: stopping; Ctrl-C again to leave at once.", err=True)


def run_command(
    file: str,
    *,
    out: Path | None,
    resume: bool,
    quiet: bool,
    timeout_s: float | None,
    overrides: Mapping[str, Any],
) -> None:
    """``dse study``."""

    def run(folder: Path, watcher: Progress) -> StudyResult:
        return run_study(
            file, out=folder, resume=resume, watcher=watcher, timeout_s=timeout_s, **overrides
        )

    _run(file, out, quiet, run)


def enumerate_command(
    file: str, *, out: Path | None, resume: bool, quiet: bool, overrides: Mapping[str, Any]
) -> None:
    """``dse enumerate``."""

    def run(folder: Path, watcher: Progress) -> StudyResult:
        return enumerate_study(file, out=folder, resume=resume, watcher=watcher, **overrides)

    _run(file, out, quiet, run)


def _run(
    file: str, out: Path | None, quiet: bool, run: Callable[[Path, Progress], StudyResult]
) -> None:
    stop = StopSwitch()
    stop.install()
    folder = out or Path("runs") / Path(file).stem
    with Progress(stop, quiet=quiet) as progress:
        result = run(folder, progress)
    show_result(result)
