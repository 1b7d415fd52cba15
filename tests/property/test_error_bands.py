"""Laws of error bands: what widens them, what never does, and how many runs they hold."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.validation.bands.classes import TRAINING
from simcore.validation.bands.fit import fitted, left_out
from simcore.validation.bands.residuals import Group
from simcore.validation.bands.spread import Constants, Spreads, widening

KINDS, FORMATS, NPUS = ("dense", "routed experts"), ("16-bit", "8-bit"), ("a", "b", "c")
CONSTANTS = Constants(pull=4, few=0.7, growth=0.05, low=1.6, high=1.6)


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
    spread = Spreads(TRAINING, groups).at(levels, CONSTANTS)
    return spread.size * widening(spread.lack, doublings, CONSTANTS)


@given(groups=GROUPS, levels=LEVELS)
@settings(max_examples=200, deadline=None)
def test_the_same_residuals_from_as_many_new_sources_widen_no_band(
    groups: list[Group], levels: tuple[str, ...]
) -> None:
    again = [replace(one, source=f"{one.source}, again") for one in groups]
    assert width([*groups, *again], levels) <= width(groups, levels) * (1 + 1e-9)


@given(groups=GROUPS, levels=LEVELS, share=st.floats(0, 1))
@settings(max_examples=200, deadline=None)
def test_a_run_no_further_off_than_its_class_widens_no_band_of_it(
    groups: list[Group], levels: tuple[str, ...], share: float
) -> None:
    size = Spreads(TRAINING, groups).at(levels, CONSTANTS).size
    more = [*groups, group(levels, "new", share * size)]
    assert width(more, levels) <= width(groups, levels) * (1 + 1e-9)


@given(groups=GROUPS, levels=LEVELS, near=st.floats(0, 10), further=st.floats(0, 10))
@settings(max_examples=100, deadline=None)
def test_what_is_farther_is_never_narrower(
    groups: list[Group], levels: tuple[str, ...], near: float, further: float
) -> None:
    assert width(groups, levels, near + further) >= width(groups, levels, near)


@given(groups=GROUPS, levels=LEVELS)
@settings(max_examples=100, deadline=None)
def test_a_kind_that_nobody_measured_is_wider_than_all_runs_together(
    groups: list[Group], levels: tuple[str, ...]
) -> None:
    unseen = Spreads(TRAINING, groups).at(("nobody's", *levels[1:]), CONSTANTS)
    assert unseen.depth == 0
    assert widening(unseen.lack, 0, CONSTANTS) == pytest.approx(np.exp(2 * CONSTANTS.few))


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
    constants = fitted(TRAINING, groups, known)
    judged = left_out(spreads, constants, among=known, of=~known)
    weights = 1 / np.bincount(judged.sources)[judged.sources]
    return float(np.average(judged.inside(constants).astype(float), weights=weights))


def test_bands_of_sources_that_nobody_has_seen_hold_four_of_five_rows() -> None:
    found = [_coverage(seed) for seed in range(6)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.05)


def test_fitted_constants_stay_within_their_bounds_and_do_not_depend_on_the_order() -> None:
    groups = _world(np.random.default_rng(1), 30)
    constants = fitted(TRAINING, groups)
    assert constants.low > 0
    assert constants.high > 0
    assert constants.growth > 0
    assert fitted(TRAINING, groups[::-1]) == constants
