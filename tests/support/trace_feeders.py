"""The orders in which feeders hand out the nodes of a trace: Chakra's first one and ASTRA-sim's."""

import heapq
from collections import Counter

import numpy as np

from simcore.formats.chakra.graph import build_graph, refuse_endless
from simcore.formats.chakra.trace import Trace


def drain_v1(trace: Trace) -> list[int]:
    """Ids in the order of Chakra's first feeder: lowest free id, data dependencies only.

    A dependency that stands twice is cleared once, so its node never comes; nor do nodes with a
    missing parent or in a cycle. They are absent from the result.
    """
    ids = trace.ids.tolist()
    starts, deps = trace.data_start.tolist(), trace.data_deps.tolist()
    waiting: dict[int, Counter[int]] = {}
    children: dict[int, list[int]] = {}
    for row, node in enumerate(ids):
        parents = Counter(deps[starts[row] : starts[row + 1]])
        waiting[node] = parents
        for parent in parents:
            children.setdefault(parent, []).append(node)
    free = [node for node, parents in waiting.items() if not parents]
    heapq.heapify(free)
    order = []
    while free:
        node = heapq.heappop(free)
        order.append(node)
        for child in children.get(node, ()):
            parents = waiting[child]
            parents[node] -= 1
            if not parents[node]:
                del parents[node]
                if not parents:
                    heapq.heappush(free, child)
    return order


def drain_v3(trace: Trace) -> list[int]:
    """Ids in the order of ASTRA-sim's feeder: all free ids, ascending, then those they freed.

    Waits for data and control dependencies. Nodes in or behind a cycle are absent.

    Raises:
        ConfigError: No node is free, an id stands twice or a dependency names no node.
    """
    graph = build_graph(trace)
    refuse_endless(trace, graph)
    level = graph.longest_paths(np.ones(graph.rows.size, np.int64))
    order = np.argsort(level, kind="stable")
    return [int(node) for node in graph.ids[order[level[order] > 0]]]
