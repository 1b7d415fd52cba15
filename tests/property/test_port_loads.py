"""Where messages meet on a graph, no NPU is said to send more than leaves its ports."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from simcore import RunTemplate, simulate_run
from simcore.flows.kept import kept_levels
from simcore.flows.simulate import simulate_at_once
from simcore.graphs.network_table import NetworkFile
from simcore.graphs.routed import routed

SPEEDS = {"bandwidth": "2 GB/s", "latency": "500 ns"}
INSIDE = {"npu-nvswitch": {"bandwidth": "20 GB/s", "latency": "350 ns"}}
SPINES = {
    "clos": {"family": "leaf_spine", "params": {"leaves": 2, "npus_per_leaf": 2, "spines": 2}}
}
OUTSIDE = {"npus_per_domain": 2, "planes": True, "outside": "clos", "networks": SPINES}
NETWORKS: dict[str, dict[str, Any]] = {
    "leaves, hashed": {
        "family": "leaf_spine",
        "params": {"leaves": 4, "npus_per_leaf": 2, "spines": 4},
        "routing": {"rule": "ecmp_hash"},
    },
    "leaves, spread": {
        "family": "leaf_spine",
        "params": {"leaves": 4, "npus_per_leaf": 2, "spines": 1},
        "routing": {"rule": "spray"},
    },
    "rings of rings": {
        "family": "torus",
        "params": {"dims": [4, 2]},
        "routing": {"rule": "spray"},
    },
    "domains": {"family": "domains", "params": OUTSIDE, "cables": INSIDE},
    "islands": {"family": "islands", "params": {"sizes": [3, 5], "joins": [[2, 3]]}},
}


def network(name: str) -> dict[str, Any]:
    return {**SPEEDS, **NETWORKS[name]}


def run_table(name: str) -> dict[str, Any]:
    return {
        "version": 1,
        "workload": {"model": "gpt3_175b_4layers", "sequence": 64, "global_batch": 8},
        "platform": {"npu": "a100_80", "network": network(name)},
        "plan": {"tp": 2, "dp": 4},
        "system": {"all_reduce": "direct", "phase_end": "together"},
        "backend": "flow",
    }


def most_sent_by_hand(table: dict[str, Any]) -> float:
    """Bytes per second over the ports of the NPU that has most, link by link."""
    graph = NetworkFile.from_file_data(table, at="").graph()
    out = dict.fromkeys(range(graph.npus), 0.0)
    for begin, end, rate, half in zip(
        graph.link_from, graph.link_to, graph.bytes_per_s, graph.half, strict=True
    ):
        for npu in (begin, end) if half else (begin,):
            if npu in out:
                out[int(npu)] += float(rate)
    return max(out.values())


@pytest.mark.parametrize("name", NETWORKS)
def test_ports_of_a_network_are_those_of_the_best_joined_npu(name: str) -> None:
    levels = kept_levels(NetworkFile.from_file_data(network(name), at=""))
    assert {level.port_bytes_per_s for level in levels} == {most_sent_by_hand(network(name))}


@pytest.mark.parametrize("name", NETWORKS)
def test_no_pattern_of_messages_leaves_an_npu_faster_than_its_ports(name: str) -> None:
    file = NetworkFile.from_file_data(network(name), at="")
    over, ports = routed(file), kept_levels(file)[-1].port_bytes_per_s
    source, rates = np.arange(over.npus), list[float]()
    for first in permutations(range(4)):  # every way in which four NPUs send to each other
        target = np.array([*first, *np.roll(source[4:], 1)])
        apart = target != source
        routes = over.routes(source[apart], target[apart])
        rates.append(1e15 / simulate_at_once(over.graph, routes, 1e6).makespan_ns)
    assert 0 < max(rates) <= ports


def test_nothing_is_over_the_links_of_a_network_on_which_messages_meet() -> None:
    before = []
    for name in NETWORKS:
        run = RunTemplate.from_table(run_table(name)).with_values({})
        result = simulate_run(run)
        assert 0 < max(result.link_loads) <= 1, name
        ports = most_sent_by_hand(network(name))
        before += [
            load * ports / dimension.usable_bandwidth_bytes_per_s
            for load, dimension in zip(result.link_loads, run.platform.dimensions, strict=True)
        ]
    assert max(before) > 1, "by the slowest way along a level some would be over"
