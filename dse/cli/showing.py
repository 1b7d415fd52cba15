"""The commands that show what is there."""

import json
from itertools import islice
from pathlib import Path
from typing import Literal

import click
from rich.console import Console
from rich.table import Table

from dse.evaluate import build_evaluator
from dse.evaluate.base import judge, measure
from dse.fidelity.told import fidelity_lines
from dse.proof.told import gap_lines
from dse.provenance import changed_since, provenance_lines
from dse.report.baseline import baseline_lines
from dse.report.choice import choice_lines, short_list
from dse.report.difference import difference, difference_data
from dse.report.explain import explain_trial, trial_data
from dse.report.front_table import FrontTable, front_table
from dse.report.measured import front_accelerators, front_bands
from dse.report.page.page import report_page
from dse.report.trial_page import trial_page
from dse.results.failures import failure_lines
from dse.results.misses import nearest_misses
from dse.results.notes import note_lines
from dse.results.regret import regret_lines
from dse.results.result import StudyResult, load_study
from dse.store.folder import REPORT, StudyFolder

MAX_ROWS = 24
"""Most designs of a front that are printed; the others are in the tables."""

MAX_BANDS = 3
"""Most kinds of measured runs that are named below a front."""

MAX_ASKED, MAX_REASONS = 200, 3
"""Designs that are asked why, and reasons that are told, where none was evaluated."""

PLAIN_COLUMNS = 180


def show_result(result: StudyResult) -> None:
    """Print the front of a study, its counts and where everything is."""
    console = _console()
    summary = result.summary
    _print_front(console, result)
    _print_choice(console, result)
    _print_bands(console, result)
    counts = ", ".join(
        f"{summary[key]} {key}"
        for key in ("proposals", "evaluated", "infeasible", "pruned", "failed")
    )
    console.print(f"{counts}, {summary['duplicates']} repeated", highlight=False)
    for tell in (
        provenance_lines,
        failure_lines,
        fidelity_lines,
        regret_lines,
        gap_lines,
        note_lines,
    ):
        for line in tell(summary):
            console.print(line, highlight=False, soft_wrap=True)
    if summary.get("wall_s") and summary.get("evaluations_per_s"):
        rate = f"{summary['wall_s']:.1f} s, {summary['evaluations_per_s']:.1f} evaluations/s"
        workers = summary["workers"]
        told = f"{rate}, {workers} worker{'s' * (workers != 1)}, seed {summary['seed']}"
        console.print(told, highlight=False)
    if result.folder is not None:
        console.print(f"written to {result.folder}", highlight=False, soft_wrap=True)


def report_command(folder: Path) -> None:
    """``dse report``."""
    result = load_study(folder)
    told = [*provenance_lines(result.summary), *changed_since(result.provenances[-1:])]
    StudyFolder(folder).write_text(REPORT, report_page(result))
    console = _console()
    _print_front(console, result)
    _print_choice(console, result)
    _print_bands(console, result)
    for line in told:
        console.print(line, highlight=False, soft_wrap=True)
    console.print(f"written to {folder / REPORT}", highlight=False, soft_wrap=True)


def explain_command(folder: Path, trial: int, *, as_json: bool = False, page: bool = False) -> None:
    """``dse explain``."""
    if as_json:
        click.echo(json.dumps(trial_data(load_study(folder), trial), indent=2))
        return
    result, console = load_study(folder), _console()
    sections = explain_trial(result, trial)
    if page:
        name = f"trial-{trial}.html"
        StudyFolder(folder).write_text(name, trial_page(result.study.file.question, sections))
        console.print(f"written to {folder / name}", highlight=False, soft_wrap=True)
        return
    for section in sections:
        console.print(section.title, style="italic", highlight=False, soft_wrap=True)
        if section.is_told:
            for sentence, *_ in section.lines:
                console.print(sentence, highlight=False, soft_wrap=True)
            continue
        table = Table(box=None, show_header=False)
        for line in section.lines:
            table.add_row(*line)
        console.print(table)


def diff_command(one: Path, two: Path, *, as_json: bool) -> None:
    """``dse diff``."""
    first, second = load_study(one), load_study(two)
    if as_json:
        click.echo(json.dumps(difference_data(first, second), indent=2))
        return
    console = _console()
    for section in difference(first, second):
        console.print(section.title, style="italic", highlight=False)
        if section.is_told:
            for sentence, *_ in section.lines:
                console.print(sentence, highlight=False, soft_wrap=True)
            continue
        table = Table("", str(one), str(two), box=None)
        for line in section.lines:
            table.add_row(*line)
        console.print(table)


def _console() -> Console:
    """Standard output; wide where it goes to a file, since nothing need be folded there."""
    console = Console()
    return console if console.is_terminal else Console(width=PLAIN_COLUMNS)


def _blocks(front: FrontTable, width: int) -> list[list[int]]:
    """Columns of tables below each other, each as wide as fits and starting with the trial."""
    widths = [
        max(len(text) for text in (heading, *(row[index] for row in front.rows))) + 2
        for index, heading in enumerate(front.columns)
    ]
    blocks, used = [[0]], widths[0]
    for index, column in enumerate(widths[1:], start=1):
        if used + column > width and len(blocks[-1]) > 1:
            blocks.append([0])
            used = widths[0]
        blocks[-1].append(index)
        used += column
    return blocks


def _print_choice(console: Console, result: StudyResult) -> None:
    """The short list, and what to know before choosing."""
    if not result.front:
        return
    table, shown = short_list(result), Table(title="Recommended", title_justify="left", box=None)
    for index, heading in enumerate(table.columns):
        justify: Literal["left", "right"] = "left" if index >= table.numbers else "right"
        shown.add_column(heading, justify=justify, overflow="fold")
    for row in table.rows:
        shown.add_row(*row)
    console.print(shown)
    for line in choice_lines(result):
        console.print(line, highlight=False, soft_wrap=True)


def _print_bands(console: Console, result: StudyResult) -> None:
    bands = front_bands(result)
    for band in bands[:MAX_BANDS]:
        console.print(f"measured against: {band}", highlight=False, soft_wrap=True)
    if len(bands) > MAX_BANDS:
        console.print(f"and {len(bands) - MAX_BANDS} more kinds, in the report", highlight=False)
    for trust in front_accelerators(result):
        console.print(f"accelerator {trust}", highlight=False, soft_wrap=True)


def _checks_failed(result: StudyResult) -> list[str]:
    """Checks before an evaluation that the first designs of a study do not pass, by number."""
    study = result.study
    evaluator = build_evaluator(study.evaluator_input)
    reasons: dict[str, list[str]] = {}
    for design in islice(study.space.designs(), MAX_ASKED):
        if evaluator.admits(design):
            return []
        found = judge(measure(evaluator, design), study.goals, evaluator.fidelity)
        reasons.setdefault(next(iter(found.constraints), found.failure), []).append(found.reason)
    asked = sum(map(len, reasons.values()))
    lines = [f"None was evaluated: of the first {asked} designs none passes the checks before it."]
    ordered = sorted(reasons.values(), key=len, reverse=True)
    return lines + [f"{len(told)} of them: {told[0]}" for told in ordered[:MAX_REASONS]]


def _print_front(console: Console, result: StudyResult) -> None:
    _print_table(console, result)
    for line in baseline_lines(result):
        console.print(line, highlight=False, soft_wrap=True)


def _print_table(console: Console, result: StudyResult) -> None:
    front = front_table(result)
    if not front.rows:
        console.print("No feasible design was found.")
        for line in nearest_misses(result.rows) if result.rows else _checks_failed(result):
            console.print(line, highlight=False, soft_wrap=True)
        return
    rows = front.rows
    if len(rows) > MAX_ROWS:
        last = len(rows) - 1
        rows = tuple(rows[round(i * last / (MAX_ROWS - 1))] for i in range(MAX_ROWS))
    title: str | None = "Pareto front"
    for columns in _blocks(front, console.width):
        table = Table(title=title, title_justify="left", box=None)
        for index in columns:
            justify: Literal["left", "right"] = "left" if index >= front.numbers else "right"
            table.add_column(front.columns[index], justify=justify, overflow="fold")
        for row in rows:
            table.add_row(*(row[index] for index in columns))
        console.print(table)
        title = None
    if len(front.rows) > len(rows):
        console.print(f"{len(rows)} of {len(front.rows)} designs of the front are shown.")
    if front.common:
        same = ", ".join(f"{name} {value}" for name, value in front.common)
        console.print(f"the same all along: {same}", highlight=False, style="dim")
