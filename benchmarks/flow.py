"""How fast flows on graphs are, and how exact: `python benchmarks/flow.py [--random 2000]`.

CPU seconds of one process, kernels compiled before. `ring`: a ring all-reduce over all 1,024 NPUs
of a three-tier fat tree, each of its 2,095,104 messages a flow. `all_to_all`: 65,280 flows at once
among 256 NPUs of a 2:1 leaf-spine network, by destination and by hash. `fat_tree_65536`: a ring's
first step on 65,536 NPUs, with building and routing. `random`: random graphs and flows against a
plain oracle, the largest relative difference.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from plain_flows import plain_finish, random_case

from simcore.flows.case import case_of
from simcore.flows.simulate import FlowTable, simulate_flows
from simcore.graphs.graph import NetworkGraph
from simcore.graphs.read import graph_of_table
from simcore.graphs.routing import ROUTINGS, Demands, RouteTable


def network(family: str, **params: int) -> NetworkGraph:
    """A network of cables of 50 GB/s and 500 ns."""
    speeds = {"bandwidth": "50 GB/s", "latency": "500 ns"}
    return graph_of_table({"family": family, "params": params, **speeds})


def routed(
    graph: NetworkGraph, rule: str, source: object, target: object, **options: object
) -> RouteTable:
    source, target = np.asarray(source, np.int64), np.asarray(target, np.int64)
    routing = ROUTINGS[rule]
    demands = Demands(
        source=source,
        target=target,
        number=np.arange(len(source)),
        size_bytes=np.ones(len(source)),
    )
    return routing.routes(graph, demands, routing.options.build(**options))


def ring(npus: int, size_bytes: float) -> FlowTable:
    """Messages of a ring all-reduce: step s of NPU i waits for step s - 1 of NPU i - 1."""
    steps = 2 * (npus - 1)
    count = steps * npus
    npu = np.tile(np.arange(npus), steps)
    flow = np.arange(count)
    waits_for = (flow - npus - npu + (npu - 1) % npus)[npus:]
    waits = np.concatenate([np.zeros(npus + 1, np.int64), np.arange(1, count - npus + 1)])
    return FlowTable(
        route=npu,
        size_bytes=np.full(count, size_bytes / npus),
        start_ns=np.zeros(count),
        waits_offsets=waits,
        waits_for=waits_for,
    )


def timed(name: str, call: Callable[[], object]) -> object:
    call_begin = time.process_time()
    found = call()
    print(f"{name:28} {time.process_time() - call_begin:7.3f} CPU s", flush=True)
    return found


def ring_on_fat_tree() -> None:
    graph = network("fat_tree", k=16)
    npus = np.arange(graph.npus)
    small = routed(graph, "ecmp_hash", npus, (npus + 1) % graph.npus)
    table = ring(graph.npus, 1e9)
    done = timed("ring", lambda: simulate_flows(graph, small, table))
    print(f"{'':28} {len(table):,} flows end at {done.makespan_ns / 1e6:.3f} ms")  # type: ignore[attr-defined]


def all_to_all() -> None:
    graph = network("leaf_spine", leaves=8, npus_per_leaf=32, spines=16)
    source, target = (index.ravel() for index in np.indices((256, 256)))
    apart = source != target
    source, target = source[apart], target[apart]
    count = len(source)
    table = FlowTable(
        route=np.arange(count), size_bytes=np.full(count, 1e6), start_ns=np.zeros(count)
    )
    for rule, options in (("dmodk", {"divisors": (1,)}), ("ecmp_hash", {})):
        routes = routed(graph, rule, source, target, **options)
        done = timed(f"all_to_all {rule}", lambda: simulate_flows(graph, routes, table))  # noqa: B023
        print(f"{'':28} {count:,} flows end at {done.makespan_ns / 1e6:.3f} ms")  # type: ignore[attr-defined]


def large_fat_tree() -> None:
    def run() -> float:
        graph = network("fat_tree", k=64)
        npus = np.arange(graph.npus)
        routes = routed(graph, "ecmp_hash", npus, (npus + 1) % graph.npus)
        table = FlowTable(
            route=npus, size_bytes=np.full(graph.npus, 1e6), start_ns=np.zeros(graph.npus)
        )
        return simulate_flows(graph, routes, table).makespan_ns

    timed("fat_tree_65536", run)


def against_oracle(count: int) -> None:
    worst = 0.0
    for seed in range(count):
        data = random_case(seed)
        case = case_of(data)
        got = simulate_flows(case.graph, case.routes, case.flows).finish_ns
        want = np.array(plain_finish(data))
        worst = max(worst, float((np.abs(got - want) / np.maximum(want, 1e-9)).max(initial=0.0)))
    print(f"{'random':28} {count} cases, largest relative difference {worst:.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=200, help="random cases")
    count = parser.parse_args().random
    warm = network("fat_tree", k=4)
    npus = np.arange(16)
    simulate_flows(warm, routed(warm, "ecmp_hash", npus, (npus + 1) % 16), ring(16, 1e6))
    ring_on_fat_tree()
    all_to_all()
    large_fat_tree()
    against_oracle(count)


if __name__ == "__main__":
    main()
