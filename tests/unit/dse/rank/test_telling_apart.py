"""Bargains, knees, groups of equals and the optimism of the best: geometry and statistics alone."""

from itertools import pairwise
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.rank.alike import groups_of_equals, optimism
from dse.rank.bargain import GAIN, LOSS, beaten_at_a_bargain
from dse.rank.knee import knee
from dse.rank.pareto import non_dominated
from dse.rank.progress import shares_of_volume

POINTS = st.lists(
    st.tuples(*[st.floats(0.99, 1.01), st.floats(0.9, 1.1), st.floats(0.98, 1.02)]),
    min_size=1,
    max_size=12,
).map(lambda rows: np.array(rows))


def test_a_tenth_of_a_per_mille_does_not_buy_five_per_cent() -> None:
    points = np.array([[100.0, 95.0], [99.99, 100.0], [90.0, 110.0]])
    assert beaten_at_a_bargain(points).tolist() == [False, True, False]


def test_what_costs_as_much_as_a_tenth_of_its_gain_is_no_bargain() -> None:
    points = np.array([[100.0 * (1 + 1.01 * LOSS), 100.0 * (1 - GAIN)], [100.0, 100.0]])
    assert not beaten_at_a_bargain(points).any()


@given(POINTS)
def test_something_is_left_and_beats_what_has_gone(points: np.ndarray) -> None:
    gone = beaten_at_a_bargain(points)
    assert not gone.all()
    for point in points[gone]:
        rivals = points / point - 1
        assert ((rivals < LOSS).all(axis=1) & (rivals <= -GAIN).any(axis=1)).any()


def test_the_knee_of_a_circle_is_where_both_objectives_cost_alike() -> None:
    """Das: the farthest point from the line through the ends; on a quarter circle at 45 degrees."""
    angles = np.linspace(0.0, np.pi / 2, 181)
    points = 1.0 - np.stack([np.sin(angles), np.cos(angles)], axis=1)
    assert knee(points) == 90


@given(st.floats(0.1, 10.0), st.floats(0.1, 10.0))
def test_units_do_not_move_a_knee(first: float, second: float) -> None:
    points = np.array([[1.0, 9.0], [1.2, 4.0], [2.0, 3.0], [6.0, 2.9]])
    assert knee(points * [first, second]) == knee(points) == 1


@given(st.lists(st.floats(1.0, 10.0), min_size=1, max_size=20), st.floats(0.01, 1.0))
def test_groups_hold_each_design_once_and_what_their_first_is_not_told_from(
    values: list[float], tolerance: float
) -> None:
    groups = groups_of_equals(values, lambda one, two: tolerance)
    assert sorted(at for group in groups for at in group) == list(range(len(values)))
    for group in groups:
        assert all(log(values[at] / values[group[0]]) <= tolerance for at in group)
    leaders = [values[group[0]] for group in groups]
    assert all(log(two / one) > tolerance for one, two in pairwise(leaders))


@pytest.mark.parametrize("count", [2, 5, 17, 60])
def test_the_best_of_many_is_as_optimistic_as_in_a_trial_run(count: int) -> None:
    """Errors whose pairs differ by at most 0.13 in four of five cases; equal truths."""
    deviation = 0.13 / 1.2815515655446004 / np.sqrt(2)
    errors = np.random.default_rng(0).normal(0.0, deviation, (40_000, count))
    expected = np.exp(-errors.min(axis=1).mean()) - 1
    assert optimism(count, 0.13, 0.8) == pytest.approx(expected, rel=0.05)


def test_nothing_is_optimistic_where_there_is_no_choice() -> None:
    assert optimism(1, 0.13, 0.8) == 0.0


@given(POINTS)
def test_the_volume_of_a_front_grows_to_all_of_it(points: np.ndarray) -> None:
    shares = shares_of_volume(points, range(len(points) + 1))
    assert shares[0] == 0.0
    assert shares[-1] == pytest.approx(1.0)
    assert all(b >= a - 1e-12 for a, b in pairwise(shares))
    last = int(np.flatnonzero(non_dominated(points)).max()) + 1
    assert shares[last] == pytest.approx(1.0)
