"""ASTRA-sim's files on Garnet: a send by formula, a ring, and a network file that is refused."""

import json
from pathlib import Path
from typing import Any

from simcore.formats.astra import run_batch
from simcore.formats.chakra import Metadata, Node, attribute, write_trace

NETWORK = """num-npus: 4
num-packages: 2
package-rows: 1
topology: Torus3D
local-rings: 1
horizontal-rings: 1
flit-width: 256
package-packet-size: 512
tile-link-width: 256
package-link-width: 256
vcs-per-vnet: 50
router-latency: 1
local-link-latency: 10
package-link-latency: 30
buffers-per-vc: 5000
"""
FLITS = 16
IDLE = Node(id=1, type=4, duration_micros=1)


def simulate(folder: Path, nodes: list[list[Node]], network: str = NETWORK) -> dict[str, Any]:
    system = {
        "scheduling-policy": "LIFO",
        "collective-optimization": "baseline",
        "preferred-dataset-splits": 1,
        "endpoint-delay": 0,
        "all-reduce-implementation": ["ring", "ring"],
    }
    (folder / "system.json").write_text(json.dumps(system))
    (folder / "memory.json").write_text(json.dumps({"memory-type": "NO_MEMORY_EXPANSION"}))
    (folder / "network.txt").write_text(network)
    for npu, listed in enumerate(nodes):
        write_trace(folder / f"w.{npu}.et", Metadata(version="0.0.4"), listed)
    entry: dict[str, object] = {
        "id": "a", "backend": "garnet", "workload": "w", "system": "system.json",
        "network": "network.txt", "remote_memory": "memory.json",
    }  # fmt: skip
    found: Any = run_batch([entry], folder, lambda name, status: None)["a"]["garnet"]
    return dict(found)


def test_a_send_takes_what_the_formula_says(tmp_path: Path) -> None:
    size = 3 * 512
    ends = [attribute("comm_size", size), attribute("comm_tag", 1)]
    send = Node(id=1, type=5, attributes=(attribute("comm_dst", 2), *ends))
    receive = Node(id=1, type=6, attributes=(attribute("comm_src", 0), *ends))
    found = simulate(tmp_path, [[send], [IDLE], [receive], [IDLE]])
    assert found["status"] == "ok", found["message"]
    # begins a cycle later; 1, links of both nodes, two routers, the link, flits behind the first
    assert found["finish_cycles"][2] == 1 + 1 + 2 * 10 + 2 + 30 + 3 * FLITS - 1


def test_an_all_reduce_runs_over_both_dimensions(tmp_path: Path) -> None:
    size = 4 * 512 * 4
    wants = (attribute("comm_type", 0), attribute("comm_size", size))
    node = Node(id=1, type=7, attributes=wants)
    found = simulate(tmp_path, [[node]] * 4)
    assert found["status"] == "ok", found["message"]
    # two steps of half the data in each package, then two between them
    steps = [2 * (1 + 1 + 20 + 2 + link + size // 2 // 32 - 1) for link in (10, 30)]
    assert found["finish_cycles"] == [sum(steps)] * 4


def test_a_network_file_that_breaks_a_rule_is_refused(tmp_path: Path) -> None:
    found = simulate(tmp_path, [[IDLE]] * 4, NETWORK.replace("num-packages: 2", "num-packages: 3"))
    assert found["status"] == "error"
    assert "network.txt num-packages: must divide num-npus, 4" in found["message"]
