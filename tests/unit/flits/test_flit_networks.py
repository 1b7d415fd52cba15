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
from simcore.flits.simulate import batch, steady

MESH: dict[str, Any] = {
    "topology": "mesh", "k": 4, "n": 2, "routing_function": "dor", "num_vcs": 4,
    "vc_buf_size": 8, "packet_size": 1, "traffic": "uniform",
}  # fmt: skip
TORUS = {**MESH, "topology": "torus", "routing_function": "dim_order"}


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize(("config", "link"), [(MESH, 1), (TORUS, 2)])
def test_a_lone_packet_takes_the_time_of_its_path(
    config: dict[str, Any], link: int, size: int
) -> None:
    # in and out of the network 3, four stages in each router, links between them, flits behind
    case = read_case({**config, "packet_size": size, "traffic": "hotspot({5})"})
    found = steady(case, {}, 1, 1e-4, is_throughput=False)
    assert found is not None
    hops = found["hops"]
    zero_load = 3 + 4 * hops + link * (hops - 1) + size - 1
    assert found["network_latency"] == pytest.approx(zero_load, rel=0.005)


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


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"topology": "fattree"}, "topology"),
        ({"routing_function": "valiant"}, "routing_function"),
        ({"sw_allocator": "separable_input_first"}, "sw_allocator"),
        ({"st_final_delay": 2}, "st_final_delay"),
        ({"num_vcs": 0}, "num_vcs"),
        ({"k": 200, "n": 3}, "k"),
        ({"packet_size": 1.5}, "packet_size"),
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
        {"id": "a", "config": {**MESH, "topology": "fly"}, "points": [point]},
        {"id": "b", "nodes": 16, "config": {**MESH, "batch_size": 2}, "points": [point]},
        {"id": "c", "config": MESH, "points": [{"kind": "low", "offered": -1}]},
    ]
    manifest, out = tmp_path / "m.json", tmp_path / "out.json"
    manifest.write_text(json.dumps({"cases": cases}))
    words = [str(manifest), "--out", str(out)]
    assert CliRunner().invoke(flits, words, catch_exceptions=False).exit_code == 0
    found = json.loads(out.read_text())
    assert [found[name]["status"] for name in "abc"] == ["error", "ok", "error"]
    assert "topology" in found["a"]["message"]
    assert "offered" in found["c"]["message"]
    assert len(found["b"]["points"][0]["batch_duration"]["values"]) == 2


@pytest.mark.parametrize("text", ["[]", '{"cases": 3}', '{"cases": [1]}', '{"cases": [{"id": 1}]}'])
def test_a_file_that_is_no_manifest_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"m\.json"):
        read_manifest(path)
