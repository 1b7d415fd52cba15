"""The baseline in words: what it reaches, and designs of the front held against it."""

from collections.abc import Sequence
from math import prod

from dse.objectives import OBJECTIVES
from dse.report.amounts import show_objective
from dse.results.result import StudyResult
from dse.study.trials import Trial

RUN = "the run of the study"


def baseline_lines(result: StudyResult) -> list[str]:
    """Values of the run of the study, and the recommended design that betters it the most."""
    baseline = result.baseline
    if baseline is None:
        return []
    values = baseline.evaluation.objectives
    told = ", ".join(show_objective(name, value) for name, value in values.items())
    if not baseline.is_feasible:
        found = f" ({told})" if told else ""
        return [f"{RUN} by itself is infeasible{found}: {baseline.evaluation.reason}"]
    lines = [f"{RUN} by itself: {told}"]
    rows = {result.rows[at].number: result.rows[at] for at in result.front}
    if rows and result.recommended:
        chosen = [rows[one.trial] for one in result.recommended]
        best = min(chosen, key=lambda row: _ratio(result, baseline, row))
        lines[0] += f"; trial {best.number} {against(result, best)}"
    ahead = [OBJECTIVES[name].label for name in _ahead(result, baseline, [*rows.values()])]
    if ahead:
        lines.append(f"no trial is as good as {RUN} in {' nor in '.join(ahead)} yet")
    return lines


def _ahead(result: StudyResult, baseline: Trial, rows: Sequence[Trial]) -> list[str]:
    """Objectives in which the baseline is better than all *rows*."""
    before, signs = baseline.evaluation.objectives, result.study.goals.signs_by_name
    return [
        name
        for name, sign in signs.items()
        if name in before
        and all(sign * row.evaluation.objectives[name] > sign * before[name] for row in rows)
    ]


def _ratio(result: StudyResult, baseline: Trial, row: Trial) -> float:
    """Product of the objectives of *row* over those of the baseline; the less, the better."""
    before, after = baseline.evaluation.objectives, row.evaluation.objectives
    signs = result.study.goals.signs_by_name
    pairs = [(before[name], after[name], sign) for name, sign in signs.items() if name in before]
    return prod((new / old) ** sign for old, new, sign in pairs if old > 0 < new)


def against(result: StudyResult, row: Trial) -> str:
    """Objectives of *row* against those of the baseline; empty where it has none."""
    if result.baseline is None:
        return ""
    before, after = result.baseline.evaluation.objectives, row.evaluation.objectives
    told = [
        f"{OBJECTIVES[name].label} {after[name] / value - 1:+.1%}"
        for name, value in before.items()
        if value and name in after
    ]
    return f"against it: {', '.join(told)}" if told else ""
