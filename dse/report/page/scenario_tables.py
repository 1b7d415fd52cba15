"""Scenarios of a study: values of designs of the front in each, and their regret."""

from collections.abc import Mapping
from typing import Any

from dse.objectives import OBJECTIVES, Objective
from dse.report.amounts import NO_MEANING, show_amount
from dse.report.front_table import FrontTable
from dse.report.page.parts import shown_front
from dse.results.result import StudyResult
from simcore import SimulationError


def scenario_tables(result: StudyResult) -> list[tuple[str, FrontTable]]:
    """One table per objective, with its name: designs against scenarios, and their regret.

    Empty without scenarios, or without a front.
    """
    if not result.study.goals.scenarios or not result.front:
        return []
    regrets = result.summary.get("regret", {})
    return [
        (OBJECTIVES[name].label, _table(result, OBJECTIVES[name], regrets.get(name, {})))
        for name in result.study.goals.objectives
    ]


def _table(result: StudyResult, objective: Objective, regret: Mapping[str, Any]) -> FrontTable:
    scenarios, known = result.study.goals.scenarios, regret.get("front", {})
    lines = []
    for row in shown_front(result):
        metrics = row.evaluation.metrics
        values = [_value(objective, scenario.metrics_of(metrics)) for scenario in scenarios]
        share = known.get(str(row.number))
        told = NO_MEANING if share is None else f"{share:.1%}"
        lines.append((str(row.number), *values, told))
    best = regret.get("best", {})
    if best:
        found = [best[scenario.name] for scenario in scenarios]
        tops = [f"{show_amount(b['value'], objective.unit)} (trial {b['trial']})" for b in found]
        lines.append(("best found", *tops, NO_MEANING))
    columns = ("trial", *(scenario.name for scenario in scenarios), "regret, at most")
    return FrontTable(columns=columns, rows=tuple(lines), numbers=len(columns), common=())


def _value(objective: Objective, metrics: Mapping[str, float]) -> str:
    try:
        return show_amount(objective.value(metrics), objective.unit)
    except SimulationError:  # the scenario has no such figure
        return NO_MEANING
