"""The front and the summary of a study."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse.fidelity.compare import compared_rows, fidelity_summary, searched_rows
from dse.fidelity.promote import minimised
from dse.objectives import OBJECTIVES
from dse.proof.left_out import gap_note
from dse.rank.bargain import beaten_at_a_bargain
from dse.rank.quality import MARGIN, Quality, study_quality
from dse.results.failures import failure_summary
from dse.results.notes import notes_summary
from dse.results.regret import regret_summary
from dse.study.compile import Study
from dse.study.counts import Tally
from dse.study.trials import Trial


def study_front(study: Study, rows: Sequence[Trial]) -> Quality:
    """Front (as positions in *rows*) and hypervolume of the feasible trials of one level.

    The front is that of the designs that no other beats, not even at a bargain; the hypervolume is
    that of all that no other dominates.
    """
    quality = non_dominated_rows(study, rows)
    beaten = beaten_at_a_bargain(minimised(study, [rows[place] for place in quality.front]))
    pairs = zip(quality.front, beaten.tolist(), strict=True)
    return replace(quality, front=tuple(place for place, is_beaten in pairs if not is_beaten))


def non_dominated_rows(study: Study, rows: Sequence[Trial]) -> Quality:
    """Positions in *rows* of those that no other dominates, of one level, and their hypervolume."""
    found = compared_rows(study, rows)
    names, places = list(study.goals.objectives), [place for place, _ in found]
    values = [[row.evaluation.objectives[name] for name in names] for _, row in found]
    points = np.asarray(values, dtype=np.float64).reshape(len(values), len(study.goals.signs))
    quality = study_quality(points, study.goals.signs, study.reference)
    return replace(quality, front=tuple(places[index] for index in quality.front))


def study_summary(
    study: Study, rows: Sequence[Trial], quality: Quality, *, duplicates: int, wall_s: float
) -> dict[str, Any]:
    """Content of ``summary.json``.

    Args:
        study: What was asked.
        rows: All trials; counted are those at the first level, and the failed ones of every level.
        quality: Of *rows*.
        duplicates: Proposals of a known design, those that took no row included.
        wall_s: Time from start to end.
    """
    tally = tally_of(study, searched_rows(study, rows))
    front = [rows[place] for place in quality.front]
    compared = [row for _, row in compared_rows(study, rows)]
    failures = failure_summary(rows)
    reference = None
    if quality.reference is not None:
        reference = dict(zip(study.goals.objectives, quality.reference, strict=True))
    rule = "given by the study file"
    if study.reference is None:
        rule = f"{MARGIN} x the worst feasible value of this study, per objective"
    return {
        "proposals": tally.proposals,
        "evaluated": tally.evaluated,
        "infeasible": tally.infeasible,
        "pruned": tally.pruned,
        "failed": sum(len(one["trials"]) for one in failures),
        "duplicates": duplicates,
        "front_size": len(quality.front),
        "hypervolume": quality.hypervolume,
        "hypervolume_axes": quality.axes,
        "reference_point": reference,
        "reference_point_rule": rule,
        "best": tally_of(study, compared).best,
        "senses": dict(study.goals.objectives),
        "units": {name: OBJECTIVES[name].unit for name in study.goals.objectives},
        "evaluations_per_s": _done(rows) / wall_s if wall_s > 0 else None,
        "wall_s": wall_s,
        "seed": study.file.seed,
        "workers": study.file.execution.workers,
        "executor": study.file.execution.executor,
        "sampler": study.file.search.sampler,
        "evaluator": study.file.evaluator,
        "failures": failures,
        **fidelity_summary(study, rows),
        **regret_summary(study, compared, front),
        **notes_summary(front) | gap_note(study),
    }


def tally_of(study: Study, rows: Iterable[Trial]) -> Tally:
    """Counts and best values of *rows*."""
    tally, signs = Tally(), dict(zip(study.goals.objectives, study.goals.signs, strict=True))
    for row in rows:
        tally.add(row, signs)
    return tally


def _done(rows: Sequence[Trial]) -> int:
    """Number of *rows* that were evaluated and repeat none."""
    return sum(row.repeats is None for row in rows)
