"""The designs that the page holds: all, or of many the best and a sample."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dse.fidelity.compare import front_fidelity, searched_rows
from dse.fidelity.promote import minimised
from dse.results.result import StudyResult
from dse.study.trials import Trial

MOST = 4000
"""Designs that a page holds at most; of a larger study half are the best, half a sample."""

FRONT, FEASIBLE, COARSER, BASELINE = "front", "feasible", "coarser", "baseline"
"""Kinds of designs: on the front, off it, judged at a coarser level alone, and the run as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Designs of the page.

    Attributes:
        rows: The designs, the front first, in its order, the baseline last.
        kinds: One kind for each.
        told: Sentences on what is left out and on kinds that need one.
    """

    rows: tuple[Trial, ...]
    kinds: tuple[str, ...]
    told: tuple[str, ...]


def chosen_rows(result: StudyResult) -> Chosen:
    """The front, then other feasible designs in ask order, and last the baseline, if there is one.

    Where designs were judged at several levels, those that only a coarser one knows are kept apart.
    """
    front = [result.rows[at] for at in result.front]
    on_front = {row.number for row in front}
    feasible = [row for row in result.compared if row.number not in on_front]
    coarser = _coarser(result, on_front | {row.number for row in feasible})
    others = [*feasible, *coarser]
    room = max(MOST - len(front), 0)
    kept = others if len(others) <= room else _best_and_sampled(result, others, room)
    finer = {row.number for row in feasible}
    kinds = [FEASIBLE if row.number in finer else COARSER for row in kept]
    found = result.baseline
    baseline = [found] if found is not None and found.evaluation.objectives else []
    return Chosen(
        rows=(*front, *kept, *baseline),
        kinds=(*[FRONT] * len(front), *kinds, *[BASELINE] * len(baseline)),
        told=tuple(_told(result, len(kept), len(others), coarser)),
    )


def _coarser(result: StudyResult, known: set[int]) -> list[Trial]:
    """Feasible proposals that the level of the front has not judged."""
    level = front_fidelity(result.study, result.rows)
    if not level or level == next(iter(result.study.levels), ""):
        return []
    finer = {row.number for row in result.rows if row.evaluation.fidelity == level} | known
    rows = searched_rows(result.study, result.rows)
    return [r for r in rows if r.is_feasible and r.repeats is None and r.number not in finer]


def _best_and_sampled(result: StudyResult, rows: Sequence[Trial], room: int) -> list[Trial]:
    """Half the room for the designs nearest to the best, half for every so manieth of the rest."""
    points = minimised(result.study, rows)
    ranks = points.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    # near the front in its worst objective, so that no single one makes a design near
    order = ranks.max(axis=1).argsort(kind="stable")
    best, rest = order[: room // 2], np.sort(order[room // 2 :])
    sample = rest[np.linspace(0, rest.size - 1, room - best.size).astype(np.int64)]
    return [rows[at] for at in sorted({*best.tolist(), *sample.tolist()})]


def _told(result: StudyResult, kept: int, others: int, coarser: Sequence[Trial]) -> list[str]:
    told = []
    if kept < others:
        told.append(
            f"The pictures hold the whole front and {kept:,} of {others:,} other feasible designs: "
            "half of them are the best in their weakest objective, half a sample. The whole table "
            "is trials.parquet."
        )
    if coarser:
        told.append(
            f"{len(coarser):,} designs were judged at {result.study.levels[0]} alone, and are drawn"
            f" with the values that they have there; the front was judged at "
            f"{front_fidelity(result.study, result.rows)}."
        )
    return told
