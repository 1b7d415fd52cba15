"""Rows of a study that may be compared with each other: those of one fidelity.

A study's rows are its proposals, judged at the first level, and after them the designs that were
judged again, level by level. A row tells its level by its ``fidelity``.
"""

from collections.abc import Sequence

from dse.study.compile import Study
from dse.study.trials import Trial


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
