"""Agreement of two rankings of the same designs."""

import numpy as np
from numpy.typing import NDArray

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
    """How many of the *count* smallest of *second* are among the *count* smallest of *first*.

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
