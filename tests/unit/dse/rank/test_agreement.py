"""How far two rankings agree."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dse.rank.quality import common_best, kendall_tau, spearman


def plain_tau(first: Any, second: Any) -> float:
    pairs = list(combinations(range(len(first)), 2))
    signs = [(np.sign(first[j] - first[i]), np.sign(second[j] - second[i])) for i, j in pairs]
    score = sum(a * b for a, b in signs)
    sizes = [sum(sign[side] != 0 for sign in signs) for side in (0, 1)]
    return float(score / (sizes[0] * sizes[1]) ** 0.5)


@pytest.mark.parametrize("draw", [lambda r: r.random(12), lambda r: r.integers(0, 4, 12) * 1.0])
def test_rank_correlations_are_those_of_their_definitions(
    draw: Callable[[np.random.Generator], np.ndarray],
) -> None:
    random = np.random.default_rng(5)
    for _ in range(20):
        first, second = draw(random), draw(random)
        assert kendall_tau(first, second) == pytest.approx(plain_tau(first, second))
        assert kendall_tau(first, second) == pytest.approx(
            stats.kendalltau(first, second).statistic
        )
        assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)


def test_rankings_without_order_have_no_correlation() -> None:
    same, rising = np.ones(4), np.arange(4.0)
    assert kendall_tau(same, rising) is spearman(rising, same) is None
    assert kendall_tau(rising, -rising) == spearman(rising, -rising) == -1
    assert kendall_tau(np.zeros(0), np.zeros(0)) is None
    assert common_best(rising, -rising, 2) == 0
    assert common_best(same, rising, 2) == 2
