"""MODEL-0 against the reference solution of the ViT-22B problem, published with the problem."""

from dataclasses import fields
from itertools import product
from typing import Any

import numpy as np
import pytest

from dse.evaluate.closed_forms.model0 import (
    RUN_PATHS,
    TOPOLOGIES,
    Designs,
    Model0,
    Outcomes,
    broken_rules,
    evaluate_designs,
    fits_in_memory,
)
from dse.evaluate.closed_forms.problem import VIT22B_64
from simcore import ConfigError, InfeasibleError

# T s, price USD, memory GB, n0, n1, tp, pp, micro-batch, topologies, GB/s
FRONT: list[tuple[object, ...]] = [
    (2.079699, 714_800, 10.796, 16, 4, 2, 8, 1, "switch", "ring", 360, 6.25),
    (2.086671, 504_000, 10.154, 4, 16, 4, 4, 1, "fully_connected", "switch", 360, 25),
    (2.094912, 424_640, 10.154, 4, 16, 4, 4, 1, "fully_connected", "ring", 360, 25),
    (2.109190, 415_280, 10.796, 16, 4, 2, 8, 1, "ring", "ring", 360, 6.25),
    (2.168172, 369_200, 10.796, 16, 4, 2, 8, 1, "ring", "ring", 180, 6.25),
    (2.184830, 346_160, 12.080, 8, 8, 1, 16, 1, "ring", "ring", 90, 6.25),
    (2.204823, 334_640, 12.080, 8, 8, 1, 16, 1, "ring", "ring", 45, 6.25),
]


def all_designs() -> Designs:
    """All 34,560 combinations of the problem's knobs, feasible or not."""
    knobs = product(
        ((4, 16), (8, 8), (16, 4)),
        (1, 2, 4, 8, 16),
        (1, 2, 3, 4, 6, 8, 12, 16),
        (1, 2, 4, 8),
        range(3),
        (TOPOLOGIES.index("ring"), TOPOLOGIES.index("switch")),
        (45e9, 90e9, 180e9, 360e9),
        (6.25e9, 12.5e9, 25e9),
    )
    table = np.array([(*shape, *others) for shape, *others in knobs], dtype=np.float64)
    names = [field.name for field in fields(Designs)]
    columns = {name: table[:, i].astype(np.int64) for i, name in enumerate(names[:7])}
    return Designs(**columns, bandwidth0=table[:, 7], bandwidth1=table[:, 8])


def chosen(designs: Designs, flags: np.ndarray) -> Designs:
    return Designs(**{f.name: getattr(designs, f.name)[flags] for f in fields(designs)})


@pytest.fixture(scope="module")
def divisible() -> Designs:
    designs = all_designs()
    broken = np.any(list(broken_rules(VIT22B_64, designs).values()), axis=0)
    return chosen(designs, ~broken)


@pytest.fixture(scope="module")
def feasible(divisible: Designs) -> Designs:
    outcomes = evaluate_designs(VIT22B_64, divisible)
    return chosen(divisible, fits_in_memory(VIT22B_64, outcomes.footprint_bytes))


@pytest.fixture(scope="module")
def outcomes(feasible: Designs) -> Outcomes:
    return evaluate_designs(VIT22B_64, feasible)


def front_of(outcomes: Outcomes) -> list[int]:
    order = np.lexsort((outcomes.capital_cost_usd, outcomes.iteration_time_s))
    front, least = [], np.inf
    for position in order:
        if outcomes.capital_cost_usd[position] < least:
            least = outcomes.capital_cost_usd[position]
            front.append(int(position))
    return front


def test_the_counts_of_the_problem_are_exact(divisible: Designs, feasible: Designs) -> None:
    assert all_designs().tp.size == 34_560
    assert divisible.tp.size == 16_128
    assert feasible.tp.size == 6_912


def test_the_front_has_exactly_the_seven_published_points(
    feasible: Designs, outcomes: Outcomes
) -> None:
    rows = []
    for i in front_of(outcomes):
        row: list[float | str] = [
            round(float(outcomes.iteration_time_s[i]), 6),
            round(float(outcomes.capital_cost_usd[i]), 6),
            round(float(outcomes.footprint_bytes[i]) / 1e9, 3),
        ]
        row += [int(getattr(feasible, f.name)[i]) for f in fields(Designs)[:5]]
        row += [TOPOLOGIES[feasible.topology0[i]], TOPOLOGIES[feasible.topology1[i]]]
        row += [float(feasible.bandwidth0[i]) / 1e9, float(feasible.bandwidth1[i]) / 1e9]
        rows.append(tuple(row))
    assert rows == FRONT


def test_the_spread_of_all_feasible_points_is_as_published(outcomes: Outcomes) -> None:
    times, usd = outcomes.iteration_time_s, outcomes.capital_cost_usd
    products = times * usd
    assert products.min() == pytest.approx(737_822.0, abs=0.05)
    assert np.count_nonzero(times <= 1.01 * times.min()) == 32
    assert np.count_nonzero(products <= 1.01 * products.min()) == 4
    assert np.sort(times)[times.size // 2] == pytest.approx(2.633507, abs=5e-7)
    assert times.max() == pytest.approx(6.701206, abs=5e-7)
    assert np.mean(times <= 1.01 * times.min()) == pytest.approx(0.00463, abs=5e-6)


def test_the_hypervolume_of_the_front_is_as_published(outcomes: Outcomes) -> None:
    times, usd = np.log10(outcomes.iteration_time_s), np.log10(outcomes.capital_cost_usd)
    reference = np.log10([1.1 * 10 ** times.max(), 1.1 * 10 ** usd.max()])
    assert 10**reference == pytest.approx([7.371327, 883_872])
    volume, ceiling = 0.0, reference[1]
    for i in front_of(outcomes):
        volume += (reference[0] - times[i]) * (ceiling - usd[i])
        ceiling = usd[i]
    assert volume == pytest.approx(0.2293927, abs=5e-8)


@pytest.mark.parametrize("row", FRONT)
@pytest.mark.parametrize("has_paths", [False, True])
def test_single_designs_give_the_published_values(row: tuple[Any, ...], has_paths: bool) -> None:
    names = list(RUN_PATHS.values()) if has_paths else list(RUN_PATHS)
    given = (*row[3:10], row[10] * 1e9, row[11] * 1e9)
    result = Model0().evaluate(dict(zip(names, given, strict=True)))
    assert result["iteration_time_s"] == pytest.approx(row[0], abs=5e-7)
    assert result["capital_cost_usd"] == pytest.approx(row[1])
    assert result["footprint_bytes"] / 1e9 == pytest.approx(row[2], abs=5e-4)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"tp": 16}, "tp_divides_inner_dimension"),
        ({"pp": 5}, "pp_divides_layers"),
        ({"pp": 3}, "plan_divides_npus"),
        ({"npus1": 16}, "npus_equal_product_of_dimensions"),
        ({"micro_batch": 256}, "batch_divides_over_dp"),
        ({"pp": 1}, "fits_in_memory"),
    ],
)
def test_a_design_that_breaks_a_rule_is_infeasible_by_that_rule(
    change: dict[str, object], rule: str
) -> None:
    values: dict[str, object] = dict(zip(RUN_PATHS, (8, 8, 1, 16, 1), strict=False))
    values |= {"topology0": "ring", "topology1": "ring", "bandwidth0": 45e9, "bandwidth1": 25e9}
    with pytest.raises(InfeasibleError) as error:
        Model0().evaluate(values | change)
    assert error.value.rule == rule


@pytest.mark.parametrize(("name", "value"), [("topology0", "mesh"), ("tp", "two"), ("pp", 0)])
def test_a_value_of_the_wrong_kind_is_refused(name: str, value: object) -> None:
    values: dict[str, object] = dict(zip(RUN_PATHS, (8, 8, 1, 16, 1), strict=False))
    values |= {"topology0": "ring", "topology1": "ring", "bandwidth0": 45e9, "bandwidth1": 25e9}
    with pytest.raises(ConfigError, match=f"^{name}: must be"):
        Model0().evaluate(values | {name: value})
