"""Synthesised schedules beside the best algorithm that has a name, on the same network."""

from pathlib import Path
from typing import Any

import pytest

from simcore.engines.collectives.alone import Asked, times_alone
from simcore.machine import load_platform
from simcore.synthesis.placed import kept
from simcore.synthesis.placed.carriage import carriage

SERVERS = {"npu-nvswitch": {"bandwidth": "450 GB/s", "latency": "200 ns"}}
NETWORKS: dict[str, dict[str, Any]] = {
    "uneven star": {
        "family": "star",
        "params": {"n": 6},
        "cable_scale": {2: {"bandwidth": 0.5}},
    },
    "torus": {"family": "torus", "params": {"dims": [3, 3]}},
    "mesh with a failed cable": {"family": "mesh", "params": {"dims": [4, 2], "failed": [3]}},
    "rails": {
        "family": "rails",
        "params": {"servers": 4, "npus_per_server": 2, "servers_per_pod": 4, "spines": 0},
        "cables": SERVERS,
    },
    "dragonfly": {"family": "dragonfly", "params": {"p": 1, "a": 2, "h": 1}},
    "cube": {"family": "hybrid_cube_mesh", "params": {"generation": "v100"}},
    "star that adds up": {
        "family": "star",
        "params": {"n": 5},
        "in_network": {"reduces": True, "multicasts": True},
    },
}
LARGE = "uneven star", "star that adds up"


@pytest.mark.parametrize(
    ("name", "size_bytes"),
    [
        *((name, 64 << 10) for name in NETWORKS if name != "uneven star"),
        *((name, 16 << 20) for name in LARGE),
    ],
)
def test_no_algorithm_with_a_name_is_faster(
    name: str, size_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As flows that share links; small buffers wait for latencies, large ones for rates."""
    monkeypatch.setattr(kept, "_folder", lambda: tmp_path / "schedules")
    table = {**NETWORKS[name], "bandwidth": "50 GB/s", "latency": "500 ns"}
    platform = load_platform({"npu": "h100_80", "network": table})
    network = platform.dimensions[0].network
    assert network is not None
    # by its name it says that switches add up: no rival where they do not
    others = ("synthesised",) if network.in_network.reduces else ("synthesised", "in_network")
    for kind in ("all_reduce", "all_to_all"):
        asked = Asked(
            collective=kind,
            size_bytes=size_bytes,
            backend="flow",
            system={"chunks": 1, "endpoint_delay": "0 ns"},
        )
        named = [one.last_ns for one in times_alone(platform, asked) if one.name not in others]
        found = carriage(network, range(platform.npus), kind, size_bytes)
        # a chunk is stored where NPUs add it up
        assert found.time_ns <= min(named) * 1.002
