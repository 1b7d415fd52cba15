"""Machines of accelerators as they are sold: what can be built of them, and what cannot."""

import pytest
from every_case import with_every

from simcore import Dimension, Platform, load_npu, load_platform, scale_up_dimensions, unbuildable
from simcore.files.resources import shipped_names

Link = tuple[str, int, float]

CUSTOM = {  # networks of papers, with an accelerator that they were not built of
    "libra_3d",
    "libra_4d",
    "themis_2d_sw_sw",
    "themis_3d_fc_ring_sw",
    "themis_3d_sw_sw_sw_hetero",
    "themis_3d_sw_sw_sw_homo",
    "themis_4d_ring_fc_ring_sw",
    "themis_4d_ring_sw_sw_sw",
}


def machine(npu: str, *links: Link) -> Platform:
    dimensions = tuple(
        Dimension.build(
            topology=topology, npus=npus, bandwidth_bytes_per_s=rate * 1e9, latency_s=1e-6
        )
        for topology, npus, rate in links
    )
    return Platform.build(npu=load_npu(npu), dimensions=dimensions)


@with_every("name", shipped_names("platforms"))
def test_shipped_platforms_can_be_built_unless_a_paper_made_them_up(name: str) -> None:
    assert (unbuildable(load_platform(name)) is not None) == (name in CUSTOM)


@pytest.mark.parametrize(
    ("npu", "links"),
    [
        ("a100_80", [("switch", 8, 300), ("switch", 16, 25)]),
        ("a100_80", [("fully_connected", 4, 300), ("ring", 16, 25)]),  # 4 ports to each of 3
        ("a100_80", [("ring", 8, 300)]),
        ("a100_80", [("switch", 64, 25)]),  # network cards alone
        ("mi300x", [("fully_connected", 8, 448)]),
        ("gaudi2", [("fully_connected", 8, 262.5), ("switch", 4, 37.5)]),
        ("gb200", [("switch", 72, 900), ("switch", 8, 50)]),
        ("tpu_v4", [("ring", 16, 90), ("ring", 16, 90), ("ring", 16, 90)]),
        ("trainium2", [("ring", 4, 256), ("ring", 4, 256), ("ring", 4, 128)]),
        ("gh200", [("switch", 64, 50)]),
        ("cosmic_b", [("ring", 64, 1000), ("fully_connected", 64, 500)]),  # no facts, no verdict
    ],
)
def test_what_is_sold_can_be_built(npu: str, links: list[Link]) -> None:
    assert unbuildable(machine(npu, *links)) is None


@pytest.mark.parametrize(
    ("npu", "links", "told"),
    [
        ("a100_80", [("switch", 64, 300)], "joins 64 NPUs at 300 GB/s"),
        ("a100_80", [("switch", 8, 450)], "450 GB/s per NPU of the links of a100_80: 300"),
        ("a100_80", [("fully_connected", 8, 300)], "14 ports per NPU of the links"),
        ("v100_16", [("fully_connected", 8, 150)], "7 ports per NPU"),
        (
            "a100_80",
            [("switch", 8, 300), ("switch", 8, 50)],
            "what leaves the domain of a100_80: 32",
        ),
        ("h100_80", [("switch", 8, 450), ("fully_connected", 16, 50)], "15 ports per NPU of what"),
        (
            "tpu_v4",
            [("fully_connected", 16, 90)],
            "15 ports per NPU of the links of tpu_v4: 6 at most",
        ),
        ("tpu_v5p", [("switch", 8, 5000)], "the links of tpu_v5p: 600 GB/s"),
        ("gb200", [("switch", 144, 900)], "domain of gb200 has 72"),
        ("gh200", [("switch", 64, 100)], "what leaves the domain of gh200: 64 GB/s"),
        ("trainium1", [("fully_connected", 16, 192)], "15 ports per NPU of the links"),
        ("trainium2", [("ring", 16, 300), ("switch", 16, 50)], "the domain of trainium2: 25 GB/s"),
        (
            "blackhole",
            [("fully_connected", 8, 400)],
            "7 ports per NPU of the links of blackhole: 4",
        ),
        ("mi250x", [("switch", 8, 350), ("switch", 4, 50)], "the domain of mi250x: 32 GB/s"),
    ],
)
def test_what_no_part_carries_is_refused_with_its_reason(
    npu: str, links: list[Link], told: str
) -> None:
    error = unbuildable(machine(npu, *links))
    assert error is not None
    assert error.rule == "physical"
    assert told in error.reason


@pytest.mark.parametrize(("one", "other"), [("gh200", "h100_80"), ("v100_16", "p100")])
def test_the_same_slot_lets_out_as_much(one: str, other: str) -> None:
    out = [load_npu(name).scale_out for name in (one, other)]
    assert out[0] is not None
    assert out[1] is not None
    assert out[0].bandwidth_bytes_per_s == out[1].bandwidth_bytes_per_s
    assert out[0].ports == out[1].ports


def test_dimensions_inside_the_domain_are_scale_up() -> None:
    split = machine("a100_80", ("switch", 4, 200), ("switch", 2, 100), ("switch", 16, 25))
    assert scale_up_dimensions(split) == 2
    assert unbuildable(split) is None
    assert scale_up_dimensions(machine("a100_80", ("switch", 16, 25))) == 0


def on_graph(npu: str, family: str, **params: object) -> Platform:
    inside = {"npu-nvswitch": {"bandwidth": "450 GB/s", "latency": "350 ns"}}
    network = {
        "family": family,
        "params": params,
        "bandwidth": "50 GB/s",
        "latency": "500 ns",
        "cables": inside if family == "rails" else {},
    }
    return Platform.model_validate({"npu": load_npu(npu), "network": network})


def test_a_level_of_a_graph_is_scale_up_if_its_cables_lead_nowhere_else() -> None:
    servers = {"servers": 4, "npus_per_server": 8, "servers_per_pod": 2, "spines": 4}
    assert scale_up_dimensions(on_graph("h100_80", "rails", **servers)) == 1
    # eight NPUs hang at a leaf, as many as a domain has, but over cards
    leaves = {"leaves": 4, "npus_per_leaf": 8, "spines": 8}
    assert scale_up_dimensions(on_graph("h100_80", "leaf_spine", **leaves)) == 0
    assert scale_up_dimensions(on_graph("h100_80", "fat_tree", k=4)) == 0
    assert scale_up_dimensions(on_graph("tpu_v4", "torus", dims=[4, 4, 4])) == 3


def test_levels_that_share_ports_ask_for_them_once() -> None:
    pods = machine("a100_80", ("switch", 8, 300), ("switch", 16, 25), ("switch", 8, 25))
    shared = pods.dimensions[2].model_copy(update={"shares_ports": True})
    assert unbuildable(pods) is not None
    assert (
        unbuildable(pods.model_copy(update={"dimensions": (*pods.dimensions[:2], shared)})) is None
    )
