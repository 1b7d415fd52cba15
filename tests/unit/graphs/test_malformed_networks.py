"""Networks that make no sense: one sentence with file and place, never a traceback."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from simcore import ConfigError
from simcore.cli.app import cli

SPEED = {"bandwidth": "50 GB/s", "latency": "500 ns"}


def built(family: str, params: Any = None, **more: Any) -> dict[str, Any]:
    return {"family": family, "params": {"n": 4} if params is None else params, **SPEED, **more}


def turning(*limits: dict[str, Any], move: str = "1 ms") -> dict[str, Any]:
    return built("ring", circuits={"reconfiguration": move, "at_once": list(limits)})


ROWS = ["id", "a", "b", "Bps", "latency_ns", "duplex"]
ONE = {"cables": "dim0", "most": 1}
NETWORKS: dict[str, Any] = {
    "nothing": None,
    "a word": "torus",
    "an empty table": {},
    "an empty list": [],
    "unknown family": built("klein_bottle"),
    "unknown parameter": built("ring", {"n": 4, "m": 2}),
    "missing parameter": built("ring", {}),
    "negative": built("torus", {"dims": [4, -1]}),
    "zero": built("torus", {"dims": [0]}),
    "half": built("torus", {"dims": [4.5]}),
    "text for a list": built("torus", {"dims": "4x4"}),
    "too many": built("torus", {"dims": [100_000, 100_000]}),
    "odd fat tree": built("fat_tree", {"k": 3}),
    "huge fat tree": built("fat_tree", {"k": 100_000}),
    "rails that do not divide": built(
        "rails", {"servers": 10, "npus_per_server": 8, "servers_per_pod": 3, "spines": 4}
    ),
    "dragonfly of too many groups": built("dragonfly", {"p": 1, "a": 2, "h": 1, "groups": 99}),
    "no prime": built("slim_fly", {"q": 6, "terminals": 2}),
    "join of no NPU": built("islands", {"sizes": [4, 6], "joins": [[3, 99]]}),
    "unknown generation": built("hybrid_cube_mesh", {"generation": "x900"}),
    "domains of nothing": built("domains", {"npus_per_domain": 8, "outside": "a", "networks": {}}),
    "no bandwidth": {**built("ring"), "bandwidth": "0 GB/s"},
    "below none": {**built("ring"), "bandwidth": "-5 GB/s"},
    "no unit": {**built("ring"), "bandwidth": "50 parsec"},
    "no number": {**built("ring"), "bandwidth": "nan GB/s"},
    "for ever": {**built("ring"), "latency": "inf s"},
    "no speed": built("ring", speed=0),
    "unknown kind": built("ring", cables={"spine": SPEED}),
    "no such cable": built("ring", cable_scale={"99": {"bandwidth": 0.5}}),
    "failed and not there": built("ring", {"n": 4, "failed": [77]}),
    "failed twice": built("ring", {"n": 8, "failed": [1, 1]}),
    "shape of others": built("ring", {"n": 6}, shape=[4]),
    "shape of one": built("ring", {"n": 6}, shape=[6, 1]),
    "more levels than there are": built("hypercube", {"d": 12}, shape=[2] * 12),
    "unknown rule": built("ring", routing={"rule": "psychic"}),
    "unknown option": built("ring", routing={"rule": "ecmp_hash", "seeds": 2}),
    "no coordinates": built("fat_tree", {"k": 4}, routing={"rule": "dimension_order"}),
    "no channels": built("ring", routing={"rule": "ecmp_hash", "virtual_channels": 0}),
    "too few channels": built(
        "ring", {"n": 5}, routing={"rule": "dimension_order", "virtual_channels": 1}
    ),
    "unreachable pair": built("ring", {"n": 4, "failed": [0, 2]}, routing={"rule": "ecmp_hash"}),
    "pair of no NPU": built("ring", pairs=[[0, 9]]),
    "half a pair": built("ring", pairs=[[0]]),
    "radix of one": built("star", in_network={"reduces": True, "radix": 1}),
    "family and graph": built("ring", graph={"nodes": 2, "npus": 2, "links": []}),
    "columns": {"graph": {"nodes": 2, "npus": 2, "links": [[0, 1]], "links_cols": ["a", "b"]}},
    "nodes in words": {"graph": {"nodes": "four", "npus": 4, "links": [], "links_cols": ROWS}},
    "edge to nowhere": {"graph": {"nodes": [{"id": 0}], "links": [{"source": 0, "target": 5}]}},
    "edge to itself": {"graph": {"nodes": [{"id": 0}], "links": [{"source": 0, "target": 0}]}},
    "circuits of no kind": turning({"cables": "spine", "most": 1}),
    "circuits of nothing": turning(),
    "circuits sooner than now": turning(ONE, move="-1 ms"),
    "circuits one way and both": turning(ONE, {**ONE, "each_way": True}),
    "true for a cable": turning({"cables": [True], "most": 1}),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_wrong_with_a_network_is_told_in_a_sentence(name: str, tmp_path: Path) -> None:
    file = tmp_path / "network.json"
    file.write_text(json.dumps(NETWORKS[name]))
    done = CliRunner().invoke(cli, ["network", "show", str(file)])
    assert isinstance(done.exception, ConfigError), done.output
    told = str(done.exception)
    assert told.startswith(str(file))
    assert "\n" not in told
    assert len(told) < 600
