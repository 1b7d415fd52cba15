"""Costs against published or logged values, and sums done by hand from published rates."""

from collections.abc import Sequence

import pytest

from dse.costs import COSTS, LibraCpp, LibraPy, PriceBook, hourly_cost, load_prices, usd_per_token
from simcore import Dimension, InfeasibleError, Npu, Platform, load_npu

RING, FC, SWITCH = "ring", "fully_connected", "switch"


@pytest.fixture(scope="module")
def prices() -> PriceBook:
    return load_prices()


def machine(
    topologies: Sequence[str],
    npus: Sequence[int],
    gb_per_s: Sequence[float],
    npu: Npu | None = None,
) -> Platform:
    dimensions = tuple(
        Dimension.build(topology=kind, npus=count, bandwidth_bytes_per_s=rate * 1e9, latency_s=1e-6)
        for kind, count, rate in zip(topologies, npus, gb_per_s, strict=True)
    )
    return Platform.build(npu=npu or load_npu("cosmic_b"), dimensions=dimensions)


@pytest.mark.parametrize(
    ("topologies", "npus", "usd"),
    [
        ((RING, FC, RING, FC), (4, 16, 4, 4), 1_822_720),
        ((RING, FC, RING, FC), (4, 4, 4, 4), 455_680),
        ((RING, RING, SWITCH, RING), (4, 4, 4, 4), 890_880),
        ((RING, SWITCH, RING, SWITCH), (8, 4, 4, 8), 9_441_280),
    ],
)
def test_network_costs_that_cosmic_logged_are_met_to_the_dollar(
    prices: PriceBook, topologies: Sequence[str], npus: Sequence[int], usd: int
) -> None:
    # arXiv 2505.15020, logs of the public experiments: 100 GB/s per NPU in every dimension
    cost = LibraCpp(prices).cost(machine(topologies, npus, [100.0] * 4))
    assert cost.total == pytest.approx(usd, abs=0.01)


@pytest.mark.parametrize(
    ("topologies", "npus", "gb_per_s", "usd"),
    [
        ((RING, RING, RING, SWITCH), (4, 4, 4, 8), (200, 200, 200, 50), 2_693_120),
        ((RING, FC, RING, SWITCH), (4, 8, 4, 8), (375, 175, 150, 100), 8_775_680),
        ((FC, SWITCH, RING, RING), (8, 16, 4, 4), (900, 100, 50, 12.5), 8_596_480),
        ((RING, FC, RING, FC), (4, 8, 4, 8), (50, 50, 50, 50), 911_360),
        ((RING, SWITCH, SWITCH, SWITCH), (4, 8, 4, 8), (500, 500, 500, 500), 55_910_400),
    ],
    ids=["system A", "system B", "system C", "cheapest", "dearest"],
)
def test_network_costs_of_cosmics_systems_are_met(
    prices: PriceBook,
    topologies: Sequence[str],
    npus: Sequence[int],
    gb_per_s: Sequence[float],
    usd: int,
) -> None:
    # per NPU and GB/s: links 2, 4, 4, 7.8; switches 21, 21 and 65.2 from dimension 1 on
    cost = LibraCpp(prices).cost(machine(topologies, npus, gb_per_s))
    assert cost.total == pytest.approx(usd, abs=0.01)


@pytest.mark.parametrize(
    ("npus", "topologies", "gb_per_s", "musd"),
    [
        ((16, 8, 32), (RING, FC, SWITCH), (100 / 3,) * 3, 8.93),
        ((4, 8, 4, 32), (RING, FC, RING, SWITCH), (25.0,) * 4, 6.90),
        ((16, 8, 32), (RING, FC, SWITCH), (1000 / 3,) * 3, 89.29),
    ],
)
def test_networks_of_libras_study_cost_what_its_code_says(
    prices: PriceBook,
    npus: Sequence[int],
    topologies: Sequence[str],
    gb_per_s: Sequence[float],
    musd: float,
) -> None:
    # LIBRA (ISPASS 2024), 4,096 NPUs, equal bandwidths that sum to 100 or 1,000 GB/s
    cost = LibraPy(prices).cost(machine(topologies, npus, gb_per_s))
    assert cost.total / 1e6 == pytest.approx(musd, abs=0.01)


@pytest.mark.parametrize(
    ("topologies", "npus", "gb_per_s", "usd"),
    [
        ((SWITCH, RING), (16, 4), (360, 6.25), 714_800),
        ((FC, SWITCH), (4, 16), (360, 25), 504_000),
        ((FC, RING), (4, 16), (360, 25), 424_640),
        ((RING, RING), (16, 4), (360, 6.25), 415_280),
        ((RING, RING), (16, 4), (180, 6.25), 369_200),
        ((RING, RING), (8, 8), (90, 6.25), 346_160),
        ((RING, RING), (8, 8), (45, 6.25), 334_640),
    ],
)
def test_prices_on_the_front_of_the_vit22b_problem_are_met(
    prices: PriceBook,
    topologies: Sequence[str],
    npus: Sequence[int],
    gb_per_s: Sequence[float],
    usd: int,
) -> None:
    # 64 x (5000 + u0 bw0 + u1 bw1), u0 4 or 17 (switch), u1 7.8 or 57.4 (switch)
    platform = machine(topologies, npus, gb_per_s, load_npu("vit22b_p5"))
    cost = COSTS["accelerators_and_libra_py"](prices).cost(platform)
    assert cost.total == pytest.approx(usd, abs=0.01)


@pytest.mark.parametrize(("npus", "per_gpu_usd"), [(64, 1885), (1024, 4250), (32768, 6615)])
def test_the_scale_out_network_costs_what_the_h100_cluster_sheet_says(
    prices: PriceBook, npus: int, per_gpu_usd: float
) -> None:
    # H100 cluster cost spreadsheet, Aug 2024: 1,883, 4,248 and 6,613 USD at 50 GB/s per GPU
    platform = machine((SWITCH, SWITCH), (8, npus // 8), (450, 50), load_npu("h100_80"))
    parts = COSTS["whole_machine"](prices).cost(platform).parts
    if npus > 64:  # 64 fit into one rack
        assert parts["scale_out"] / npus == pytest.approx(per_gpu_usd)
    assert parts["accelerators"] / npus == 38_750


def test_an_hour_of_1024_h100_costs_what_its_parts_add_up_to(prices: PriceBook) -> None:
    # 49,248 USD each, 5 years, 8 %/year; 1,275 W at 75 % load, PUE 1.25, 0.0826 USD/kWh
    power_w = 1024 * 1275 * 0.75 * 1.25
    cost = hourly_cost(1024 * 49_248, power_w, prices=prices)
    assert cost.parts["depreciation"] + cost.parts["capital_and_upkeep"] == pytest.approx(
        1610, abs=1
    )
    assert cost.parts["energy"] == pytest.approx(101, abs=0.5)
    assert cost.total / 1024 == pytest.approx(1.67, abs=0.005)
    assert usd_per_token(3600.0, 2.0, 1000) == pytest.approx(0.002)


def test_power_adds_servers_ports_tiers_and_the_building(prices: PriceBook) -> None:
    platform = machine((SWITCH, SWITCH), (8, 128), (450, 50), load_npu("h100_80"))
    expected_w = (1024 * 1275 * 0.75 + 1024 * 50 * (0.5 + 0.9 * 2)) * 1.25
    assert COSTS["power"](prices).cost(platform).total == pytest.approx(expected_w)


def test_a_switch_on_the_package_has_no_price(prices: PriceBook) -> None:
    platform = machine((SWITCH, RING, RING, RING), (4, 4, 4, 4), [100.0] * 4)
    with pytest.raises(InfeasibleError, match="chiplet"):
        LibraPy(prices).cost(platform)
