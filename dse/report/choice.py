"""Texts on what to choose from a front: the short list, what is alike, what can be left out."""

from collections.abc import Iterator

from dse.objectives import OBJECTIVES
from dse.reasons.waits import reason_lines
from dse.report.amounts import short_names, show_amount, show_objective, show_value
from dse.report.front_table import FrontTable
from dse.results.convergence import convergence_lines
from dse.results.result import StudyResult
from dse.results.trims import LOSS
from dse.study.memory_marks import memory_mark

MOST_TRIMS = 5
"""Trims that are told, those that save most first."""


def short_list(result: StudyResult) -> FrontTable:
    """The recommended designs as a table: number, objectives, memory where it is short, reasons."""
    rows = {row.number: row for row in result.discernment.rows}
    chosen = [rows[one.trial] for one in result.recommended]
    marks = [memory_mark(row.evaluation.metrics) for row in chosen]
    objectives = list(result.study.goals.objectives)
    texts = []
    for one, row, mark in zip(result.recommended, chosen, marks, strict=True):
        numbers = [show_objective(name, row.evaluation.objectives[name]) for name in objectives]
        shown = [mark or "suffices"] if any(marks) else []
        texts.append((str(one.trial), *numbers, *shown, "; ".join(one.reasons)))
    headings = ["trial", *(OBJECTIVES[name].label for name in objectives)]
    headings += ["memory"] if any(marks) else []
    return FrontTable(
        columns=(*headings, "why"), rows=tuple(texts), numbers=1 + len(objectives), common=()
    )


def choice_lines(result: StudyResult) -> Iterator[str]:
    """Lines that the reader of a front should know before choosing from it."""
    yield from _equals(result)
    yield from reason_lines(result.summary)
    yield from _trims(result)
    yield from convergence_lines(result.summary)


def _equals(result: StudyResult) -> Iterator[str]:
    """Lines on what cannot be told apart, and on how optimistic the best prediction is."""
    groups, found = result.equals, result.discernment
    if not groups or found.simulated is None or not found.reason:
        return
    label, first = OBJECTIVES[found.simulated].label, groups[0].trials
    if any(len(group.trials) > 1 for group in groups):
        yield (
            f"designs of one group cannot be told apart in {label}: predictions of one model on "
            f"one accelerator compare to within {found.reason}"
        )
    if len(first) > 1:
        yield (
            f"trial {first[0]} has the best {label} of {len(first)} designs that cannot be told "
            f"apart: chosen for that, it is likely to be too good, by up to about "
            f"{found.optimism():.0%} (the winner's curse)"
        )


def _trims(result: StudyResult) -> Iterator[str]:
    """Parts that designs of the front can do without for next to no time."""
    parameters = result.study.space.parameters
    short, rows = short_names(list(parameters)), {row.number: row for row in result.rows}
    for trim in result.trims[:MOST_TRIMS]:
        parameter = parameters[trim.knob]
        before, after = (
            show_value(parameter, rows[number].design.get(trim.knob))
            for number in (trim.trial, trim.trimmed)
        )
        objective = OBJECTIVES[trim.objective]
        yield (
            f"trial {trim.trial} with {short[trim.knob]} {after} in place of {before} is trial "
            f"{trim.trimmed}: {show_amount(trim.saved, objective.unit)} ({trim.gain:.1%}) less "
            f"{objective.label} for {trim.loss:+.2%} of time"
        )
    if len(result.trims) > MOST_TRIMS:
        more = len(result.trims) - MOST_TRIMS
        yield f"and {more} more designs have a part to leave out for under {LOSS:.1%} of time"
