"""Laws of networks flit by flit, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from simcore.cli.inside.flits import flits
from simcore.errors import ConfigError
from simcore.flits.case import read_case, targets_of
from simcore.flits.manifest import read_manifest
from simcore.flits.simulate import Network, batch, steady
from simcore.kernels.flits import network as words

MESH: dict[str, Any] = {
    "topology": "mesh", "k": 4, "n": 2, "routing_function": "dor", "num_vcs": 4,
    "vc_buf_size": 8, "packet_size": 1, "traffic": "uniform",
}  # fmt: skip
TORUS = {**MESH, "topology": "torus", "routing_function": "dim_order"}


SHARED = {"c": 4, "x": 2, "y": 2, "xr": 2, "yr": 2, "k": 2}
NETWORKS = {
    "mesh": MESH,
    "torus": TORUS,
    "cmesh": {**MESH, **SHARED, "topology": "cmesh", "routing_function": "dor_no_express"},
    "fly": {**MESH, "topology": "fly", "routing_function": "dest_tag", "k": 2, "n": 3},
    "fattree": {**MESH, "topology": "fattree", "routing_function": "nca", "k": 2, "n": 3},
    "flatfly": {**MESH, **SHARED, "topology": "flatfly", "routing_function": "ran_min"},
}
OTHER_ROUTES = {
    "mesh": ("xy_yx", "adaptive_xy_yx", "romm", "valiant", "min_adapt", "planar_adapt"),
    "torus": ("dim_order_bal", "min_adapt", "valiant"),
    "fattree": ("anca",),
    "flatfly": ("xyyx", "adaptive_xyyx", "valiant", "ugal"),
}
STAGES: list[tuple[dict[str, Any], int]] = [
    ({}, 4),
    ({"routing_delay": 0}, 3),
    ({"routing_delay": 2, "st_final_delay": 2}, 6),
    ({"st_prepare_delay": 1}, 5),
]


def _time_over_zero_load(config: dict[str, Any], stages: int, link: int, size: int) -> float:
    # in and out of the network 3, the stages of each router, links between them, flits behind
    case = read_case({**config, "packet_size": size, "traffic": "hotspot({5})"})
    found = steady(case, {}, 1, 3e-4, is_throughput=False)
    assert found is not None
    hops = found["hops"]
    return found["network_latency"] / (3 + stages * hops + link * (hops - 1) + size - 1)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("topology", NETWORKS)
def test_a_lone_packet_takes_the_time_of_its_path(topology: str, size: int) -> None:
    link = 2 if topology == "torus" else 1
    over = _time_over_zero_load(NETWORKS[topology], 4, link, size)
    assert over == pytest.approx(1, rel=0.006)


@pytest.mark.parametrize(("change", "stages"), STAGES)
def test_a_lone_packet_passes_each_stage_of_each_router(
    change: dict[str, Any], stages: int
) -> None:
    over = _time_over_zero_load({**MESH, **change}, stages, 1, 1)
    assert over == pytest.approx(1, rel=0.006)


@pytest.mark.parametrize(
    "config",
    [
        *NETWORKS.values(),
        *({**NETWORKS[t], "routing_function": r} for t in OTHER_ROUTES for r in OTHER_ROUTES[t]),
        *({**MESH, **change} for change, _ in STAGES[1:]),
        {**MESH, "hold_switch_for_packet": 1},
        {**MESH, "wait_for_tail_credit": 1},
        {**MESH, "speculative": 1},
        {**MESH, "speculative": 1, "routing_delay": 0, "routing_function": "min_adapt"},
        {**MESH, "input_speedup": 2, "vc_allocator": "islip(3)", "sw_allocator": "islip(3)"},
        {**MESH, "vc_allocator": "separable_input_first", "sw_allocator": "separable_output_first"},
    ],
)
def test_no_flit_slot_or_channel_is_lost(config: dict[str, Any]) -> None:
    case = read_case({**config, "batch_size": 12, "packet_size": 3, "vc_buf_size": 2})
    network = Network(case, {}, seed=2)
    network.run(0.0, 20_000, (0, 1 << 60))
    assert network.total(words.ARRIVALS) == network.total(words.PACKETS) == 12 * case.nodes
    assert network.arrived().sum() == 3 * 12 * case.nodes
    for at in (words.AT_OUTPUT, words.AT_NODE_OUTPUT):
        channels = network.memory.table(at)
        assert (channels[..., words.CREDITS] == 2).all()
        assert (channels[..., words.TAKEN] < words.UNTIL_TAIL).all()


@pytest.mark.parametrize("config", [MESH, TORUS])
def test_each_packet_of_a_batch_arrives_once(config: dict[str, Any]) -> None:
    case = read_case({**config, "batch_size": 20, "packet_size": 3})
    first, again = batch(case, {}, seed=3), batch(case, {}, seed=3)
    assert first == again
    assert first != batch(case, {}, seed=4)
    assert first["batch_duration"] >= 20 * 3


def test_a_load_beyond_what_a_network_takes_has_no_steady_state() -> None:
    case = read_case(MESH)
    assert steady(case, {}, 1, 1.0, is_throughput=False) is None
    full = steady(case, {}, 1, 1.0, is_throughput=True)
    assert full is not None
    assert 0.5 < full["accepted"] < 1.0


def test_more_buffers_never_lower_the_throughput_by_much() -> None:
    found = []
    for depth in (1, 2, 4, 8):
        case = read_case({**MESH, "vc_buf_size": depth, "num_vcs": 1})
        full = steady(case, {}, 1, 1.0, is_throughput=True)
        assert full is not None
        found.append(full["accepted"])
    # one channel has one slot on its way for five cycles, so that it carries a fifth at most
    assert found == sorted(found)
    assert found[0] < found[-1] / 1.5


def test_what_a_router_may_do_more_raises_the_throughput_and_waiting_lowers_it() -> None:
    config = {**MESH, "packet_size": 4, "sample_period": 300}
    plain, wide, waits = (
        steady(read_case({**config, **change}), {}, 1, 1.0, is_throughput=True)
        for change in ({}, {"input_speedup": 2}, {"wait_for_tail_credit": 1})
    )
    assert plain is not None
    assert wide is not None
    assert waits is not None
    assert waits["accepted"] < 0.97 * plain["accepted"] < 0.95 * wide["accepted"]


LINES = """router 0 node 0 router 1 5 router 2
router 1 node 1 router 0 3 router 2
router 2 node 2 node 3 router 0 router 1
"""


def test_a_network_from_a_file_has_the_cycles_of_each_direction(tmp_path: Path) -> None:
    (tmp_path / "net.txt").write_text(LINES)
    config = {**MESH, "topology": "anynet", "routing_function": "min", "network_file": "net.txt"}
    case = read_case({**config, "traffic": "mine", "batch_size": 1}, tmp_path)
    assert case.nodes == 4
    # between 0 and 1 by router 2: links of 1 and 1 are shorter than one of 5, or one of 3 back
    for targets, hops, links in (([1, 0, 2, 3], 3, 2), ([0, 1, 3, 2], 1, 0)):
        found = batch(case, {"mine": targets}, seed=1)
        assert found["batch_duration"] == 3 + 4 * hops + links + 1


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        ("router 0 node 0 host 1", r"net\.txt:1"),
        ("router 0 node x", r"net\.txt:1"),
        ("router 0 node 0\nrouter 1 node 0", r"net\.txt:2"),
        ("router 0 node 0\nrouter 2 node 1", r"net\.txt"),
        ("router 0 node 0\nrouter 1 node 1", r"net\.txt"),  # no link
        ("node 0", r"net\.txt:1"),
        ("", r"net\.txt: must attach nodes"),
        ("router 0 router 1", r"net\.txt: must attach nodes"),
    ],
)
def test_a_file_that_is_no_network_is_refused(tmp_path: Path, lines: str, place: str) -> None:
    (tmp_path / "net.txt").write_text(lines)
    config = {**MESH, "topology": "anynet", "routing_function": "min", "network_file": "net.txt"}
    with pytest.raises(ConfigError, match=place + ("" if "must" in place else ": must")):
        read_case(config, tmp_path)
    with pytest.raises(ConfigError, match="must be a readable file"):
        read_case({**config, "network_file": "none.txt"}, tmp_path)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"topology": "dragonfly"}, "topology"),
        ({"routing_function": "dim_order_bal"}, "routing_function"),
        ({"sw_allocator": "max_weight"}, "sw_allocator"),
        ({"vc_alloc_delay": 2, "speculative": 1}, "vc_alloc_delay"),
        ({"injection_process": "poisson"}, "injection_process"),
        ({"injection_process": "on_off", "burst_r1": 0.5}, "burst_alpha"),
        ({"injection_process": "on_off", "burst_beta": 2}, "burst_beta"),
        ({"speculative": 2}, "speculative"),
        ({"num_vcs": 0}, "num_vcs"),
        ({"k": 200, "n": 3}, "k"),
        ({"packet_size": 1.5}, "packet_size"),
        ({"routing_function": "xy_yx", "num_vcs": 3}, "num_vcs"),
        ({"routing_function": "min_adapt", "num_vcs": 1}, "num_vcs"),
        ({**NETWORKS["cmesh"], "xr": 3}, "xr"),
        ({**NETWORKS["flatfly"], "x": 3}, "x"),
        ({"topology": "anynet", "routing_function": "min"}, "network_file"),
        ({"vc_busy_when_full": 1}, "vc_busy_when_full"),
        ({"num_vc": 4}, "num_vc"),
        ({"vc_allocator": "islip(2)"}, "sw_allocator"),
        ({"sim_type": "batch"}, "sim_type"),
        ({"batch_size": 1, "sim_type": "latency"}, "sim_type"),
    ],
)
def test_what_is_not_known_is_refused_by_name(change: dict[str, Any], place: str) -> None:
    with pytest.raises(ConfigError, match=f"^{place}: must"):
        read_case({**MESH, **change})


def test_a_torus_needs_two_halves_of_channels() -> None:
    with pytest.raises(ConfigError, match="num_vcs: must be even"):
        read_case({**TORUS, "num_vcs": 3})


@pytest.mark.parametrize(
    ("traffic", "expected"),
    [
        ("bitcomp", 15 - 6),
        ("transpose", 0b1001),  # of 0b0110
        ("bitrev", 0b0110),
        ("shuffle", 0b1100),
        ("neighbor", 0b1011),  # (2, 1) to (3, 2)
        ("tornado", 0b1011),  # a step of ceil(4 / 2) - 1
    ],
)
def test_patterns_send_where_they_say(traffic: str, expected: int) -> None:
    kind, targets = targets_of(read_case({**MESH, "traffic": traffic}), {})
    assert (kind, targets[6]) == ("table", expected)


def test_of_several_hot_spots_the_first_takes_all() -> None:
    assert targets_of(read_case({**MESH, "traffic": "hotspot({3,5})"}), {}) == ("listed", [3])


@pytest.mark.parametrize("traffic", ["hotspot({16})", "randperm(9)", "hotspot({})", "all"])
def test_patterns_that_do_not_fit_are_refused(traffic: str) -> None:
    with pytest.raises(ConfigError, match=r"^traffic: must"):
        targets_of(read_case({**MESH, "traffic": traffic}), {})


def test_a_case_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    point = {"kind": "batch", "seeds": 2}
    cases = [
        {"id": "a", "config": {**MESH, "topology": "dragonfly"}, "points": [point]},
        {"id": "b", "nodes": 16, "config": {**MESH, "batch_size": 2}, "points": [point]},
        {"id": "c", "config": MESH, "points": [{"kind": "low", "offered": -1}]},
        {"id": "d", "config": MESH, "points": [{"kind": "low", "offered": True}]},
        {"id": "e", "config": MESH, "points": [{"kind": "low", "offered": 0.1, "seeds": True}]},
    ]
    manifest, out = tmp_path / "m.json", tmp_path / "out.json"
    manifest.write_text(json.dumps({"cases": cases}))
    words = [str(manifest), "--out", str(out)]
    told = CliRunner().invoke(flits, words, catch_exceptions=False)
    assert told.exit_code == 0
    found = json.loads(out.read_text())
    assert [found[name]["status"] for name in "abcde"] == ["error", "ok", *["error"] * 3]
    assert all(f"{name}: {found[name]['message']}" in told.output for name in "acde")
    assert "topology" in found["a"]["message"]
    assert all("offered" in found[name]["message"] for name in "cd")
    assert "seeds" in found["e"]["message"]
    assert len(found["b"]["points"][0]["batch_duration"]["values"]) == 2


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"cases": 3}',
        '{"cases": [1]}',
        '{"cases": [{"id": 1}]}',
        '{"cases": [{"id": "a"}, {"id": "a"}]}',
        '{"cases": [], "permutations": 3}',
    ],
)
def test_a_file_that_is_no_manifest_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"m\.json"):
        read_manifest(path)
