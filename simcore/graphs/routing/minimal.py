"""Shortest ways: the lowest link, one chosen by a hash, or by the destination's number."""

from typing import Annotated

import numpy as np
from pydantic import Field

from simcore.errors import ConfigError
from simcore.graphs.graph import Ints, NetworkGraph
from simcore.graphs.routing.base import Demands, Routing, RoutingOptions, no_way
from simcore.graphs.routing.table import RouteTable
from simcore.kernels.graphs.routes import HASHED, LOWEST, MODULO, hop_by_hop, hops

_NO_DIVISORS: Ints = np.zeros(0, np.int64)


class SeedOptions(RoutingOptions):
    """Options of a routing that draws.

    Attributes:
        seed: Of the hash, 64 bits.
    """

    seed: Annotated[int, Field(ge=0, lt=1 << 64)] = 0


class DivisorOptions(RoutingOptions):
    """Options of routing by the destination's number.

    Attributes:
        divisors: For the first, second, ... node with a choice: what the destination's number is
            divided by before it is taken modulo the choices.
    """

    divisors: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)]


def inward(graph: NetworkGraph) -> tuple[Ints, Ints]:
    """Links by the node that they enter: (nodes + 1,) offsets, and the nodes that they leave."""
    offsets, _, to = graph.outward()
    at = np.repeat(np.arange(graph.nodes), np.diff(offsets))
    order = np.argsort(to, kind="stable")
    return np.searchsorted(to[order], np.arange(graph.nodes + 1)), at[order]


def shortest(
    graph: NetworkGraph,
    demands: Demands,
    rule: int,
    seed: int = 0,
    divisors: Ints = _NO_DIVISORS,
) -> tuple[Ints, Ints]:
    """Offsets (F + 1,) and links of a shortest way for each flow, which may end at switches.

    Raises:
        ConfigError: A flow has no way, or too few divisors are given.
    """
    order = np.argsort(demands.target, kind="stable")
    source, target = demands.source[order], demands.target[order]
    back = inward(graph)
    rules = graph.npus, graph.npus_forward
    lengths = hops(*back, *rules, source, target)
    if (lengths < 0).any():
        flow = int(order[lengths < 0].min())
        raise no_way(graph, int(demands.source[flow]), int(demands.target[flow]))
    most = int(lengths.max(initial=0))
    if rule == MODULO and len(divisors) < most:  # a node without a choice needs none
        divisors = np.concatenate([divisors, np.zeros(most - len(divisors), np.int64)])
    in_order = np.empty(len(lengths), np.int64)
    in_order[order] = lengths
    offsets = np.concatenate([[0], np.cumsum(in_order)]).astype(np.int64)
    links = np.full(offsets[-1], -1, np.int64)
    number = demands.number[order]
    hop_by_hop(
        *back, *graph.outward(), *rules, source, target, number, rule, _as_64_bits(seed), divisors,
        offsets[:-1][order], links,
    )  # fmt: skip
    return offsets, links


def _as_64_bits(seed: int) -> int:
    """The bits of *seed*, unsigned to kernels and a whole number to type checkers."""
    return np.uint64(seed)  # type: ignore[return-value]


class MinimalLowest(Routing):
    """At each node the lowest link to a node nearer to the destination."""

    def routes(self, graph: NetworkGraph, demands: Demands, options: RoutingOptions) -> RouteTable:
        return RouteTable.of_arrays(graph, *shortest(graph, demands, LOWEST))


class EcmpHash(Routing):
    """At each node one of the links to nearer nodes, by a hash of flow, node and seed."""

    options = SeedOptions

    def routes(self, graph: NetworkGraph, demands: Demands, options: SeedOptions) -> RouteTable:
        return RouteTable.of_arrays(graph, *shortest(graph, demands, HASHED, options.seed))


class DModK(Routing):
    """At each node with a choice the link that the destination's number gives.

    E. Zahavi, "Fat-Tree Routing and Node Ordering Providing Contention Free Traffic for MPI Global
    Collectives", JPDC 72(11), 2012.
    """

    options = DivisorOptions

    def routes(self, graph: NetworkGraph, demands: Demands, options: DivisorOptions) -> RouteTable:
        divisors = np.array(options.divisors, np.int64)
        try:
            found = shortest(graph, demands, MODULO, divisors=divisors)
        except ZeroDivisionError:
            rule = "must be as many as there are nodes with a choice on a way"
            raise ConfigError("divisors", rule, got=list(options.divisors)) from None
        return RouteTable.of_arrays(graph, *found)
