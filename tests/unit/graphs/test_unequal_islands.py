"""Unequal islands joined by one cable: in run files, and in place of ASTRA-sim's network file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcore.config import load_run
from simcore.errors import ConfigError
from simcore.formats.astra import AstraFiles, as_plain, simulate_files
from simcore.formats.chakra import Metadata, Node, attribute, write_trace
from simcore.simulation import Simulator
from simcore.terms import CollectiveKind, NodeKind

SIZES, JOIN = (4, 6), (3, 4)
FAST, SLOW = 100.0, 25.0
"""Bytes per ns of cables within islands, and of the one between them."""
SIZE = 1_000_000


def node_link() -> dict[str, Any]:
    """The islands as networkx writes a graph."""
    cables = [
        (first + a, first + b, FAST, 500)
        for first, size in ((0, SIZES[0]), (SIZES[0], SIZES[1]))
        for a in range(size)
        for b in range(a + 1, size)
    ]
    cables.append((*JOIN, SLOW, 2000))
    return {
        "directed": False,
        "multigraph": True,
        "graph": {"npus_forward": True},
        "nodes": [{"id": npu, "kind": "npu"} for npu in range(sum(SIZES))],
        "links": [
            {"source": a, "target": b, "bandwidth": f"{rate} GB/s", "latency": f"{latency} ns"}
            for a, b, rate, latency in cables
        ],
    }


def family() -> dict[str, Any]:
    return {
        "family": "islands",
        "params": {"sizes": list(SIZES), "joins": [list(JOIN)]},
        "bandwidth": "100 GB/s",
        "latency": "500 ns",
        "cables": {"join": {"bandwidth": "25 GB/s", "latency": "2 us"}},
    }


def astra(folder: Path, network: Path) -> AstraFiles:
    """All NPUs send each other ``SIZE`` bytes, at once."""
    npus = sum(SIZES)
    told = {"comm_type": int(CollectiveKind.ALL_TO_ALL), "comm_size": SIZE * npus}
    attributes = tuple(attribute(name, value) for name, value in told.items())
    for npu in range(npus):
        node = Node(id=1, type=int(NodeKind.COLLECTIVE), attributes=attributes)
        write_trace(folder / f"w.{npu}.et", Metadata(version="0.0.4"), [node])
    system = {
        "scheduling-policy": "LIFO",
        "collective-optimization": "baseline",
        "preferred-dataset-splits": 1,
        "endpoint-delay": 0,
        **{f"{kind}-implementation": ["direct"] for kind in ("all-reduce", "all-gather")},
        **{f"{kind}-implementation": ["direct"] for kind in ("reduce-scatter", "all-to-all")},
    }
    (folder / "system.json").write_text(json.dumps(system))
    (folder / "memory.json").write_text(json.dumps({"memory-type": "NO_MEMORY_EXPANSION"}))
    return AstraFiles(
        workload=folder / "w",
        system=folder / "system.json",
        network=network,
        remote_memory=folder / "memory.json",
        comm_group=None,
        folder=folder,
    )


def finish_ns(folder: Path, network: Path, backend: str = "flow") -> list[int]:
    plain: Any = as_plain(simulate_files(astra(folder, network), backend, {}))
    return list(plain["finish_cycles"])


def test_a_graph_stands_in_the_place_of_the_network_file(tmp_path: Path) -> None:
    (tmp_path / "graph.json").write_text(json.dumps(node_link()))
    (tmp_path / "network.yml").write_text(json.dumps(family()))
    (tmp_path / "named.yml").write_text("file: graph.json\n")
    found = finish_ns(tmp_path, tmp_path / "graph.json")
    # 4 x 6 messages cross the cable one way, and never leave it idle from its latency on
    least = 2000 + SIZES[0] * SIZES[1] * SIZE / SLOW
    assert least <= max(found) <= least + 1000 + 2
    assert finish_ns(tmp_path, tmp_path / "network.yml") == found
    assert finish_ns(tmp_path, tmp_path / "named.yml") == found


def test_graphml_stands_in_its_place_too(tmp_path: Path) -> None:
    (tmp_path / "graph.json").write_text(json.dumps(node_link()))
    keys = "".join(
        f'<key id="{name}" for="edge" attr.name="{name}" attr.type="string"/>'
        for name in ("bandwidth", "latency")
    )
    edges = "".join(
        f'<edge source="{one["source"]}" target="{one["target"]}">'
        f'<data key="bandwidth">{one["bandwidth"]}</data>'
        f'<data key="latency">{one["latency"]}</data></edge>'
        for one in node_link()["links"]
    )
    nodes = "".join(f'<node id="{npu}"/>' for npu in range(sum(SIZES)))
    space = 'xmlns="http://graphml.graphdrawing.org/xmlns"'
    text = (
        f'<graphml {space}>{keys}<graph edgedefault="undirected">{nodes}{edges}</graph></graphml>'
    )
    (tmp_path / "graph.graphml").write_text(text)
    found = finish_ns(tmp_path, tmp_path / "graph.graphml")
    assert found == finish_ns(tmp_path, tmp_path / "graph.json")


def test_a_broken_graph_is_told_with_its_file(tmp_path: Path) -> None:
    broken = node_link()
    broken["links"][0]["bandwidth"] = "-1 GB/s"
    (tmp_path / "graph.json").write_text(json.dumps(broken))
    with pytest.raises(ConfigError, match=r"graph\.json.*bandwidth"):
        finish_ns(tmp_path, tmp_path / "graph.json")
    apart = node_link()
    apart["links"].pop()
    (tmp_path / "graph.json").write_text(json.dumps(apart))
    with pytest.raises(ConfigError, match=r"graph\.json.*none from"):
        finish_ns(tmp_path, tmp_path / "graph.json")


def run_file(network: dict[str, Any], **more: Any) -> dict[str, Any]:
    model = {"name": "t", "layers": 1, "hidden": 320, "heads": 10, "ffn": 1280, "vocabulary": 1024}
    return {
        "workload": {"model": model, "sequence": 64, "global_batch": 10},
        "platform": {"npu": "h100_80", "network": network},
        "plan": {"dp": 10},
        "backend": "flow",
        **more,
    }


def test_islands_of_four_and_six_are_a_machine_of_a_run() -> None:
    slow = Simulator().simulate(load_run(run_file(family())))
    assert slow.npus == 10
    fast = Simulator().simulate(load_run(run_file({**family(), "cables": {}})))
    assert fast.iteration_time_s < slow.iteration_time_s
    given = {"graph": node_link()}
    assert Simulator().simulate(load_run(run_file(given))).iteration_time_s == pytest.approx(
        slow.iteration_time_s, rel=1e-9
    )


def test_a_ring_that_crosses_the_cable_once_each_way_is_what_placement_finds() -> None:
    scattered = np.random.default_rng(1).permutation(10).tolist()
    spread = Simulator().simulate(load_run(run_file(family(), placement=scattered)))
    near = Simulator().simulate(load_run(run_file(family())))
    assert near.iteration_time_s < spread.iteration_time_s
