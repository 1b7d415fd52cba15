"""Data of the page's pictures, as plain data for JSON."""

import json
from collections.abc import Mapping
from typing import Any

from dse.evaluate import Evaluator
from dse.objectives import OBJECTIVES
from dse.report.amounts import said_unit
from dse.report.page.axes import Axis, axes_of
from dse.report.page.chosen import BASELINE, FEASIBLE, FRONT, Chosen, chosen_rows
from dse.report.page.importance import importance
from dse.report.page.parts import breakdowns
from dse.results.result import StudyResult
from dse.study.memory_marks import memory_mark

_BANDED = ("iteration_time", "time_per_output_token", "capital_cost")
"""Objectives with a low and a high metric of their own."""

_STEPS = 60
"""Points of the course of each best value."""


def page_data(result: StudyResult, evaluator: Evaluator) -> dict[str, Any]:
    """Designs by axis, bands, importance, course, and what the front is made of.

    Args:
        result: The study.
        evaluator: Of the level that the front was judged at.
    """
    chosen = chosen_rows(result)
    axes = axes_of(result, chosen.rows)
    return {
        "trials": [row.number for row in chosen.rows],
        "kinds": list(chosen.kinds),
        "told": list(chosen.told),
        "marks": {str(row.number): mark for row in chosen.rows if (mark := _mark(row))},
        "axes": [axis.data() for axis in axes],
        "bands": _bands(chosen),
        "recommended": [one.trial for one in result.recommended] if result.front else [],
        "importance": importance(result),
        "course": _course(result, chosen, axes),
        "breakdowns": breakdowns(result, evaluator) if result.front else [],
    }


def _mark(row: Any) -> str:
    return memory_mark(row.evaluation.metrics)


def as_script(data: Mapping[str, Any]) -> str:
    """JSON that may stand in a script element, whatever its texts hold."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _bands(chosen: Chosen) -> dict[str, list[Any]]:
    """Low and high end per design of the front, by objective."""
    found = {}
    for name in _BANDED:
        objective = OBJECTIVES[name]
        factor, stem = said_unit(objective.unit)[0], f"{name}_{{}}_{objective.unit.lower()}"
        ends = [
            [row.evaluation.metrics.get(stem.format(end)) for end in ("low", "high")]
            for row, kind in zip(chosen.rows, chosen.kinds, strict=True)
            if kind in (FRONT, BASELINE)
        ]
        if ends and all(None not in pair for pair in ends):
            found[name] = [[float(f"{end * factor:.5g}") for end in pair if end] for pair in ends]
    return found


def _course(result: StudyResult, chosen: Chosen, axes: list[Axis]) -> dict[str, Any]:
    """Hypervolume, and the best value so far of each objective, over proposals."""
    found = result.summary.get("convergence", {})
    course: dict[str, Any] = {
        "proposals": found.get("proposals", []),
        "hypervolume": found.get("hypervolume", []),
        "best": [],
    }
    kept = [i for i, kind in enumerate(chosen.kinds) if kind in (FRONT, FEASIBLE)]
    kept.sort(key=lambda i: chosen.rows[i].number)
    for axis in axes[: len(result.study.goals.objectives)]:
        sign, best, points = 1 if axis.sense == "minimise" else -1, float("inf"), []
        for i in kept:
            value = axis.values[i]
            if value is not None and sign * value < best:
                best = sign * value
                points.append([chosen.rows[i].number + 1, float(f"{value:.5g}")])
        told = points[:: max(1, -(-len(points) // _STEPS))]
        told += points[-1:] if points and told[-1] != points[-1] else []
        course["best"].append({"label": axis.label, "unit": axis.unit, "points": told})
    return course
