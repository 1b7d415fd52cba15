"""Laws of error bands: what widens them, what never does, and how many runs they hold."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.validation.bands.classes import TRAINING
from simcore.validation.bands.fit import fitted, inside_of
from simcore.validation.bands.quantile import shrunken_quantile
from simcore.validation.bands.residuals import Group
from simcore.validation.bands.spread import Constants, Spreads
from simcore.validation.bands.width import Widths

KINDS, FORMATS, NPUS = ("dense", "routed experts"), ("16-bit", "8-bit"), ("a", "b", "c")
CONSTANTS = Constants(
    base=-2.0,
    effects={
        "kind": dict.fromkeys(KINDS, 0.1),
        "number_format": {"16-bit": -0.1, "8-bit": 0.2},
        "npu": {"a": 0.3, "b": 0.0, "c": -0.3},
    },
    known=0.8,
    few=0.7,
    growth=0.05,
)


def group(levels: tuple[str, ...], source: str, *residuals: float, npus: int = 64) -> Group:
    return Group(
        levels=levels,
        source=source,
        model="m",
        parameters=1 << 30,
        npus=npus,
        residuals=residuals,
    )


LEVELS = st.tuples(
    st.sampled_from(KINDS), st.sampled_from(FORMATS), st.sampled_from(NPUS), st.just("tensor")
)
RESIDUALS = st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=5)
GROUPS = st.lists(
    st.builds(
        lambda levels, source, found: group(levels, source, *found),
        LEVELS,
        st.sampled_from("stuvw"),
        RESIDUALS,
    ),
    min_size=1,
    max_size=8,
)


def width(groups: list[Group], levels: tuple[str, ...], doublings: float = 0.0) -> float:
    place = 30.0, 6.0 + doublings
    return Widths(Spreads(TRAINING, groups), CONSTANTS).at(levels, place)


@given(groups=GROUPS, levels=LEVELS, near=st.floats(0, 10), further=st.floats(0, 10))
@settings(max_examples=100, deadline=None)
def test_what_is_farther_is_never_narrower(
    groups: list[Group], levels: tuple[str, ...], near: float, further: float
) -> None:
    assert width(groups, levels, near + further) >= width(groups, levels, near)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_that_nobody_measured_is_wider_than_one_that_was(kind: str) -> None:
    rest = ("16-bit", "a", "tensor")
    unseen = CONSTANTS.reach(TRAINING, ("nobody's", *rest))
    assert unseen > CONSTANTS.reach(TRAINING, (kind, *rest))


@given(groups=GROUPS, levels=LEVELS)
@settings(max_examples=100, deadline=None)
def test_rows_of_models_of_other_sizes_say_nothing_of_a_new_pair(
    groups: list[Group], levels: tuple[str, ...]
) -> None:
    others = [replace(one, parameters=1 << 31) for one in groups]
    reach = np.exp(CONSTANTS.reach(TRAINING, levels)) * (1 + CONSTANTS.growth)
    assert width(others, levels) >= reach * (1 - 1e-9)


@given(groups=GROUPS, levels=LEVELS)
@settings(max_examples=100, deadline=None)
def test_larger_residuals_of_a_pair_never_make_its_band_narrower(
    groups: list[Group], levels: tuple[str, ...]
) -> None:
    larger = [replace(one, residuals=tuple(2 * r for r in one.residuals)) for one in groups]
    assert width(larger, levels) >= width(groups, levels) * (1 - 1e-9)


@given(
    values=st.lists(st.floats(-3, 3), min_size=1, max_size=12),
    part=st.floats(0.05, 0.95),
    pull=st.floats(0.01, 100),
)
@settings(max_examples=200, deadline=None)
def test_a_shrunken_quantile_has_the_least_loss(
    values: list[float], part: float, pull: float
) -> None:
    rows = np.array(values)

    def loss(at: float) -> float:
        apart = rows - at
        return float(np.sum(apart * (part - (apart < 0)))) + pull * at**2 / 2

    best = shrunken_quantile(rows, np.ones(rows.size), part, pull)
    for other in (best - 0.01, best + 0.01, 0.0, *values):
        assert loss(best) <= loss(other) + 1e-9


def _world(random: np.random.Generator, sources: int) -> list[Group]:
    """Sources with biases of their own, in classes that differ in their spread by 3 times."""
    spread_of = {levels: random.uniform(0.05, 0.15) for levels in KINDS}
    found = []
    for number in range(sources):
        kind = KINDS[number % 2]
        bias = random.laplace(0, 0.5 * spread_of[kind])
        rows = random.laplace(bias, 0.7 * spread_of[kind], random.integers(1, 30))
        npu = NPUS[int(random.integers(3))]
        one = group((kind, "16-bit", npu, "tensor"), f"s{number}", *rows.tolist())
        found.append(replace(one, model=f"m{number}"))
    return found


def _coverage(seed: int) -> float:
    """Part of rows of new sources inside bands from 40 others, each source weighing alike."""
    random = np.random.default_rng(seed)
    groups = _world(random, 60)
    spreads = Spreads(TRAINING, groups)
    known = spreads.group < 40
    inside = inside_of(spreads, fitted(TRAINING, groups, known), known, ~known)[~known]
    weights = 1 / np.bincount(spreads.source)[spreads.source[~known]]
    return float(np.average(inside, weights=weights))


def test_bands_of_sources_that_nobody_has_seen_hold_four_of_five_rows() -> None:
    found = [_coverage(seed) for seed in range(6)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.05)


def test_fitted_constants_do_not_depend_on_the_order_of_groups() -> None:
    groups = _world(np.random.default_rng(1), 30)
    assert fitted(TRAINING, groups[::-1]) == fitted(TRAINING, groups)
