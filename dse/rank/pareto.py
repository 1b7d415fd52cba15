"""The non-dominated points of a set."""

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]


def non_dominated(points: Points) -> NDArray[np.bool_]:
    """Which points no other point dominates; all objectives are minimised.

    Args:
        points: ``(P, M)`` float64, finite.

    Returns:
        ``(P,)`` bool. Of equal points the first one counts as non-dominated.
    """
    keep = np.zeros(points.shape[0], dtype=bool)
    order = np.lexsort(points.T[::-1])  # a point can only be dominated by one before it
    front = np.empty_like(points)
    size = 0
    for index in order:
        point = points[index]
        if size and bool((front[:size] <= point).all(axis=1).any()):
            continue
        front[size] = point
        size += 1
        keep[index] = True
    return keep
