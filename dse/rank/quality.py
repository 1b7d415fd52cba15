"""Quality of the front of a study as one number."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dse.rank.hypervolume import hypervolume
from dse.rank.pareto import Points, non_dominated

MARGIN = 1.1
"""The reference point lies this factor beyond the worst feasible value of each objective."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """The front of a study and the volume that it dominates.

    Attributes:
        front: ``(P,)`` positions of the non-dominated points, by the first objective.
        reference: Reference point in the objectives' own units, or None without a point.
        hypervolume: Dominated volume, or None without a point.
        axes: ``log10`` if all values are above 0, else ``linear``.
    """

    front: tuple[int, ...]
    reference: tuple[float, ...] | None
    hypervolume: float | None
    axes: str


def reference_point(values: Points, signs: Sequence[int]) -> tuple[float, ...]:
    """``MARGIN`` times the worst of *values*, ``(P, M)``, per objective (maximised: divided)."""
    sign = np.asarray(signs, dtype=np.float64)
    worst = (values * sign).max(axis=0) * sign
    grow = np.where((worst > 0) == (sign > 0), MARGIN, 1 / MARGIN)
    return tuple(float(value) for value in worst * grow)


def study_quality(
    values: Points, signs: Sequence[int], reference: Sequence[float] | None = None
) -> Quality:
    """Front and hypervolume of feasible points.

    Args:
        values: ``(P, M)`` float64, objectives in their own units.
        signs: +1 for each objective that is minimised, -1 for each that is maximised.
        reference: Reference point in the objectives' own units; by default
            ``reference_point(values, signs)``.
    """
    if values.shape[0] == 0:
        return Quality(front=(), reference=None, hypervolume=None, axes="log10")
    sign = np.asarray(signs, dtype=np.float64)
    front = np.flatnonzero(non_dominated(values * sign))
    front = front[np.lexsort((front, values[front, 0] * sign[0]))]
    corner = tuple(reference) if reference is not None else reference_point(values, signs)
    is_log = bool((values > 0).all()) and all(value > 0 for value in corner)
    scale = np.log10 if is_log else np.asarray
    volume = hypervolume(scale(values[front]) * sign, scale(np.asarray(corner)) * sign)
    return Quality(
        front=tuple(int(index) for index in front),
        reference=corner,
        hypervolume=volume,
        axes="log10" if is_log else "linear",
    )
