"""``dse watch``: a study in the terminal while it runs."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dse.objectives import OBJECTIVES
from dse.report.amounts import show_objective
from dse.report.front_table import front_table
from dse.results.convergence import convergence_lines
from dse.results.failures import failure_lines
from dse.results.live import LiveStudy
from dse.results.misses import nearest_misses
from dse.results.result import StudyResult

MOST_DESIGNS, MOST_WORKERS = 10, 8
"""Designs of the front, and workers, that are listed."""


def watch_command(folder: Path, *, every_s: float) -> None:
    """Show the study in *folder* until it is over; on a file or a pipe, a line per change.

    Raises:
        ConfigError: *folder* holds no study.
    """
    live, console = LiveStudy(folder), Console()
    if not console.is_terminal:
        _plainly(live, every_s)
        return
    with Live(console=console, refresh_per_second=4, transient=False) as screen:
        while True:
            if live.follow():
                screen.update(_picture(live, console.width))
            if live.is_over:
                return
            time.sleep(every_s)


def _plainly(live: LiveStudy, every_s: float) -> None:
    while True:
        if live.follow():
            click.echo(plain_line(live))
        if live.is_over:
            return
        time.sleep(every_s)


def plain_line(live: LiveStudy) -> str:
    """Counts, front and best values of the moment in one line."""
    result = live.result()
    told = [_counts(live, result), f"front {len(result.front)}"]
    told += [f"best {name} {value}" for name, value in _best(result)]
    if live.is_over:
        told.append("over")
    return ", ".join(told)


def _counts(live: LiveStudy, result: StudyResult) -> str:
    summary, search = result.summary, live.study.file.search
    asked = "" if search.is_open else f" of {search.trials}"
    rest = [f"{summary[key]} {key}" for key in ("infeasible", "pruned", "failed") if summary[key]]
    return ", ".join([f"{len(live.follower.trials)}{asked} trials", *rest])


def _best(result: StudyResult) -> Iterator[tuple[str, str]]:
    """Label and best value of the front in each objective."""
    front = [result.rows[at].evaluation.objectives for at in result.front]
    for name, sign in result.study.goals.signs_by_name.items():
        if front:
            best = min(sign * values[name] for values in front) * sign
            yield OBJECTIVES[name].label, show_objective(name, best)


def _picture(live: LiveStudy, width: int) -> Group:
    result = live.result()
    parts: list[Text | Table] = [
        Text(live.study.file.question or "study", style="bold"),
        Text(f"{_counts(live, result)}{'; over' if live.is_over else _ago(live)}"),
        Text(", ".join(f"best {name} {value}" for name, value in _best(result))),
        _front(result, width),
    ]
    lines = [*convergence_lines(result.summary), *_workers(result)]
    lines += [*failure_lines(result.summary), *(nearest_misses(result.rows))]
    return Group(*parts, *(Text(line) for line in lines))


def _ago(live: LiveStudy) -> str:
    if not live.follower.last_s:
        return "; no trial has come in yet"
    return f"; the last came in {max(time.time() - live.follower.last_s, 0.0):.0f} s ago"


def _front(result: StudyResult, width: int) -> Table:
    """Number, objectives and the first knobs that differ, as far as they are not too wide."""
    found = front_table(result)
    shown = Table(box=None, title="Pareto front", title_justify="left")
    columns, room = list[int](), width
    for at, heading in enumerate(found.columns):
        room -= max(len(text) for text in (heading, *(row[at] for row in found.rows))) + 2
        if room < 0 and at >= found.numbers:
            break
        columns.append(at)
    for at in columns:
        shown.add_column(found.columns[at], justify="right" if at < found.numbers else "left")
    for row in found.rows[:MOST_DESIGNS]:
        shown.add_row(*(row[at] for at in columns))
    if len(found.rows) > MOST_DESIGNS:
        shown.caption = f"{MOST_DESIGNS} of {len(found.rows)} designs"
    return shown


def _workers(result: StudyResult) -> Iterator[str]:
    """Trials by worker."""
    counts = Counter(row.worker for row in result.rows if row.worker)
    if counts:
        listed = ", ".join(f"{name} {n}" for name, n in sorted(counts.items())[:MOST_WORKERS])
        more = len(counts) - MOST_WORKERS
        yield f"trials by worker: {listed}" + (f" and {more} more" if more > 0 else "")
