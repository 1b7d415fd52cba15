"""The front and the summary of a study."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dse.config import Study
from dse.objectives import OBJECTIVES
from dse.rank import MARGIN, Quality, study_quality
from dse.trials import Tally, Trial


def study_front(study: Study, rows: Sequence[Trial]) -> Quality:
    """Front (as positions in *rows*) and hypervolume of the feasible trials."""
    places, values = _feasible_values(study, rows)
    points = np.asarray(values, dtype=np.float64).reshape(len(values), len(study.goals.signs))
    quality = study_quality(points, study.goals.signs, study.reference)
    return Quality(
        front=tuple(places[index] for index in quality.front),
        reference=quality.reference,
        hypervolume=quality.hypervolume,
        axes=quality.axes,
    )


def study_summary(
    study: Study, rows: Sequence[Trial], quality: Quality, *, duplicates: int, wall_s: float
) -> dict[str, Any]:
    """What ``summary.json`` holds.

    Args:
        study: What was asked.
        rows: All trials.
        quality: Of *rows*.
        duplicates: Proposals of a known design, those that took no row included.
        wall_s: Time from start to end.
    """
    tally = Tally()
    for row in rows:
        tally.add(row, dict(zip(study.goals.objectives, study.goals.signs, strict=True)))
    done = sum(row.repeats is None for row in rows)
    reference = None
    if quality.reference is not None:
        reference = dict(zip(study.goals.objectives, quality.reference, strict=True))
    rule = "given by the study file"
    if study.reference is None:
        rule = f"{MARGIN} x the worst feasible value of this study, per objective"
    return {
        "proposals": len(rows),
        "evaluated": tally.evaluated,
        "infeasible": tally.infeasible,
        "pruned": tally.pruned,
        "failed": tally.failed,
        "duplicates": duplicates,
        "front_size": len(quality.front),
        "hypervolume": quality.hypervolume,
        "hypervolume_axes": quality.axes,
        "reference_point": reference,
        "reference_point_rule": rule,
        "best": tally.best,
        "units": {name: OBJECTIVES[name].unit for name in study.goals.objectives},
        "evaluations_per_s": done / wall_s if wall_s > 0 else None,
        "wall_s": wall_s,
        "seed": study.file.seed,
        "workers": study.file.execution.workers,
        "executor": study.file.execution.executor,
        "sampler": study.file.search.sampler,
        "evaluator": study.file.evaluator,
    }


def _feasible_values(study: Study, rows: Sequence[Trial]) -> tuple[list[int], list[list[float]]]:
    """Positions of the feasible trials that are no repeats, and their objectives."""
    places = [i for i, row in enumerate(rows) if row.is_feasible and row.repeats is None]
    names = list(study.goals.objectives)
    values = [[rows[i].evaluation.objectives[name] for name in names] for i in places]
    return places, values
