"""Traffic of a design whose packets were followed, beside that of a rival."""

from collections.abc import Mapping

from dse.report.sections import ReportSection
from dse.results.result import StudyResult
from dse.study.trials import Trial

_PREFIX = "traffic_"


def traffic_section(
    trial: Trial, result: StudyResult, metrics: Mapping[str, float]
) -> ReportSection:
    """Packets, pauses, marks, queues and collisions, each with the rival's.

    The rival is the first other design of the front, or of all trials, at the same level.
    """
    rival = _rival(trial, result)
    theirs = {} if rival is None else rival.evaluation.metrics
    lines = []
    for name, value in metrics.items():
        if not name.startswith(_PREFIX):
            continue
        note = ""
        if rival is not None and name in theirs:
            note = f"{theirs[name]:,.6g} in trial {rival.number}"
        lines.append((name.removeprefix(_PREFIX).replace("_", " "), f"{value:,.6g}", note))
    return ReportSection(title="traffic of packets", lines=tuple(lines))


def _rival(trial: Trial, result: StudyResult) -> Trial | None:
    rows = [*(result.rows[index] for index in result.front), *result.rows]
    level = trial.evaluation.fidelity
    others = (
        row
        for row in rows
        if row.number != trial.number
        and row.evaluation.fidelity == level
        and row.evaluation.objectives
    )
    return next(others, None)
