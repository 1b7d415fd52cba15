"""Memory tiers are paid per GB and per port, and unknown prices stop costs alone."""

from typing import Any

import pytest

from dse.costs import COSTS, load_prices
from simcore import ConfigError, Platform, load_platform
from simcore.machine.tiers import Tier

BOOK = load_prices()
BASE = load_platform("dgx_a100_superpod")


def with_tier(**fields: Any) -> Platform:
    known = {"memory_bytes": 2e12, "bandwidth_bytes_per_s": 1e11, "part": "cxl_memory"}
    return BASE.model_copy(update={"tiers": {"cxl": Tier.build(**{**known, **fields})}})


@pytest.mark.parametrize(
    ("fields", "holders"),
    [
        ({"kind": "per_npu"}, 1120),
        ({"kind": "per_node", "npus_per_node": 8}, 140),
        ({"kind": "pool"}, 1),
        ({"kind": "hierarchical"}, 1),
    ],
)
def test_a_tier_costs_its_gigabytes_and_its_ports(fields: dict[str, Any], holders: int) -> None:
    machine = with_tier(**fields, port_part="cxl_port", ports=4)
    each, port = BOOK.parts["cxl_memory"].price_usd, BOOK.parts["cxl_port"].price_usd
    assert each is not None
    assert port is not None
    usd = holders * (2000 * each + 4 * port)
    for name in ("bill_of_materials", "whole_machine"):
        model = COSTS[name](BOOK)
        before, after = model.cost(BASE), model.cost(machine)
        assert after.parts["memory_tiers"] == pytest.approx(usd)
        assert "memory_tiers" not in before.parts
        assert after.parts["accelerators"] == before.parts["accelerators"]
    watts = COSTS["bill_of_materials_power"](BOOK).cost(machine).parts["memory_tiers"]
    assert watts == pytest.approx(
        holders * (2000 * BOOK.parts["cxl_memory"].power_w + 4 * BOOK.parts["cxl_port"].power_w)
    )


def test_memory_that_is_in_another_price_costs_nothing() -> None:
    machine = with_tier(kind="pool", part="")
    assert COSTS["bill_of_materials"](BOOK).cost(machine).parts["memory_tiers"] == 0


def test_a_part_that_is_no_memory_is_refused_by_its_place() -> None:
    for key in ("part", "port_part"):
        machine = with_tier(kind="pool", **{key: "nic_100g"})
        with pytest.raises(ConfigError, match=rf"platform\.tiers\.cxl\.{key}: must be one of"):
            COSTS["bill_of_materials"](BOOK).cost(machine)


@pytest.mark.parametrize("name", ["dojo_exapod", "tenstorrent_bh_galaxy"])
def test_an_unknown_price_stops_costs_and_no_power(name: str) -> None:
    machine = load_platform(name)
    with pytest.raises(ConfigError, match=r"platform\.npu\.price: must be given"):
        COSTS["whole_machine"](BOOK).cost(machine)
    assert COSTS["power"](BOOK).cost(machine).total > 0


def test_the_power_of_a_bill_needs_no_price_of_the_accelerator() -> None:
    npu = BASE.npu.model_copy(update={"price_usd": None})
    model = COSTS["bill_of_materials_power"](BOOK)
    unpriced = model.cost(BASE.model_copy(update={"npu": npu}))
    assert unpriced == model.cost(BASE)
