"""The volume that a set of points dominates up to a reference point."""

import numpy as np

from dse.rank.pareto import Points, non_dominated


def hypervolume(points: Points, reference: Points) -> float:
    """Volume of all that *points* dominate and *reference* does not exceed; minimisation.

    Args:
        points: ``(P, M)`` float64; points that are not better than the reference in every
            objective add nothing.
        reference: ``(M,)`` float64.

    Source: L. While, L. Bradstreet, L. Barone, "A Fast Way of Calculating Exact Hypervolumes",
    IEEE Trans. Evolutionary Computation 16(1), 2012 (WFG).
    """
    inside = points[(points < reference).all(axis=1)]
    if inside.shape[0] == 0:
        return 0.0
    front = inside[non_dominated(inside)]
    return _volume(front[np.argsort(front[:, 0])], reference)


def _volume(front: Points, reference: Points) -> float:
    """Hypervolume of a non-dominated front, sorted by its first objective."""
    if front.shape[1] == 1:
        return float(reference[0] - front[:, 0].min())
    if front.shape[1] == 2:
        upper = np.concatenate([reference[1:], front[:-1, 1]])
        return float(((reference[0] - front[:, 0]) * (upper - front[:, 1])).sum())
    total = 0.0
    for index in range(front.shape[0]):
        own = float(np.prod(reference - front[index]))
        limited = np.maximum(front[index + 1 :], front[index])
        if limited.shape[0]:
            limited = limited[non_dominated(limited)]
            own -= _volume(limited[np.argsort(limited[:, 0])], reference)
        total += own
    return total
