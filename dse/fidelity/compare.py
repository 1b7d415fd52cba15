"""How far the levels of a study agree on the designs that both have judged."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dse.config import Study
from dse.fidelity.promote import promotion
from dse.fidelity.ranking import front_fidelity, refined_rows, searched_rows
from dse.rank import non_dominated
from dse.rank.agreement import common_best, kendall_tau, spearman
from dse.trials import Trial

TRUSTED = 0.5
"""Kendall's tau below which a level's ranking is not to be trusted: more than every fourth pair of
designs is the other way round at the finer level."""

BEST = 5
"""Designs in whose choice two levels are compared."""

FEWEST = 5
"""Designs below which nothing is said about rankings."""


def fidelity_summary(study: Study, rows: Sequence[Trial]) -> dict[str, Any]:
    """What ``summary.json`` says under ``fidelity``; nothing where there is one level."""
    if len(study.levels) < 2:
        return {}
    steps, below = [], searched_rows(study, rows)
    for coarse, fine in zip(study.levels, study.levels[1:], strict=False):
        above = refined_rows(rows, fine)
        steps.append({"from": coarse, "to": fine, **_step(study, below, above)})
        below = above
    return {
        "fidelity": {
            "levels": list(study.file.search.fidelity),
            "searched": study.levels[0],
            "front": front_fidelity(study, rows),
            "steps": steps,
        }
    }


def _step(study: Study, below: Sequence[Trial], above: Sequence[Trial]) -> dict[str, Any]:
    coarse = {row.number: row for row in below}
    both = [(coarse[row.number], row) for row in above if row.is_feasible]
    names = list(study.goals.objectives)
    here, there = (
        np.array(
            [[pair[side].evaluation.objectives[name] for name in names] for pair in both],
            np.float64,
        ).reshape(-1, len(names))
        * study.goals.signs
        for side in (0, 1)
    )
    front_here, front_there = non_dominated(here), non_dominated(there)
    chosen = promotion(study, below)
    controls = {row.number for row in chosen.controls}
    is_control = np.array([row.number in controls for _, row in both], np.bool_)
    found = {
        name: _agreement(here[:, place], there[:, place])
        for place, name in enumerate(names)
        if (here[:, place] != there[:, place]).any()
    }
    taus = [one["kendall_tau"] for one in found.values() if one["kendall_tau"] is not None]
    enough = len(both) >= FEWEST
    return {
        "promoted": len(chosen.rows),
        "judged": len(above),
        "feasible": len(both),
        "infeasible": [_reason(row) for row in above if row.state == "infeasible"],
        "not_run": [_reason(row) for row in above if row.state == "failed"],
        "objectives": found,
        "front_size": int(front_here.sum()),
        "front_kept": int((front_here & front_there).sum()),
        "controls": int(is_control.sum()),
        "controls_on_front": int((is_control & front_there).sum()),
        "trusted": min(taus, default=1.0) >= TRUSTED if enough else None,
    }


def _agreement(here: Any, there: Any) -> dict[str, float | int | None]:
    ratios = there / np.where(here == 0, np.nan, here)
    count = min(BEST, here.size)
    return {
        "kendall_tau": kendall_tau(here, there),
        "spearman": spearman(here, there),
        "best": count,
        "best_in_common": common_best(here, there, count),
        "least_ratio": _number(ratios.min()),
        "median_ratio": _number(np.median(ratios)),
        "largest_ratio": _number(ratios.max()),
    }


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _reason(row: Trial) -> dict[str, object]:
    return {"trial": row.number, "reason": row.evaluation.reason}
