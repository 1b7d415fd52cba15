"""Growth of a front: the hypervolume that it has gained since it was smaller."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dse.rank.hypervolume import hypervolume
from dse.rank.pareto import Points, non_dominated

REACH = 1.1
"""The reference point lies this factor beyond the worst of the front in each objective.

That of a study's hypervolume lies beyond the worst feasible design, often a hundred times as bad,
and would show no progress that matters.
"""

LATEST = 3
"""The latest third of the proposals says whether a search still improves."""

NOTHING = 0.01
"""Share of the hypervolume of the front below which a gain is none."""


class Gain(NamedTuple):
    """Gain of the latest proposals of a search.

    Attributes:
        last: How many they are.
        share: Part of the hypervolume of the front that came in them, from 0 to 1.
    """

    last: int
    share: float

    @property
    def is_settled(self) -> bool:
        """True if it is none."""
        return self.share < NOTHING


def latest_gain(points: Points, numbers: Sequence[int], proposals: int) -> Gain:
    """Gain of the latest third of *proposals*: what ends a search, and what a reader is told.

    Args:
        points: (N, M) float64, all minimised, of the feasible designs in the order of proposing.
        numbers: Of their proposals, rising.
        proposals: All that have an outcome, the infeasible ones included.
    """
    last = max(1, proposals // LATEST)
    before = sum(number < proposals - last for number in numbers)
    if not before:
        return Gain(last, 1.0)
    return Gain(last, 1.0 - shares_of_volume(points, [before])[0])


def shares_of_volume(points: Points, counts: Sequence[int], reach: float = REACH) -> list[float]:
    """Hypervolume of the first points by that of all, from 0 to 1.

    Logarithms are taken of objectives that are above 0 throughout, so that one per cent counts
    alike everywhere.

    Args:
        points: (N, M) float64, all minimised, in the order in which they were found; N >= 1.
        counts: Numbers of points from the first one on, up to N.
        reach: The reference point lies this factor beyond the worst of the front.
    """
    front = points[non_dominated(points)]
    positive = (points > 0).all(axis=0)
    corner = np.where(positive, np.log(reach), 0.0)
    values = np.where(positive, np.log(np.where(points > 0, points, 1.0)), points)
    ends = values[non_dominated(points)]
    spread = (reach - 1) * np.maximum(np.ptp(front, axis=0), np.abs(ends).max(axis=0))
    reference = ends.max(axis=0) + np.where(positive, corner, np.maximum(spread, 1e-12))
    whole = hypervolume(ends, reference)
    return [hypervolume(values[:count], reference) / whole for count in counts]
