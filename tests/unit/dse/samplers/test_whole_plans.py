"""Plans for small spaces: expected improvement, and several designs that are chosen at once."""

import numpy as np
import pytest

from dse.samplers.design import DesignSearch, Genome, GenomeSpace
from dse.samplers.design.model.features import Effects, Features
from dse.samplers.design.model.improvement import (
    Unsure,
    log_improvement,
    outlined_improvement,
)
from dse.samplers.design.model.judge import squeezed
from dse.samplers.design.model.surrogate import GaussianProcess
from dse.samplers.design.whole import every_genome
from dse.space import RunFacts, SpaceFile, build_space

FILE = {
    "axes": {
        "width": {"ladder": [1, 2, 4, 8, 16, 32]},
        "speed": {"ladder": [1, 2, 3, 4, 5]},
        "kind": {"choices": ["ring", "mesh", "tree", "cube"]},
        "order": {"choices": ["fifo", "lifo", "themis"]},
    },
}
SPACE = GenomeSpace(
    build_space(SpaceFile.model_validate(FILE), RunFacts(dimensions=0, npus=1, fixed={}))
)


def two(genome: Genome) -> tuple[float, float]:
    """Time and cost: kinds and orders depend on each other, and the best is far from the rest."""
    width, speed, kind, order = genome.codes
    time = 40.0 / (1.0 + width) + 9.0 / (1.0 + speed) + 4.0 * ((kind + order) % 3) + kind
    return time - 6.0 * (kind == 3 and order == 2), 5.0 + width * speed + 2.0 * kind


@pytest.mark.parametrize("least", [2.5, 0.3, -2.0, -7.9])
def test_the_improvement_is_the_integral_below_the_least(least: float) -> None:
    mean, deviation = 0.4, 0.7
    values = np.linspace(least - 12 * deviation, least, 200_001)
    density = np.exp(-0.5 * ((values - mean) / deviation) ** 2) / np.sqrt(2 * np.pi) / deviation
    expected = np.trapezoid((least - values) * density, values)
    found = log_improvement(least, np.array([mean]), np.array([deviation]))
    assert found[0] == pytest.approx(np.log(expected), abs=0.03)


def test_the_outline_of_an_improvement_differs_little_and_keeps_the_order() -> None:
    rng = np.random.default_rng(3)
    mean, deviation = 10.0 * rng.normal(size=900), np.exp(2.0 * rng.normal(size=900))
    found = outlined_improvement(0.0, mean, deviation)
    np.testing.assert_allclose(found, log_improvement(0.0, mean, deviation), atol=1e-4)


def taught(model: GaussianProcess, features: Features) -> np.ndarray:
    """Teach *model* a sum of effects of knobs by 90 designs; coordinates of all designs."""
    every = every_genome(SPACE)
    points, codes = features.of(every), every.codes.astype(float)
    values = codes[:, 0] + codes[:, 1] ** 2 + 3.0 * (codes[:, 2] == 2) + 5.0 * (codes[:, 3] == 1)
    some = np.random.default_rng(1).permutation(len(every))[:90]
    model.fit(points[some], values[some])
    return np.column_stack([points, values])


def test_an_outline_guesses_as_the_model_and_is_never_surer() -> None:
    features = Effects(SPACE)
    model = GaussianProcess(features.owner, features.sums)
    points = taught(model, features)[:, :-1]
    mean, deviation = model.guess(points)
    outline, unsure = model.outline(points.astype(np.float32))
    np.testing.assert_allclose(outline, mean, atol=2e-3 * model.spread)
    assert (unsure >= deviation - 2e-3 * model.spread).all()
    shortlist = Unsure([model], points)
    np.testing.assert_allclose(shortlist.means[:, 0], mean, atol=1e-9)


def test_sums_of_effects_of_knobs_are_learned_from_fewer_designs() -> None:
    errors = []
    for features in (Effects(SPACE), Features(SPACE)):
        model = GaussianProcess(features.owner, features.sums)
        told = taught(model, features)
        errors.append(np.abs(model.guess(told[:, :-1])[0] - told[:, -1]).mean())
    assert errors[0] < 0.7 * errors[1]


def test_knobs_that_are_alike_have_products_of_one() -> None:
    features, every = Effects(SPACE), every_genome(SPACE)
    behind = features.of(every)[:, features.owner.size :]
    for knob in range(4):
        own = behind[:, features.sums == knob]
        alike = own @ own.T
        same = every.codes[:, knob][:, None] == every.codes[:, knob]
        np.testing.assert_allclose(alike[same], 1.0)
        assert alike[~same].max() < (1.0 if knob < 2 else 1e-12)


def test_deviations_after_telling_points_are_those_of_a_model_that_knows_them() -> None:
    rng = np.random.default_rng(0)
    points, others, model = rng.random((40, 3)), rng.random((90, 3)), GaussianProcess(np.arange(3))
    values = np.sin(5 * points[:, 0]) + points[:, 1]
    model.fit(points, values)
    unsure = Unsure([model], others)
    np.testing.assert_allclose(unsure.deviations()[:, 0], model.guess(others)[1], rtol=1e-6)
    for at in (7, 60):
        unsure.tell(at)
    more, spread = GaussianProcess(np.arange(3)), model.spread
    more.fit(np.concatenate([points, others[[7, 60]]]), np.append(values, [0.0, 1.0]))
    wanted = more.guess(others)[1] * spread / more.spread
    np.testing.assert_allclose(unsure.deviations()[:, 0], wanted, atol=2e-3 * spread)


def test_the_better_half_is_taught_as_it_is_and_the_others_keep_their_order() -> None:
    targets = np.random.default_rng(1).normal(size=(200, 2))
    found = squeezed(targets)
    order = targets.argsort(axis=0)
    np.testing.assert_array_equal(found.argsort(axis=0), order)
    for column, own, taught in zip(order.T, targets.T, found.T, strict=True):
        np.testing.assert_array_equal(taught[column[:100]], own[column[:100]])
        assert np.ptp(taught[column[101:]]) == pytest.approx(0.2 * np.ptp(own[column[101:]]))
    few = targets[:60]
    np.testing.assert_array_equal(squeezed(few), few)


@pytest.mark.parametrize("seed", range(2))
def test_a_search_of_a_small_space_meets_both_ends_of_the_front(seed: int) -> None:
    search, asked = DesignSearch(SPACE, seed=seed), list[Genome]()
    for _ in range(90):
        genome = search.ask()
        assert genome is not None
        asked.append(genome)
        search.tell(genome, two(genome), 0.0)
    assert len(set(asked)) == len(asked)
    every = np.array([two(genome) for genome in every_genome(SPACE).each()])
    found = np.array([two(genome) for genome in asked])
    assert len(every) == 360
    np.testing.assert_allclose(found.min(axis=0), every.min(axis=0))
