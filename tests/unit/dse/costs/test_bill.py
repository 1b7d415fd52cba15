"""Bills of whole machines: published sheet, ports, custom parts, ranges."""

from math import ceil
from random import Random

import pytest

from dse.costs import COSTS, load_prices
from dse.costs.bill import Bill, Biller
from dse.costs.bill.scale_out import FabricNeed, _ways, leaves_and_spines, wire
from simcore import Catalogue, ConfigError, Dimension, Platform, load_npu, load_platform, plain_sum

BILLER = Biller(load_prices())


def machine(npu: str, *dimensions: tuple[str, int, float]) -> Platform:
    built = tuple(
        Dimension.build(
            topology=topology, npus=npus, bandwidth_bytes_per_s=rate * 1e9, latency_s=1e-6
        )
        for topology, npus, rate in dimensions
    )
    return Platform.build(npu=load_npu(npu), dimensions=built)


def bill(npu: str, *dimensions: tuple[str, int, float]) -> Bill:
    return BILLER.bill(machine(npu, *dimensions))


def test_a_superpod_of_1024_h100_costs_what_the_published_sheet_says() -> None:
    found = BILLER.bill(load_platform("dgx_h100_superpod"))
    fabric = found.group("scale_out").usd
    assert fabric == pytest.approx(4349440, rel=0.1)  # H100 cost sheet of Aug 2024, 1,024 GPUs
    assert found.ports_per_npu == 1


def test_a_full_mesh_pays_for_a_port_card_and_cable_to_each_peer() -> None:
    mesh = bill("h100_80", ("switch", 8, 450), ("fully_connected", 16, 50))
    switch = bill("h100_80", ("switch", 8, 450), ("switch", 16, 50))
    assert mesh.ports_per_npu == 15
    assert mesh.network.usd > switch.network.usd
    cards = [line.count for line in mesh.lines if line.part.startswith("nic_")]
    assert cards == [14 * 128]  # one port is in the server


def test_a_domain_of_the_accelerator_is_in_its_price_and_a_larger_one_is_custom() -> None:
    own = bill("h100_80", ("switch", 8, 450), ("switch", 4, 50))
    larger = bill("h100_80", ("switch", 16, 450), ("switch", 4, 50))
    faster = bill("h100_80", ("switch", 8, 900), ("switch", 4, 50))
    assert not own.group("scale_up").lines
    assert not own.notes
    for custom in (larger, faster):
        assert custom.group("scale_up").usd > 0
        assert "custom parts" in custom.notes[0]


def test_a_copy_of_an_accelerator_is_told_to_have_no_server_until_one_lists_it() -> None:
    known = machine("h100_80", ("switch", 8, 450), ("switch", 16, 50))
    copy = known.model_copy(update={"npu": known.npu.model_copy(update={"name": "our_h100"})})
    wanted, alone = BILLER.bill(known), BILLER.bill(copy)
    assert not wanted.notes
    assert [note for note in alone.notes if "no server on the parts list holds our_h100" in note]
    assert alone.usd > wanted.usd  # for cards that the server has in its price
    prices = load_prices()
    server = Catalogue(prices.parts).server("h100_80")
    assert server is not None
    ours = server.model_copy(update={"accelerators": ("our_h100",)})
    book = prices.model_copy(update={"parts": {**prices.parts, "our_server": ours}})
    listed = Biller(book).bill(copy)
    assert not listed.notes
    assert listed.usd == wanted.usd
    assert listed.power_w == wanted.power_w


@pytest.mark.parametrize(
    ("npu", "domain", "domains", "bought"),
    [
        ("gb200", 64, 16, 16 * 72),  # of the 72 of a rack 8 are in no domain
        ("gb200", 36, 5, 5 * 36),  # two domains share a rack
        ("gb200", 32, 5, 3 * 72),  # two of them too, the last rack has one
        ("gb200", 72, 4, 4 * 72),
        ("h100_80", 6, 4, 4 * 8),
    ],
)
def test_racks_are_bought_whole(npu: str, domain: int, domains: int, bought: int) -> None:
    found = bill(npu, ("switch", domain, 400), ("switch", domains, 50))
    line = next(line for line in found.lines if line.group == "accelerators")
    assert line.count == bought
    assert line.usd == pytest.approx(bought * BILLER._prices.accelerator_usd(load_npu(npu)))


@pytest.mark.parametrize("shape", ["ring", "fully_connected", "switch", "mesh"])
def test_totals_lie_between_their_low_and_high_and_grow_with_bandwidth(shape: str) -> None:
    before = 0.0
    for rate in (3.125, 12.5, 25, 50, 100, 200, 400):
        found = bill("a100_80", ("switch", 8, 300), (shape, 16, rate))
        assert found.low_usd < found.usd < found.high_usd
        assert found.network.usd >= before
        before = found.network.usd


@pytest.mark.parametrize("npus", [64, 128, 512])
@pytest.mark.parametrize("rate", [12.5, 25.0, 50.0])
def test_fewer_links_into_the_top_tier_never_cost_more(npus: int, rate: float) -> None:
    usd = []
    for over in (1, 1.5, 2, 3, 4, 8):
        top = Dimension.build(
            topology="switch",
            npus=npus,
            bandwidth_bytes_per_s=rate * 1e9,
            latency_s=1e-6,
            shares_ports=True,
            oversubscription=over,
        )
        platform = machine("a100_80", ("switch", 8, 300), ("switch", 2, rate))
        whole = Platform.build(npu=platform.npu, dimensions=(*platform.dimensions, top))
        usd.append(BILLER.bill(whole).usd)
    assert usd == sorted(usd, reverse=True)


@pytest.mark.parametrize("radix", [40, 64, 128, 256])
@pytest.mark.parametrize("over", [1.0, 1.5, 2.0, 3.0, 5.0, 7.0])
def test_leaves_keep_the_ratio_and_use_each_port_once(radix: int, over: float) -> None:
    need = FabricNeed(
        npus=700,
        joined=700,
        links_per_npu=1,
        gbps=200,
        has_switch=True,
        tiers=2,
        oversubscription=over,
        npus_per_rack=8,
        has_cards=0,
        card_gbps=0,
    )
    ways = leaves_and_spines(need, radix)
    assert ways
    for one in ways:
        leaves, spines = one.switches
        uplinks = (one.links[0] or 0) / leaves
        assert uplinks % spines == 0  # evenly to every spine
        assert ceil(700 / leaves) + uplinks <= radix
        assert (one.links[0] or 0) <= spines * radix
        assert over * leaves * uplinks + 1e-9 >= 700


def test_two_to_one_saves_money_though_it_divides_no_power_of_two() -> None:
    usd = []
    for over in (1, 2, 3):
        top = Dimension.build(
            topology="switch",
            npus=64,
            bandwidth_bytes_per_s=25e9,
            latency_s=1e-6,
            shares_ports=True,
            oversubscription=over,
        )
        leaf = machine("a100_80", ("switch", 8, 300), ("switch", 2, 25))
        whole = Platform.build(npu=leaf.npu, dimensions=(*leaf.dimensions, top))
        usd.append(BILLER.bill(whole).network.usd)
    assert usd[1] < 0.9 * usd[0]
    assert usd[2] < usd[1]


def test_shares_of_something_else_tell_what_is_counted() -> None:
    found = bill("h100_80", ("switch", 8, 450), ("switch", 16, 50))
    lines = {line.part: line for line in found.lines}
    # 128 H100 of 1,275 W, and everything that is network but the spares themselves
    assert (lines["storage_and_front_end"].count, lines["storage_and_front_end"].unit) == (
        128 * 1275,
        "W",
    )
    assert lines["spares"].unit == "USD"
    assert lines["spares"].count == pytest.approx(found.network.usd - lines["spares"].usd)
    assert lines["rack"].unit == ""


def test_a_slow_link_still_needs_a_port_of_a_real_speed() -> None:
    slow = bill("a100_80", ("switch", 8, 300), ("fully_connected", 16, 6.25))
    assert slow.ports_per_npu == 15


def test_the_cost_model_is_the_bill_and_tells_its_range() -> None:
    platform = load_platform("gb200_nvl72_superpod")
    cost, found = COSTS["bill_of_materials"](load_prices()).cost(platform), BILLER.bill(platform)
    assert cost.total == pytest.approx(found.usd)
    assert (cost.low, cost.high) == (found.low_usd, found.high_usd)


def test_a_fabric_is_wired_in_the_way_whose_bill_is_the_lowest() -> None:
    parts, rng = Catalogue(load_prices().parts), Random(7)
    for _ in range(60):
        need = FabricNeed(
            npus=2048,
            joined=rng.choice([2, 8, 16, 64, 512, 2048]),
            links_per_npu=rng.choice([1, 2]),
            gbps=rng.choice([50.0, 100.0, 200.0, 400.0]),
            has_switch=rng.random() < 0.8,
            tiers=rng.choice([1, 2, 3]),
            oversubscription=rng.choice([1.0, 2.0, 8.0]),
            npus_per_rack=32,
            has_cards=rng.choice([0, 1, 2]),
            card_gbps=200.0,
        )
        ways = [way for speed in parts.speeds_gbps() for way in _ways(need, speed, parts)]
        bills = [plain_sum(line.usd for line in way.wired().lines) for way in ways]
        assert [way.usd for way in ways] == bills  # to the last bit
        assert wire(need, parts) == ways[bills.index(min(bills))].wired()


def test_an_accelerator_of_unknown_power_draws_none_for_nothing() -> None:
    known = machine("h100_80", ("switch", 8, 450), ("switch", 4, 50))
    dark = known.npu.model_copy(update={"name": "own", "system_power_w": None, "tdp_w": None})
    model = COSTS["bill_of_materials_power"](load_prices())
    assert model.cost(known).total > 32 * 700
    with pytest.raises(ConfigError, match="system_power: must be given for own"):
        model.cost(known.model_copy(update={"npu": dark}))
