"""Difference of two studies: question, space, goals, fronts, and what they come from."""

from collections.abc import Iterator
from typing import Any

from dse.objectives import OBJECTIVES
from dse.report.amounts import show_objective, show_value
from dse.report.sections import ReportSection
from dse.results.result import StudyResult
from dse.space import Parameter, design_key
from dse.study.memory_marks import memory_mark
from dse.study.trials import Trial

FEW = 8
"""Choices of a knob that are listed; of others, how many there are."""


def difference(one: StudyResult, two: StudyResult) -> list[ReportSection]:
    """Sections of what differs between two studies; those without a difference are left out."""
    sections = (
        ReportSection(title="question", lines=tuple(_question(one, two))),
        ReportSection(title="space", lines=tuple(_space(one, two))),
        ReportSection(title="goals", lines=tuple(_goals(one, two))),
        ReportSection(title="front", lines=tuple(_front(one, two))),
        ReportSection(title="best of each objective", lines=tuple(_best(one, two))),
        ReportSection(title="come from", lines=tuple(_origins(one, two))),
    )
    return [section for section in sections if section.lines]


def difference_data(one: StudyResult, two: StudyResult) -> dict[str, Any]:
    """``difference`` as plain data, for JSON, with the values of the best designs."""
    found = {
        section.title: [list(line) for line in section.lines] for section in difference(one, two)
    }
    values = {
        name: [None if row is None else row.evaluation.objectives[name] for row in pair]
        for name, pair in _best_rows(one, two).items()
    }
    return {"sections": found, "best": values}


def _question(one: StudyResult, two: StudyResult) -> Iterator[tuple[str, str, str]]:
    asked = [result.study.file.question or "-" for result in (one, two)]
    if asked[0] != asked[1]:
        yield "asked", asked[0], asked[1]
    told = [result.study.file.evaluator for result in (one, two)]
    if told[0] != told[1]:
        yield "evaluator", told[0], told[1]


def _space(one: StudyResult, two: StudyResult) -> Iterator[tuple[str, str, str]]:
    """Size, and knobs whose values differ or that one of them lacks."""
    sizes = [f"{result.study.space.counts.valid:,}" for result in (one, two)]
    if sizes[0] != sizes[1]:
        yield "valid designs", sizes[0], sizes[1]
    knobs = [result.study.space.parameters for result in (one, two)]
    for name in dict.fromkeys((*knobs[0], *knobs[1])):
        told = [_choices(own.get(name)) for own in knobs]
        if told[0] != told[1]:
            yield name, told[0], told[1]


def _choices(knob: Parameter | None) -> str:
    if knob is None:
        return "no knob"
    if knob.is_continuous:
        return f"{show_value(knob, knob.low)} to {show_value(knob, knob.high)}"
    shown = [show_value(knob, value) for value in knob.choices]
    return ", ".join(shown) if len(shown) <= FEW else f"{len(shown)}: {shown[0]} to {shown[-1]}"


def _goals(one: StudyResult, two: StudyResult) -> Iterator[tuple[str, str, str]]:
    goals = [dict(result.study.goals.objectives) for result in (one, two)]
    for name in dict.fromkeys((*goals[0], *goals[1])):
        told = [str(own.get(name, "no objective")) for own in goals]
        if told[0] != told[1]:
            yield name, told[0], told[1]
    limits = [
        {limit.name: f"{limit.sense.replace('_', ' ')} {limit.bound:g}" for limit in own.limits}
        for own in (one.study.goals, two.study.goals)
    ]
    for name in dict.fromkeys((*limits[0], *limits[1])):
        pair = [own.get(name, "no limit") for own in limits]
        if pair[0] != pair[1]:
            yield name, pair[0], pair[1]


def _front(one: StudyResult, two: StudyResult) -> Iterator[tuple[str, str, str]]:
    fronts = [{design_key(r.rows[at].design) for at in r.front} for r in (one, two)]
    proposals = [str(result.summary.get("proposals", len(result.rows))) for result in (one, two)]
    yield "proposals", proposals[0], proposals[1]
    yield "designs", str(len(fronts[0])), str(len(fronts[1]))
    shared = len(fronts[0] & fronts[1])
    yield "on both fronts", str(shared), str(shared)


def _best(one: StudyResult, two: StudyResult) -> Iterator[tuple[str, str, str]]:
    for name, pair in _best_rows(one, two).items():
        told = [
            "-"
            if row is None
            else f"{show_objective(name, row.evaluation.objectives[name])} ({_named(row)})"
            for row in pair
        ]
        first, second = pair
        if first is not None and second is not None and first.evaluation.objectives[name]:
            part = second.evaluation.objectives[name] / first.evaluation.objectives[name] - 1
            told[1] += f", {part:+.2%}"
        yield OBJECTIVES[name].label, told[0], told[1]


def _named(row: Trial) -> str:
    mark = memory_mark(row.evaluation.metrics)
    return f"trial {row.number}" + (f", memory {mark}" if mark else "")


def _best_rows(one: StudyResult, two: StudyResult) -> dict[str, tuple[Trial | None, Trial | None]]:
    """Best designs of the fronts, by the objectives that both studies have."""
    common = [name for name in one.study.goals.objectives if name in two.study.goals.objectives]
    return {name: (_best_row(one, name), _best_row(two, name)) for name in common}


def _best_row(result: StudyResult, name: str) -> Trial | None:
    sign = result.study.goals.signs_by_name[name]
    rows = [result.rows[at] for at in result.front]
    return min(
        rows, key=lambda row: (sign * row.evaluation.objectives[name], row.number), default=None
    )


def _origins(one: StudyResult, two: StudyResult) -> Iterator[tuple[str, str, str]]:
    """Differences of files, code and packages, in words."""
    if one.provenances and two.provenances:
        for line in one.provenances[-1].changes_to(two.provenances[-1]):
            yield line, "", ""
