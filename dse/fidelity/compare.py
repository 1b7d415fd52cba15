"""Agreement of the levels of a study on the designs that both have judged."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.fidelity.promote import Promotion, minimised, promotion
from dse.rank.pareto import non_dominated
from dse.rank.quality import common_best, kendall_tau, spearman
from dse.study.compile import Study
from dse.study.trials import Trial

Floats = NDArray[np.float64]

TRUSTED = 0.5
"""Kendall's tau below which a level's ranking is not to be trusted: more than every fourth pair of
designs is the other way round at the finer level."""

BEST = 5
"""Designs in whose choice two levels are compared."""

FEWEST = 5
"""Designs below which nothing is said about rankings."""


def fidelity_summary(study: Study, rows: Sequence[Trial]) -> dict[str, Any]:
    """Entry ``fidelity`` of ``summary.json``; nothing where there is one level."""
    if len(study.levels) < 2:
        return {}
    steps, below, settled = [], searched_rows(study, rows), list[Trial]()
    for coarse, fine in zip(study.levels, study.levels[1:], strict=False):
        chosen, found = promotion(study, below), refined_rows(rows, fine)
        promoted = {row.number for row in chosen.rows}
        above = [row for row in found if row.number in promoted]
        settled = [row for row in found if row.number not in promoted]
        steps.append({"from": coarse, "to": fine, **_step(study, below, above, chosen)})
        below = found
    is_best = _front(study, [row for row in below if row.is_feasible])
    return {
        "fidelity": {
            "levels": list(study.file.search.fidelity),
            "searched": study.levels[0],
            "front": front_fidelity(study, rows),
            "steps": steps,
            "settled": len(settled),
            "settled_on_front": sum(row.number in is_best for row in settled),
            "most_settled": study.file.search.settle,
        }
    }


def _step(
    study: Study, below: Sequence[Trial], above: Sequence[Trial], chosen: Promotion
) -> dict[str, Any]:
    """Differences of a level to the one below, on those that were *chosen* there.

    Rankings are told only where no design that was to be judged has failed: whether those that
    survive are ranked alike says nothing of those that do not.
    """
    coarse = {row.number: row for row in below}
    failed = [row for row in above if row.state == "failed"]
    fine = [row for row in above if row.is_feasible]
    here = minimised(study, [coarse[row.number] for row in fine])
    there = minimised(study, fine)
    found = {
        name: _agreement(here[:, place], there[:, place])
        for place, name in enumerate(study.goals.objectives)
        if (here[:, place] != there[:, place]).any()
    }
    is_ranked = len(fine) >= FEWEST and not failed
    if is_ranked:
        for place, name in enumerate(study.goals.objectives):
            if name in found:
                found[name] |= _ranking(here[:, place], there[:, place])
    taus = [one["kendall_tau"] for one in found.values() if one.get("kendall_tau") is not None]
    front_here, front_there = _front(study, chosen.rows), _front(study, fine)
    controls = {row.number for row in chosen.controls}
    return {
        "promoted": len(chosen.rows),
        "judged": len(above) - len(failed),
        "failed": len(failed),
        "feasible": len(fine),
        "infeasible": [
            {"trial": row.number, "reason": row.evaluation.reason}
            for row in above
            if row.state == "infeasible"
        ],
        "objectives": found,
        "front_size": len(front_here),
        "front_kept": len(front_here & front_there),
        "controls": len(controls),
        "controls_on_front": len(controls & front_there),
        "trusted": min(taus, default=1.0) >= TRUSTED if is_ranked else None,
    }


def _front(study: Study, rows: Sequence[Trial]) -> set[int]:
    """Numbers of the non-dominated ones of feasible *rows* of one level."""
    is_best = non_dominated(minimised(study, rows)).tolist()
    return {row.number for row, best in zip(rows, is_best, strict=True) if best}


def _agreement(here: Floats, there: Floats) -> dict[str, Any]:
    ratios = there / np.where(here == 0, np.nan, here)
    return {
        "compared": here.size,
        "least_ratio": _number(ratios.min()),
        "median_ratio": _number(np.median(ratios)),
        "largest_ratio": _number(ratios.max()),
    }


def _ranking(here: Floats, there: Floats) -> dict[str, Any]:
    count = min(BEST, here.size)
    return {
        "kendall_tau": kendall_tau(here, there),
        "spearman": spearman(here, there),
        "best": count,
        "best_in_common": common_best(here, there, count),
    }


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def searched_rows(study: Study, rows: Sequence[Trial]) -> Sequence[Trial]:
    """The proposals among *rows*."""
    finer = study.levels[1:]
    return [row for row in rows if row.evaluation.fidelity not in finer] if finer else rows


def refined_rows(rows: Sequence[Trial], level: str) -> list[Trial]:
    """The rows that were judged at one of the finer levels."""
    return [row for row in rows if row.evaluation.fidelity == level]


def front_fidelity(study: Study, rows: Sequence[Trial]) -> str:
    """The finest level with a feasible row, which alone decides; empty where none are named."""
    first, finer = next(iter(study.levels), ""), study.levels[1:]
    if not finer:
        return first
    found = {row.evaluation.fidelity for row in rows if row.is_feasible}
    return next((level for level in reversed(finer) if level in found), first)


def compared_rows(study: Study, rows: Sequence[Trial]) -> list[tuple[int, Trial]]:
    """The feasible rows of the level that decides, no repeats, with their positions in *rows*."""
    level = front_fidelity(study, rows)
    return [
        (place, row)
        for place, row in enumerate(rows)
        if row.is_feasible and row.repeats is None and level in ("", row.evaluation.fidelity)
    ]
