"""Quality of the front of a study as one number."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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


Values = NDArray[np.float64]


def kendall_tau(first: Values, second: Values) -> float | None:
    """Kendall's tau-b of two values of each design, ``(N,)`` each; None where one has no order.

    1: both order all pairs alike; -1: each pair the other way; pairs that are equal count half.

    Source: M. G. Kendall, "The treatment of ties in ranking problems", Biometrika 33(3), 1945.
    """
    upper = np.triu_indices(first.size, 1)
    here = np.sign(np.subtract.outer(first, first))[upper]
    there = np.sign(np.subtract.outer(second, second))[upper]
    untied = float(np.count_nonzero(here)) * float(np.count_nonzero(there))
    return float(here @ there) / untied**0.5 if untied else None


def spearman(first: Values, second: Values) -> float | None:
    """Correlation of the ranks, ``(N,)`` values each; equal values share their mean rank.

    None where one has no order.

    Source: C. Spearman, "The proof and measurement of association between two things", American
    Journal of Psychology 15(1), 1904.
    """
    here, there = (_ranks(values) - (values.size - 1) / 2 for values in (first, second))
    spread = float(here @ here) * float(there @ there)
    return float(here @ there) / spread**0.5 if spread else None


def common_best(first: Values, second: Values, count: int) -> int:
    """Number of the *count* smallest of *second* among the *count* smallest of *first*.

    Of equal values the earlier design counts as the better one.
    """
    here, there = (np.argsort(values, kind="stable")[:count] for values in (first, second))
    return int(np.isin(there, here).sum())


def _ranks(values: Values) -> Values:
    """Rank of each value from 0 on; equal ones get their mean."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    first = np.cumsum(counts) - counts
    means: Values = (first + (counts - 1) / 2)[place]
    return means
