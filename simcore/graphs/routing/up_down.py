"""Up/down: no link towards the root after one away from it, so that nothing deadlocks."""

from dataclasses import replace

import numpy as np

from simcore.errors import ConfigError
from simcore.graphs.graph import Ints, NetworkGraph
from simcore.graphs.routing.base import Demands, Routing
from simcore.graphs.routing.minimal import SeedOptions, shortest
from simcore.graphs.routing.table import RouteTable
from simcore.kernels.graphs.distances import walk
from simcore.kernels.graphs.routes import HASHED


class UpDown(Routing):
    """A shortest of the ways that never turn up again; one of several by a hash.

    M. Schroeder et al., "Autonet", IEEE J. Selected Areas in Communications 9(8), 1991. The root is
    the switch, or the NPU where there are none, farthest from NPUs; links lead up to nodes nearer
    to it, and to lower numbers among nodes as far.
    """

    options = SeedOptions

    def routes(self, graph: NetworkGraph, demands: Demands, options: SeedOptions) -> RouteTable:
        twice = _before_and_after_turning(graph, _heights(graph))
        stays = demands.source == demands.target
        doubled = Demands(
            source=np.where(stays, demands.target + graph.nodes, demands.source),
            target=demands.target + graph.nodes,
            number=demands.number,
            size_bytes=demands.size_bytes,
        )
        try:
            offsets, links = shortest(twice, doubled, HASHED, options.seed)
        except ConfigError as error:
            rule = "must join all NPUs that send to each other by a way up, then down"
            raise ConfigError("network", rule, got=error.got) from None
        return RouteTable.of_arrays(graph, offsets, twice.cable_of[links])


def _heights(graph: NetworkGraph) -> Ints:
    """(nodes,) links to the root."""
    offsets, _, to = graph.outward()
    far, queue = np.empty(graph.nodes, np.int64), np.empty(graph.nodes, np.int64)
    root = 0
    if graph.nodes > graph.npus:
        walk(offsets, to, graph.npus, True, 0, far, queue)
        from_npus = np.full(graph.nodes, graph.nodes)
        from_npus[: graph.npus] = 0
        for _ in range(graph.nodes):
            nearer = np.minimum.reduceat(
                np.append(from_npus[to], graph.nodes), np.minimum(offsets[:-1], len(to))
            )
            better = np.where(np.diff(offsets) > 0, nearer + 1, graph.nodes)
            if (better >= from_npus).all():
                break
            from_npus = np.minimum(from_npus, better)
        from_npus[from_npus == graph.nodes] = -1
        root = graph.npus + int(np.argmax(from_npus[graph.npus :]))
    walk(offsets, to, graph.npus, True, root, far, queue)
    return far


def _before_and_after_turning(graph: NetworkGraph, height: Ints) -> NetworkGraph:
    """Each node twice: before and after the way has turned down; ``cable_of``: the link meant.

    A link down leads from both copies to the second one. A link up leads from the first copy to
    the first, and to the second as well, where the way may end.
    """
    offsets, ids, to = graph.outward()
    at = np.repeat(np.arange(graph.nodes), np.diff(offsets))
    up = (height[to] < height[at]) | ((height[to] == height[at]) & (to < at))
    if not graph.npus_forward:
        passes = (at < graph.npus) | (to >= graph.npus) | ~up
        up &= passes
    n, down = graph.nodes, ~up
    begin = np.concatenate([at[up], at[up], at[down], at[down] + n])
    end = np.concatenate([to[up], to[up] + n, to[down] + n, to[down] + n])
    link = np.concatenate([ids[up], ids[up], ids[down], ids[down]])
    if not graph.npus_forward:
        own = (begin % n >= graph.npus) | (begin < graph.npus)
        begin, end, link = begin[own], end[own], link[own]
    return replace(
        graph,
        nodes=2 * n,
        npus=0,
        tier_of=np.zeros(2 * n, np.int64),
        link_from=begin,
        link_to=end,
        bytes_per_s=np.ones(len(link)),
        latency_ns=np.zeros(len(link)),
        half=np.zeros(len(link), np.bool_),
        cable_of=link,
        _kept={},
    )
