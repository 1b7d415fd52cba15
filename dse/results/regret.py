"""Distance of designs from the best that was found for each scenario by itself."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.objectives import OBJECTIVES, Objective, Scenario
from dse.study.compile import Study
from dse.study.trials import Trial

Floats = NDArray[np.float64]


def regret_summary(study: Study, rows: Sequence[Trial], front: Sequence[Trial]) -> dict[str, Any]:
    """Entry ``regret`` of ``summary.json``; nothing without scenarios.

    The regret of a design is the largest share, over the scenarios, by which its value is worse
    than the best one that any design of the study has there. It depends on what was found, so it
    is told at the end, and no objective.

    Args:
        study: Gives objectives and scenarios.
        rows: Feasible trials of one fidelity.
        front: Those of them whose regret is listed.

    Source: L. J. Savage, "The Theory of Statistical Decision", Journal of the American Statistical
    Association 46(253), 1951 (minimax regret), here relative.
    """
    scenarios = study.goals.scenarios
    if not scenarios or not rows:
        return {}
    signs = zip(study.goals.objectives, study.goals.signs, strict=True)
    listed = {row.number for row in front}
    return {"regret": {name: _of_objective(name, s, scenarios, rows, listed) for name, s in signs}}


def _of_objective(
    name: str, sign: int, scenarios: Sequence[Scenario], rows: Sequence[Trial], listed: set[int]
) -> dict[str, Any]:
    values = _values(OBJECTIVES[name], scenarios, rows)
    best = (values * sign).argmin(axis=0)
    ideal = values[best, np.arange(len(scenarios))]
    # how much longer, or how much less of what there could be
    away = sign * (values - ideal) / np.where(ideal == 0, 1.0, np.abs(ideal))
    regret = away.max(axis=1)
    least = int(regret.argmin())
    worst = int(away[least].argmax())
    return {
        "best": {
            scenario.name: {"trial": rows[place].number, "value": float(value)}
            for scenario, place, value in zip(scenarios, best.tolist(), ideal, strict=True)
        },
        "least": {
            "trial": rows[least].number,
            "regret": float(regret[least]),
            "scenario": scenarios[worst].name,
            "value": float(values[least, worst]),
        },
        "front": {
            str(row.number): float(one)
            for row, one in zip(rows, regret, strict=True)
            if row.number in listed
        },
    }


def _values(objective: Objective, scenarios: Sequence[Scenario], rows: Sequence[Trial]) -> Floats:
    """(rows, scenarios) of one objective."""
    return np.array(
        [
            [objective.value(scenario.metrics_of(row.evaluation.metrics)) for scenario in scenarios]
            for row in rows
        ],
        np.float64,
    )


def regret_lines(summary: Mapping[str, Any]) -> list[str]:
    """One line per objective; none without scenarios."""
    lines = []
    for name, found in summary.get("regret", {}).items():
        least = found["least"]
        best = found["best"][least["scenario"]]
        objective = OBJECTIVES[name]
        lines.append(
            f"least regret in {objective.label}: trial {least['trial']}, at most "
            f"{least['regret']:.1%} from the best found for each scenario (the most in "
            f"{least['scenario']}: {least['value']:.6g} {objective.unit}".rstrip()
            + f", trial {best['trial']} has {best['value']:.6g})"
        )
    return lines
