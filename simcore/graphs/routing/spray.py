"""Spraying: packets of a flow go over all shortest ways."""

from fractions import Fraction

import numpy as np

from simcore.graphs.graph import Ints, NetworkGraph
from simcore.graphs.routing.base import Demands, Routing, RoutingOptions, no_way
from simcore.graphs.routing.minimal import inward
from simcore.graphs.routing.table import Route, RouteTable
from simcore.kernels.graphs.routes import distances_to
from simcore.kernels.graphs.spreading import spread


class Spray(Routing):
    """A flow leaves every node in equal parts over its links to nearer nodes.

    A. Dixit et al., "On the Impact of Packet Spraying in Data Center Networks", INFOCOM 2013.
    """

    def routes(self, graph: NetworkGraph, demands: Demands, options: RoutingOptions) -> RouteTable:
        order = np.argsort(demands.target, kind="stable")
        source, target = demands.source[order], demands.target[order]
        rules = graph.npus, graph.npus_forward
        first, links, parts = spread(*inward(graph), *graph.outward(), *rules, source, target)
        counts = np.diff(first)
        if (lost := order[(counts == 0) & (source != target)]).size:
            flow = int(lost.min())
            raise no_way(graph, int(demands.source[flow]), int(demands.target[flow]))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        offsets = np.concatenate([[0], np.cumsum(counts[place])]).astype(np.int64)
        taken = np.repeat(first[place] - offsets[:-1], counts[place]) + np.arange(offsets[-1])
        return RouteTable.of_arrays(graph, offsets, links[taken], parts[taken])

    def exact(self, graph: NetworkGraph, demands: Demands, options: RoutingOptions) -> list[Route]:
        found: dict[tuple[int, int], Route] = {}
        by_target: dict[int, Ints] = {}
        pairs = list(zip(demands.source.tolist(), demands.target.tolist(), strict=True))
        for source, target in pairs:
            if (source, target) not in found:
                if target not in by_target:
                    by_target[target] = _distances(graph, target)
                found[source, target] = _spread(graph, by_target[target], source, target)
        return [found[pair] for pair in pairs]


def _distances(graph: NetworkGraph, target: int) -> Ints:
    links, queue = np.full(graph.nodes, -1, np.int64), np.empty(graph.nodes, np.int64)
    everything = np.arange(graph.nodes)
    back = inward(graph)
    distances_to(*back, graph.npus, graph.npus_forward, target, everything, links, queue)
    return links


def _spread(graph: NetworkGraph, links: Ints, source: int, target: int) -> Route:
    """Links with their parts, ascending."""
    if links[source] < 0:
        raise no_way(graph, source, target)
    offsets, ids, to = graph.outward()
    at = {source: Fraction(1)}
    parts: dict[int, Fraction] = {}
    for left in range(int(links[source]) - 1, -1, -1):
        ahead: dict[int, Fraction] = {}
        for node, part in at.items():
            here = slice(offsets[node], offsets[node + 1])
            out = [
                (link, other)
                for link, other in zip(ids[here].tolist(), to[here].tolist(), strict=True)
                if links[other] == left
                and (graph.npus_forward or other >= graph.npus or other == target)
            ]
            for link, other in out:
                share = part / len(out)
                parts[link] = parts.get(link, Fraction(0)) + share
                ahead[other] = ahead.get(other, Fraction(0)) + share
        at = ahead
    return sorted(parts.items())
