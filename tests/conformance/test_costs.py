"""Every cost model: what it is made of, and more of a machine never costs less."""

from collections.abc import Callable
from itertools import product

import pytest
from every_case import with_every

from dse.costs import COSTS, Cost, CostModel, load_prices
from dse.evaluate.money import CostMeter
from dse.study.compile import load_study_file
from simcore import ConfigError, Dimension, InfeasibleError, Platform, load_npu
from simcore.topologies import TOPOLOGIES

PRICES = load_prices()
UNITS = {"USD", "USD/h", "W"}


def machine(
    topologies: tuple[str, ...], npus: tuple[int, ...], gb_per_s: tuple[float, ...]
) -> Platform:
    dimensions = tuple(
        Dimension.build(
            topology=topology, npus=count, bandwidth_bytes_per_s=rate * 1e9, latency_s=1e-6
        )
        for topology, count, rate in zip(topologies, npus, gb_per_s, strict=True)
    )
    return Platform.build(npu=load_npu("h100_80"), dimensions=dimensions)


@with_every("name", list(COSTS))
@with_every("topologies", list(product(TOPOLOGIES, TOPOLOGIES)))
def test_more_bandwidth_and_more_npus_never_cost_less(
    name: str, topologies: tuple[str, ...]
) -> None:
    model = COSTS[name](PRICES)
    if not model.rises:
        pytest.skip("its class says so, and gaps refuse it")
    for npus, grown in (((4, 8), (8, 8)), ((8, 8), (8, 16)), ((8, 4), (8, 32))):
        costs = []
        for sizes, rates in ((npus, (100, 25)), (npus, (200, 25)), (npus, (200, 50))):
            costs.append(total(model.cost, topologies, sizes, rates))
        costs.append(total(model.cost, topologies, grown, (200, 50)))
        known = [cost for cost in costs if cost is not None]
        assert known == sorted(known)


def total(
    cost: Callable[[Platform], Cost],
    topologies: tuple[str, ...],
    npus: tuple[int, ...],
    rates: tuple[float, ...],
) -> float | None:
    """None: the model knows no such machine."""
    try:
        found = cost(machine(topologies, npus, rates))
    except InfeasibleError:
        return None
    assert found.unit in UNITS
    assert all(amount >= 0 for amount in found.parts.values())
    assert found.total == pytest.approx(sum(found.parts.values()))
    return found.total


@pytest.mark.parametrize("name", list(COSTS))
def test_the_same_machine_costs_the_same(name: str) -> None:
    platform = machine(("switch", "switch"), (8, 16), (450, 50))
    first, second = (COSTS[name](load_prices()).cost(platform) for _ in range(2))
    assert first.unit == COSTS[name](load_prices()).unit
    assert first == second


@pytest.mark.parametrize("name", sorted(COSTS))
@pytest.mark.parametrize("key", ["model", "network"])
def test_a_study_takes_prices_alone_as_prices(key: str, name: str) -> None:
    unit = COSTS[name](load_prices()).unit
    what = load_study_file("llm_gpt.yaml", {f"cost.{key}": name}).evaluator_input
    if unit == "USD":
        assert CostMeter.of(what) is not None
        return
    with pytest.raises(ConfigError, match=f"cost.{key}: .* USD, not one in {unit}, but got"):
        CostMeter.of(what)


def test_a_model_that_gives_another_unit_than_its_class_says_is_refused() -> None:
    class Watts(CostModel):
        def cost(self, platform: Platform) -> Cost:
            return Cost(unit="W", parts={"servers": 1.0})

    study = load_study_file("llm_gpt.yaml")
    meter = CostMeter.of(study.evaluator_input)
    assert meter is not None
    meter._capital = Watts(load_prices())
    platform = machine(("switch", "switch"), (8, 16), (450, 50))
    with pytest.raises(ConfigError, match="Watts must give costs in USD, as its class says"):
        meter.machine(platform)
