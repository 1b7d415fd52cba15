"""The knee of a front: where a little more of one objective stops buying much of the others."""

import numpy as np
from numpy.typing import NDArray

from dse.rank.pareto import Points


def scaled(points: Points) -> NDArray[np.float64]:
    """Points, (P, M), all minimised, from 0, the best of each objective, to 1, its worst.

    Logarithms are scaled where all values of an objective are above 0, so that a factor counts
    alike wherever it stands.
    """
    positive = (points > 0).all(axis=0)
    values = np.where(positive, np.log(np.where(points > 0, points, 1.0)), points)
    low = values.min(axis=0)
    span = values.max(axis=0) - low
    return np.asarray((values - low) / np.where(span > 0, span, 1.0))


def knee(points: Points) -> int:
    """Position of the point farthest below the plane through the ends of a front, (P, M).

    Of equal ones the first. A front of two points or fewer has no knee but its first.

    Source: I. Das, "On characterizing the 'knee' of the Pareto curve based on normal-boundary
    intersection", Structural Optimization 18, 1999; the ends are taken for the unit points of the
    scaled objectives.
    """
    return int(np.round(scaled(points).sum(axis=1), 12).argmin())
