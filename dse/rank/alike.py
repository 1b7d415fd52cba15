"""Groups of values that cannot be told apart, and what choosing the best of them is worth."""

from collections.abc import Callable, Sequence
from math import exp, log
from statistics import NormalDist

Tolerance = Callable[[int, int], float]
"""Size of ln(value / value) up to which two positions are not told apart."""


def groups_of_equals(values: Sequence[float], tolerance: Tolerance) -> list[list[int]]:
    """Positions in groups, the least value first, each with all that is not told from its first.

    Not to be told apart is no equivalence: the first may be told from the third, and the second
    from neither. So a group is what its leader cannot be told from.

    Args:
        values: Above 0, to be made small.
        tolerance: Between two positions.
    """
    left = sorted(range(len(values)), key=lambda at: (values[at], at))
    groups = []
    while left:
        leader = left[0]
        near = [at for at in left if are_alike(values, leader, at, tolerance)]
        groups.append(near)
        taken = set(near)
        left = [at for at in left if at not in taken]
    return groups


def are_alike(values: Sequence[float], one: int, two: int, tolerance: Tolerance) -> bool:
    """True if two values cannot be told apart; a value and itself never can."""
    return one == two or abs(log(values[two] / values[one])) <= tolerance(one, two)


def optimism(count: int, pair_error: float, share: float) -> float:
    """Part by which the best of *count* predictions is likely to be too good.

    Of predictions that cannot be told apart, the least is that whose error happens to flatter it
    most. Errors are taken for normal and independent but for what all share; the expected least of
    n is Blom's: the quantile of (n - 3/8) / (n + 1/4).

    Args:
        count: Predictions that cannot be told apart.
        pair_error: Size of the error of ln(ratio) of two of them that *share* of pairs keep to.
        share: In (0, 1).

    Source: J. Smith, R. Winkler, "The optimizer's curse", Management Science 52(3), 2006; G. Blom,
    "Statistical Estimates and Transformed Beta-Variables", 1958.
    """
    if count < 2:
        return 0.0
    normal = NormalDist()
    deviation = pair_error / normal.inv_cdf((1 + share) / 2) / 2**0.5
    return exp(deviation * normal.inv_cdf((count - 0.375) / (count + 0.25))) - 1
