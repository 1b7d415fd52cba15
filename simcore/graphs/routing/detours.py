"""Detours: Valiant's over a drawn node, and UGAL's where the shortest way is fuller."""

import numpy as np
from numpy.typing import NDArray

from simcore.graphs.graph import Ints, NetworkGraph
from simcore.graphs.routing.base import Demands, Routing
from simcore.graphs.routing.minimal import SeedOptions, inward, shortest
from simcore.graphs.routing.table import RouteTable
from simcore.kernels.graphs.routes import HASHED, choose_by_load, hops


class Valiant(Routing):
    """A shortest way to a node drawn for each flow, and a shortest way from there.

    L. Valiant, "A Scheme for Fast Parallel Communication", SIAM J. Computing 11(2), 1982. The node
    is a switch where there are switches, otherwise an NPU; a flow that cannot
    pass there goes straight.
    """

    options = SeedOptions

    def routes(self, graph: NetworkGraph, demands: Demands, options: SeedOptions) -> RouteTable:
        return RouteTable.of_arrays(graph, *_detours(graph, demands, options.seed))


class Ugal(Routing):
    """The shortest way or a Valiant detour, flow by flow: that of less load times links.

    A. Singh, "Load-Balanced Routing in Interconnection Networks", PhD thesis, Stanford, 2005, with
    the bytes that earlier flows bring in place of the queues that a switch sees.
    """

    options = SeedOptions

    def routes(self, graph: NetworkGraph, demands: Demands, options: SeedOptions) -> RouteTable:
        straight = shortest(graph, demands, HASHED, options.seed)
        detour = _detours(graph, demands, options.seed)
        sizes = demands.size_bytes
        chosen = choose_by_load(graph.bytes_per_s, sizes, *straight, *detour)
        counts = np.where(chosen, np.diff(detour[0]), np.diff(straight[0]))
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        links = np.empty(offsets[-1], np.int64)
        for those, (begin, found) in ((chosen, detour), (~chosen, straight)):
            _copy(links, offsets, found, begin, np.flatnonzero(those))
        return RouteTable.of_arrays(graph, offsets, links)


def _detours(graph: NetworkGraph, demands: Demands, seed: int) -> tuple[Ints, Ints]:
    first = graph.npus if graph.nodes > graph.npus else 0
    draw = np.random.default_rng(seed)
    over = first + draw.integers(0, graph.nodes - first, len(demands.source))
    over = np.where(_joins(graph, demands, over), over, demands.source)
    legs = []
    for source, target in ((demands.source, over), (over, demands.target)):
        leg = Demands(
            source=source,
            target=target,
            number=demands.number,
            size_bytes=demands.size_bytes,
        )
        legs.append(shortest(graph, leg, HASHED, seed))
    counts = np.diff(legs[0][0]) + np.diff(legs[1][0])
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    links = np.empty(offsets[-1], np.int64)
    every = np.arange(len(over))
    _copy(links, offsets, legs[0][1], legs[0][0], every)
    _copy(links, offsets + np.append(np.diff(legs[0][0]), 0), legs[1][1], legs[1][0], every)
    return offsets, links


def _joins(graph: NetworkGraph, demands: Demands, over: Ints) -> NDArray[np.bool_]:
    """(F,) true where there is a way over that node: some switches join a few NPUs alone."""
    back = inward(graph)
    joined: NDArray[np.bool_] = demands.source != demands.target
    for source, target in ((demands.source, over), (over, demands.target)):
        order = np.argsort(target, kind="stable")
        rules = graph.npus, graph.npus_forward
        joined[order] &= hops(*back, *rules, source[order], target[order]) >= 0
    return joined


def _copy(into: Ints, offsets: Ints, links: Ints, begin: Ints, flows: Ints) -> None:
    """Copy the routes of *flows*, which begin at *begin* in *links*, to *offsets* in *into*."""
    counts = begin[flows + 1] - begin[flows]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    into[np.repeat(offsets[flows], counts) + within] = links[
        np.repeat(begin[flows], counts) + within
    ]
