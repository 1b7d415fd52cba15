"""Dimension order: along one dimension of a grid after the other."""

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.graphs.graph import Ints, NetworkGraph
from simcore.graphs.routing.base import Demands, Routing, RoutingOptions
from simcore.graphs.routing.table import RouteTable


class DimensionOptions(RoutingOptions):
    """Options of dimension order.

    Attributes:
        order: Dimensions in the order in which they are travelled; ascending unless given.
    """

    order: tuple[int, ...] | None = None


class DimensionOrder(Routing):
    """In a torus the shorter way around, the ascending one where both are equal.

    W. Dally and C. Seitz, "Deadlock-Free Message Routing in Multiprocessor Interconnection
    Networks", IEEE Trans. Computers C-36(5), 1987.
    """

    options = DimensionOptions

    def routes(
        self, graph: NetworkGraph, demands: Demands, options: DimensionOptions
    ) -> RouteTable:
        order = _checked_order(graph, options.order)
        at = demands.source.copy()
        flows, steps, links = [], [], []
        lowest = _LowestLinks(graph)
        step = 0
        for dim in order:
            size = graph.dims[dim]
            stride = int(np.prod(graph.dims[:dim], dtype=np.int64))
            while True:
                here, there = at // stride % size, demands.target // stride % size
                moving = np.flatnonzero(here != there)
                if len(moving) == 0:
                    break
                up = _leads_up(here[moving], there[moving], size, graph.wraps)
                turned = (here[moving] + np.where(up, 1, -1)) % size
                after = at[moving] + (turned - here[moving]) * stride
                links.append(lowest.between(at[moving], after))
                flows.append(moving)
                steps.append(np.full(len(moving), step))
                at[moving] = after
                step += 1
        none = np.zeros(0, np.int64)
        flow = np.concatenate([none, *flows])
        in_order = np.lexsort((np.concatenate([none, *steps]), flow))
        counts = np.bincount(flow, minlength=len(at))
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return RouteTable.of_arrays(graph, offsets, np.concatenate([none, *links])[in_order])


def _checked_order(graph: NetworkGraph, order: tuple[int, ...] | None) -> tuple[int, ...]:
    if not graph.dims:
        rule = "dimension_order must be asked of a ring, mesh, torus or hypercube"
        raise ConfigError("routing.rule", rule, got="a network without coordinates")
    ascending = tuple(range(len(graph.dims)))
    if order is None:
        return ascending
    if tuple(sorted(order)) != ascending:
        rule = f"must name each of the dimensions 0 to {len(ascending) - 1} once"
        raise ConfigError("routing.order", rule, got=list(order))
    return order


def _leads_up(here: Ints, there: Ints, size: int, wraps: bool) -> NDArray[np.bool_]:
    """(F,) true where the next step is to the higher coordinate."""
    up: NDArray[np.bool_] = there > here
    if wraps and size > 2:
        up = 2 * ((there - here) % size) <= size
    return up


class _LowestLinks:
    """The lowest link between each two nodes."""

    def __init__(self, graph: NetworkGraph) -> None:
        offsets, ids, to = graph.outward()
        self._graph = graph
        pair = np.repeat(np.arange(graph.nodes), np.diff(offsets)) * graph.nodes + to
        self._pairs, first = np.unique(pair, return_index=True)  # of each the first, the lowest
        self._links = ids[first]

    def between(self, a: Ints, b: Ints) -> Ints:
        """(F,) links from nodes *a* to nodes *b*.

        Raises:
            ConfigError: Two are not joined, because a cable has failed.
        """
        wanted = a * self._graph.nodes + b
        place = np.minimum(np.searchsorted(self._pairs, wanted), len(self._pairs) - 1)
        missing = np.flatnonzero(self._pairs[place] != wanted)
        if len(missing):
            one, other = int(a[missing[0]]), int(b[missing[0]])
            rule = (
                "dimension_order must find every cable that it needs: choose a rule that goes "
                "around failed ones, such as minimal_lowest"
            )
            got = f"none between {self._graph.name(one)} and {self._graph.name(other)}"
            raise ConfigError("routing.rule", rule, got=got)
        return self._links[place]
