from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from dse.costs import COSTS, PriceBook, WholeMachine, load_prices
from simcore import (
    ConfigError,
    Dimension,
    InfeasibleError,
    Platform,
    load_npu,
    load_platform,
)

RING, FC, SWITCH = "ring", "fully_connected", "switch"


@pytest.fixture(scope="module")
def prices() -> PriceBook:
    return load_prices()


def machine(
    topologies: Sequence[str],
    npus: Sequence[int],
    gb_per_s: Sequence[float],
    npu: str = "h100_80",
    **outermost: Any,
) -> Platform:
    last = len(npus) - 1
    dimensions = tuple(
        Dimension.build(
            topology=kind,
            npus=count,
            bandwidth_bytes_per_s=rate * 1e9,
            latency_s=1e-6,
            **(outermost if position == last else {}),
        )
        for position, (kind, count, rate) in enumerate(zip(topologies, npus, gb_per_s, strict=True))
    )
    return Platform.build(npu=load_npu(npu), dimensions=dimensions)


def test_the_native_domain_is_in_the_price_of_the_accelerator(prices: PriceBook) -> None:
    parts = WholeMachine(prices).cost(machine((SWITCH,), (8,), (450,))).parts
    assert parts == {"accelerators": 8 * 38_750, "scale_up": 0.0, "scale_out": 0.0}


@pytest.mark.parametrize(
    ("topology", "npus", "gb_per_s", "usd_per_npu"),
    [
        (SWITCH, 8, 900, 450 * 17),  # beyond the native bandwidth
        (SWITCH, 64, 450, 450 * 17),  # beyond the native domain: all of it
        (FC, 8, 900, 450 * 4),
        (RING, 16, 300, 300 * 4),
    ],
)
def test_scale_up_beyond_the_native_domain_is_priced_by_shape(
    prices: PriceBook, topology: str, npus: int, gb_per_s: float, usd_per_npu: float
) -> None:
    parts = WholeMachine(prices).cost(machine((topology,), (npus,), (gb_per_s,))).parts
    assert parts["scale_up"] == pytest.approx(npus * usd_per_npu)


def test_dimensions_inside_one_rack_are_scale_up_and_share_the_native_bandwidth(
    prices: PriceBook,
) -> None:
    platform = machine((FC, RING, SWITCH), (4, 2, 16), (300, 300, 50))
    parts = WholeMachine(prices).cost(platform).parts
    # 450 of the 600 GB/s inside the domain of 8 are included; 128 NPUs need one tier
    assert parts["scale_up"] == pytest.approx(128 * 150 * 4)
    assert parts["scale_out"] == pytest.approx(128 * 50 * 37.7)


def test_an_oversubscribed_top_tier_saves_its_share(prices: PriceBook) -> None:
    # 16,384 H100 in two tiers at 50 GB/s, 7:1 at the top: 50 x (37.7 + 47.3 / 7) per GPU
    expected = 16_384 * 50 * (37.7 + 47.3 / 7)
    flat = machine((SWITCH, SWITCH), (8, 2048), (450, 50), oversubscription=7)
    levels = machine(
        (SWITCH,) * 3, (8, 256, 8), (450, 50, 50), oversubscription=7, shares_ports=True
    )
    for platform in (flat, levels):
        assert WholeMachine(prices).cost(platform).parts["scale_out"] == pytest.approx(expected)


def test_a_fabric_of_one_tier_has_nothing_to_oversubscribe(prices: PriceBook) -> None:
    platform = machine((SWITCH, SWITCH), (8, 64), (450, 50), oversubscription=4)
    assert WholeMachine(prices).cost(platform).parts["scale_out"] == pytest.approx(512 * 50 * 37.7)


@pytest.mark.parametrize(
    ("topologies", "gb_per_s", "words"),
    [
        ((SWITCH, SWITCH, SWITCH), (450, 50, 100), "dimension 2 has more bandwidth"),
        ((SWITCH, RING, SWITCH), (450, 50, 50), "no scale-out switch"),
        ((SWITCH, SWITCH), (450, 50), "no scale-out switch"),
    ],
)
def test_ports_are_shared_with_a_switch_that_is_wide_enough(
    prices: PriceBook, topologies: tuple[str, ...], gb_per_s: tuple[float, ...], words: str
) -> None:
    npus = (8, 256, 8)[: len(topologies)]
    with pytest.raises(InfeasibleError, match=words):
        WholeMachine(prices).cost(machine(topologies, npus, gb_per_s, shares_ports=True))


def test_separate_ports_are_paid_for_one_by_one(prices: PriceBook) -> None:
    platform = machine((SWITCH, SWITCH, SWITCH), (8, 256, 8), (450, 50, 25))
    parts = WholeMachine(prices).cost(platform).parts
    assert parts["scale_out"] == pytest.approx(16_384 * (50 * 85.0 + 25 * 85.0))


def test_rail_only_planes_need_fewer_tiers(prices: PriceBook) -> None:
    rail = WholeMachine(prices).cost(machine((SWITCH, SWITCH), (64, 256), (450, 50), rails=True))
    assert rail.parts["scale_out"] == pytest.approx(16_384 * 50 * 37.7)


@pytest.mark.parametrize("model", COSTS)
def test_costs_never_fall_when_a_bandwidth_or_a_count_rises(prices: PriceBook, model: str) -> None:
    npu = "h100_80"
    shapes = product((RING, FC, SWITCH), repeat=2)
    for first, second in shapes:
        for size, rate in product((4, 16, 64), (50, 400)):
            topologies = (RING, first, second)
            base = COSTS[model](prices).cost(machine(topologies, (8, 4, size), (300, 50, rate)))
            more = (
                machine(topologies, (9, 4, size), (300, 50, rate), npu),
                machine(topologies, (16, 8, size), (300, 50, rate), npu),
                machine(topologies, (8, 4, 10 * size), (300, 50, rate), npu),
                machine(topologies, (8, 4, size), (600, 50, rate), npu),
                machine(topologies, (8, 4, size), (300, 60, rate), npu),
                machine(topologies, (8, 4, size), (300, 50, 2 * rate), npu),
            )
            for larger in more:
                assert COSTS[model](prices).cost(larger).total >= base.total


def test_an_accelerator_without_price_is_named(prices: PriceBook) -> None:
    with pytest.raises(ConfigError, match=r"platform\.npu\.price: .*accelerators\.tpu_v4"):
        WholeMachine(prices).cost(load_platform("tpu_v4_pod"))
    known = prices.model_copy(update={"accelerators": {"tpu_v4": 4000.0}})
    assert WholeMachine(known).cost(load_platform("tpu_v4_pod")).total == 4096 * 4000.0


def test_an_accelerator_without_system_power_is_refused(prices: PriceBook) -> None:
    with pytest.raises(ConfigError, match=r"platform\.npu\.system_power"):
        COSTS["power"](prices).cost(load_platform("cosmic_b"))


def test_a_price_book_of_the_user_is_checked(tmp_path: Path) -> None:
    text = Path(__file__).parents[4].joinpath("configs/costs/default.yaml").read_text()
    file = tmp_path / "mine.yaml"
    file.write_text(text.replace("pue: 1.25", "pue: 0.5"))
    with pytest.raises(ConfigError, match=r"mine\.yaml: power\.pue: must be greater than"):
        load_prices("mine.yaml", beside=tmp_path)
    file.write_text(text.replace("accelerators: {}", "accelerators: {h100_80: 30000 USD}"))
    assert load_prices("mine.yaml", beside=tmp_path).accelerator_usd(load_npu("h100_80")) == 30000


def test_an_oversubscription_below_one_or_without_switches_is_refused() -> None:
    with pytest.raises(ConfigError, match="oversubscription"):
        machine((SWITCH,), (8,), (450,), oversubscription=0.5)
    with pytest.raises(ConfigError, match="oversubscription: must be 1 where no switches are"):
        machine((RING,), (8,), (450,), oversubscription=2)
