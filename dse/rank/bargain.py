"""Designs that are beaten at a bargain: much better in one objective for next to nothing.

A front may hold a design that is 0.02 % faster than another one for 5 % more money. No other beats
it in everything, yet nobody would build it. Such points are improperly efficient: what they gain by
what they give up is out of bounds (A. Geoffrion, "Proper efficiency and the theory of vector
maximization", J. Math. Anal. Appl. 22(3), 1968; here with the bound GAIN / LOSS).
"""

import numpy as np

from dse.rank.pareto import Flags, Points

GAIN = 0.01
"""Least part by which an objective has to be better."""

LOSS = 0.001
"""Part below which all other objectives have to stay worse."""


def beaten_at_a_bargain(points: Points, others: Points | None = None) -> Flags:
    """Points that another one betters by ``GAIN`` in an objective, and in none loses ``LOSS``.

    Each gain is ten times a loss, so that no circle of points beats each other: with up to ten
    objectives, the sum of logarithms falls from each to the one that beats it.

    Args:
        points: (N, M) float64, all minimised.
        others: (O, M) that may beat them; by default *points*.

    Returns:
        (N,) bool.
    """
    rivals = points if others is None else others
    found = np.zeros(len(points), np.bool_)
    for at, point in enumerate(points):
        size = np.where(point == 0, 1.0, np.abs(point))
        worse = (rivals - point) / size
        found[at] = bool(((worse < LOSS).all(axis=1) & (worse <= -GAIN).any(axis=1)).any())
    return found
