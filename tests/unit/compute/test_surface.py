"""Surfaces pass through their points, and stay between them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simcore.compute.tables.surface import NEAREST, Floats, Surface

GRID = np.array([[m, n] for m in (1, 8, 64) for n in (2, 32, 512, 1024)], float)


def scattered(points: int, seed: int) -> Floats:
    return np.exp2(np.random.default_rng(seed).uniform(0, 10, (points, 3)))


def law(at: Floats) -> Floats:
    return np.asarray(3 * at[:, 0] ** 0.3 * at[:, 1] ** -0.2)


@given(st.lists(st.floats(0.01, 100), min_size=12, max_size=12), st.integers(0, 2**32 - 1))
def test_a_grid_keeps_its_points_and_the_rest_lies_between(values: list[float], seed: int) -> None:
    known = np.array(values)
    surface = Surface(GRID, known)
    found, beyond = surface.at(GRID)
    assert np.allclose(found, known)
    assert not beyond.any()
    anywhere = np.exp2(np.random.default_rng(seed).uniform(-3, 13, (20, 2)))
    between, _ = surface.at(anywhere)
    assert (between >= known.min() * (1 - 1e-9)).all()
    assert (between <= known.max() * (1 + 1e-9)).all()


@given(st.integers(0, 2**32 - 1))
def test_between_four_points_each_counts_by_the_area_across_from_it(seed: int) -> None:
    """Bilinear interpolation of logarithms, written out."""
    random = np.random.default_rng(seed)
    known = np.exp2(random.uniform(-5, 5, (3, 4)))
    x, y = random.uniform(0, 3), random.uniform(1, 5)
    found, _ = Surface(GRID, known.ravel()).at(np.exp2([[x, y]]))
    logs, part_x, part_y = np.log2(known), x / 3, (y - 1) / 4
    low, high = ((1 - part_y) * logs[row, 0] + part_y * logs[row, 1] for row in (0, 1))
    assert np.isclose(np.log2(found[0]), (1 - part_x) * low + part_x * high)


def test_a_hole_in_a_grid_takes_what_its_row_says() -> None:
    known = GRID[:, 0] ** 0.5
    surface = Surface(np.delete(GRID, 5, axis=0), np.delete(known, 5))
    assert np.allclose(surface.at(GRID)[0], known)


def test_a_power_law_is_met_between_scattered_points_too() -> None:
    points, wanted = scattered(400, 1), scattered(50, 2)
    found, beyond = Surface(points, law(points)).at(wanted)
    errors = np.abs(found / law(wanted) - 1)[beyond == 0]
    assert errors.size > 20
    assert np.median(errors) < 0.02
    assert errors.max() < 0.15


def test_few_points_are_joined_as_they_are() -> None:
    points = scattered(NEAREST // 2, 3)
    assert np.allclose(Surface(points, np.full(len(points), 7.0)).at(scattered(9, 4))[0], 7)


def test_outside_the_border_decides_and_the_distance_is_told() -> None:
    surface = Surface(GRID, GRID[:, 1])
    found, beyond = surface.at(np.array([[64.0, 1024.0], [64.0, 4096.0], [0.25, 4096.0]]))
    assert np.allclose(found, 1024)
    assert np.allclose(beyond, [0, 2, 2])
