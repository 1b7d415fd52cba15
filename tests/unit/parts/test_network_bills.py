"""Networks as bought: parts counted by hand, and prices that follow from them."""

from typing import Any

import pytest

from dse.costs import COSTS, load_prices
from simcore import (
    Catalogue,
    HostPorts,
    InfeasibleError,
    load_platform,
    network_bill,
    shipped_parts,
)
from simcore.graphs.network_table import NetworkFile

PARTS = Catalogue(shipped_parts())


def network(family: str, bandwidth: str = "25 GB/s", **params: Any) -> NetworkFile:
    table = {"family": family, "params": params, "bandwidth": bandwidth, "latency": "500 ns"}
    return NetworkFile.from_file_data(table, at="")


def counts(given: NetworkFile, **host: Any) -> dict[str, float]:
    bill = network_bill(given.parts(), PARTS, HostPorts(**host))
    found: dict[str, float] = {}
    for line in bill.lines:
        kind = PARTS[line.part].kind
        found[kind] = found.get(kind, 0) + line.count
    return found


def test_a_fat_tree_has_its_switches_cables_modules_and_cards() -> None:
    # k = 4: 20 switches; 16 cables of NPUs and 16 above each of two tiers
    found = counts(network("fat_tree", k=4))
    assert found["switch"] == 20
    assert found["cable"] == 48
    assert found["nic"] == 16


def test_cards_of_the_servers_are_not_bought_again() -> None:
    found = counts(network("fat_tree", k=4), cards=1, card_gbps=200.0)
    assert "nic" not in found


def test_links_within_the_domain_of_accelerators_are_in_their_price() -> None:
    rails = network("rails", servers=4, npus_per_server=8, servers_per_pod=4, spines=2)
    assert counts(rails, domain=8)["switch"] == 8 + 2
    assert counts(rails, domain=1)["switch"] == 4 + 8 + 2


def test_a_cable_faster_than_any_port_takes_several() -> None:
    slow, fast = (network("star", rate, n=8) for rate in ("100 GB/s", "200 GB/s"))
    assert counts(fast)["cable"] == 2 * counts(slow)["cable"]


def test_a_switch_with_more_ports_than_any_on_the_list_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="no switch on the list has the ports of a switch"):
        counts(network("star", n=1024))


def price(model: str, spines: int) -> float:
    given = network("leaf_spine", leaves=4, npus_per_leaf=8, spines=spines)
    platform = load_platform({"npu": "a100_80", "network": given})
    return COSTS[model](load_prices("default", at="")).cost(platform).total


def test_oversubscription_saves_switches_and_cables() -> None:
    assert price("bill_of_materials", 2) < price("bill_of_materials", 8)


@pytest.mark.parametrize("model", ["whole_machine", "power", "libra_py", "tco"])
def test_models_that_price_bandwidth_say_that_they_cannot_price_a_graph(model: str) -> None:
    with pytest.raises(InfeasibleError, match="choose bill_of_materials"):
        price(model, 4)
