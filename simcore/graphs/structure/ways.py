"""Shortest ways between two NPUs, and distances between all."""

import numpy as np

from simcore.graphs.graph import Ints, NetworkGraph
from simcore.kernels.graphs.distances import summarise, walk


def shortest_ways(graph: NetworkGraph, a: int, b: int) -> tuple[int, int] | None:
    """Links of the shortest way from node *a* to *b*, and how many ways are as short.

    Parallel cables are different ways. None: there is no way.
    """
    offsets, _, to = graph.outward()
    links, queue = np.empty(graph.nodes, np.int64), np.empty(graph.nodes, np.int64)
    reached = walk(offsets, to, graph.npus, graph.npus_forward, a, links, queue)
    if links[b] < 0:
        return None
    ways = {a: 1}  # Python's whole numbers: a torus of 4,096 NPUs has more than 2^63
    for node in queue[:reached].tolist():
        if links[node] >= links[b]:
            break
        if node < graph.npus and node != a and not graph.npus_forward:
            continue
        for other in to[offsets[node] : offsets[node + 1]].tolist():
            if links[other] == links[node] + 1:
                ways[other] = ways.get(other, 0) + ways[node]
    return int(links[b]), ways[b]


def all_distances(graph: NetworkGraph) -> Ints:
    """See ``simcore.kernels.graphs.distances.summarise``; alike NPUs are walked from once."""
    offsets, _, to = graph.outward()
    alike: dict[bytes, int] = {}
    counts: dict[int, int] = {}
    for npu in range(graph.npus):
        around = np.sort(to[offsets[npu] : offsets[npu + 1]]).tobytes()
        first = alike.setdefault(around, npu)
        counts[first] = counts.get(first, 0) + 1
    starts = np.array(list(counts), np.int64)
    weights = np.array(list(counts.values()), np.int64)
    return summarise(offsets, to, graph.npus, graph.npus_forward, starts, weights)
