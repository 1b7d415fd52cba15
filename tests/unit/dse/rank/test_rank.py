from typing import Any

import numpy as np
import pytest

from dse.rank import pareto
from dse.rank.hypervolume import hypervolume
from dse.rank.pareto import Front, foremost, fronts, non_dominated
from dse.rank.quality import reference_point, study_quality


def plain_non_dominated(points: np.ndarray) -> list[bool]:
    return [not any((q <= p).all() and (q < p).any() for q in points) for p in points]


@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
def test_the_front_is_what_the_definition_says(objectives: int) -> None:
    points = np.random.default_rng(objectives).random((200, objectives))
    assert non_dominated(points).tolist() == plain_non_dominated(points)


def test_of_equal_points_the_first_is_on_the_front() -> None:
    points = np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0], [2.0, 1.0]])
    assert non_dominated(points).tolist() == [True, False, True, False]


@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_the_front_of_a_stream_keeps_and_beats_what_the_definition_says(objectives: int) -> None:
    rng = np.random.default_rng(objectives)
    points = rng.choice([-np.inf, -0.0, 0.0, 1.0, 2.0, 3.0, 4.0, np.inf], (300, objectives))
    front, kept = Front[int](), list[int]()
    for at, point in enumerate(points):
        is_beaten = any((points[k] <= point).all() and (points[k] < point).any() for k in kept)
        assert front.beats(point) is is_beaten
        is_new = not any((points[k] <= point).all() for k in kept)
        if is_new:
            kept = [k for k in kept if not (point <= points[k]).all()] + [at]
        assert front.add(at, point.tolist()) is is_new
        assert front.kept == kept
        assert (front.points == points[kept]).all()


@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_fronts_are_those_of_the_definition(objectives: int) -> None:
    values = np.random.default_rng(0).integers(0, 6, (60, objectives)).astype(float)
    left, expected = list(range(60)), np.zeros(60, np.int64)
    for number in range(60):
        first = [
            i
            for i in left
            if not any(
                (values[j] <= values[i]).all() and ((values[j] < values[i]).any() or j < i)
                for j in left
                if j != i
            )
        ]
        expected[first] = number
        left = [i for i in left if i not in first]
    assert fronts(values, 60).tolist() == expected.tolist()
    assert (
        fronts(values, 2).tolist()
        == (expected if objectives < 3 else expected.clip(max=2)).tolist()
    )


@pytest.mark.parametrize("values", [3, 12, 1000])
@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
def test_the_foremost_points_are_the_first_ones_front_by_front(
    objectives: int, values: int
) -> None:
    rng = np.random.default_rng(values)
    for size in (0, 1, 70, 900):
        points = rng.integers(0, values, (size, objectives)).astype(float)
        order = np.argsort(fronts(points, 3), kind="stable").tolist()
        for count in (0, 1, 10, 64, 2000):
            assert foremost(points, count, 3).tolist() == order[:count]


def _point_by_point(points: pareto.Points, count: int, most: int) -> Any:
    """``foremost`` as told: each front is what no other point beats, found pair by pair."""
    rows, found = points.tolist(), list[int]()
    left, told = list(range(len(rows))), 0

    def beats(one: int, other: int) -> bool:
        is_no_worse = all(a <= b for a, b in zip(rows[one], rows[other], strict=True))
        return is_no_worse and (rows[one] != rows[other] or one < other)

    while left and len(found) < count and (points.shape[1] <= 2 or told < most):
        first = [own for own in left if not any(beats(other, own) for other in left)]
        found, told = found + first, told + 1
        left = [own for own in left if own not in set(first)]
    return [*found, *left][:count]


def _some_points(rng: np.random.Generator, size: int, objectives: int) -> Any:
    """Points with twins, ties and infinite values now and then, or one long front."""
    values = [0.0, -0.0, 1.0, np.inf, -np.inf, *rng.normal(size=rng.integers(20))]
    kind = rng.integers(3)
    if kind == 0:
        return rng.choice(values, (size, objectives))
    points = np.round(rng.random((size, objectives)), rng.integers(1, 9))
    if kind == 1:
        points[:, -1] = -points[:, 0]
    points[rng.random(size) < rng.random() / 2] = points[:1]
    return points


@pytest.mark.parametrize("sample", [2, 5, 16])
def test_the_foremost_of_many_are_found_without_looking_at_all(
    sample: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pareto, "_SAMPLE", sample)
    rng = np.random.default_rng(sample)
    for _ in range(100):
        points = _some_points(rng, int(rng.integers(1, 90)), int(rng.integers(1, 5)))
        count, most = int(rng.integers(0, 99)), int(rng.integers(1, 5))
        expected = _point_by_point(points, count, most)
        assert foremost(points, count, most).tolist() == expected


@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
def test_the_foremost_of_ten_thousand_are_those_of_their_fronts(objectives: int) -> None:
    points = np.round(np.random.default_rng(objectives).random((10_000, objectives)), 2)
    ranks = fronts(points, 2)
    assert foremost(points, 64, 2).tolist() == np.argsort(ranks, kind="stable")[:64].tolist()


@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
def test_a_front_is_the_same_whether_points_come_at_once_or_one_by_one(objectives: int) -> None:
    points = np.random.default_rng(1).integers(0, 40, (3000, objectives)).astype(float)
    one, many = Front[int](), Front[int]()
    for at, point in enumerate(points):
        one.add(at, point)
    many.add_all(range(500), points[:500])
    many.add_all(range(500, 3000), points[500:])
    assert many.kept == one.kept
    assert many.points.tolist() == one.points.tolist()


def test_a_front_of_a_stream_keeps_what_nothing_beats_and_the_first_of_twins() -> None:
    front: Front[str] = Front()
    points = {"a": (2.0, 2.0), "b": (1.0, 3.0), "twin of b": (1.0, 3.0), "beats a": (2.0, 1.0)}
    assert [front.add(name, point) for name, point in points.items()] == [True, True, False, True]
    assert front.kept == ["b", "beats a"]
    assert front.points.tolist() == [[1.0, 3.0], [2.0, 1.0]]


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([[0.5, 0.5]], 0.25),
        ([[0.2, 0.6], [0.6, 0.2]], 0.8 * 0.4 + 0.4 * 0.4),
        ([[0.0, 0.0, 0.0]], 1.0),
        ([[0.5, 0.0, 0.0], [0.0, 0.5, 0.0]], 0.75),
        ([[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]], 0.875),
        ([[2.0, 0.5]], 0.0),
    ],
)
def test_hypervolume_of_boxes(points: list[list[float]], expected: float) -> None:
    array = np.array(points)
    assert hypervolume(array, np.ones(array.shape[1])) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_hypervolume_agrees_with_counting_random_points(objectives: int) -> None:
    random = np.random.default_rng(7)
    points = random.random((12, objectives))
    draws = random.random((40_000, objectives))
    dominated = np.all(points[None, :, :] <= draws[:, None, :], axis=2).max(axis=1).mean()
    volume = hypervolume(points, np.ones(objectives))
    assert volume == pytest.approx(dominated, abs=0.012)


def test_the_reference_point_lies_a_tenth_beyond_the_worst() -> None:
    values = np.array([[1.0, 0.5], [2.0, 0.25]])
    assert reference_point(values, (1, -1)) == pytest.approx((2.2, 0.25 / 1.1))


def test_a_maximised_objective_is_mirrored() -> None:
    values = np.array([[1.0, 0.5], [2.0, 0.8], [3.0, 0.4]])
    quality = study_quality(values, (1, -1))
    assert quality.front == (0, 1)
    assert quality.hypervolume is not None
    assert quality.hypervolume > 0


def test_without_a_feasible_point_there_is_no_volume() -> None:
    quality = study_quality(np.empty((0, 2)), (1, 1))
    assert (quality.front, quality.hypervolume, quality.reference) == ((), None, None)
