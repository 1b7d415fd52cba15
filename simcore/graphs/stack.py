"""A stack of dimensions as one graph: each line of NPUs along one is joined in its shape."""

from collections.abc import Sequence
from math import prod

import numpy as np

from simcore.graphs.graph import Ints
from simcore.topologies import TOPOLOGIES


class StackedGraph:
    """The graph of a stack of dimensions, and the ways through it, dimension 0 first.

    NPU ``i`` has the coordinates ``i % npus[0]``, ``i // npus[0] % npus[1]`` and so on.

    Args:
        topologies: Names of the shapes, innermost dimension first.
        npus: NPUs of each.
        bytes_per_ns: Of one link in one direction, of each.
        latency_ns: Of one link, of each.
    """

    def __init__(
        self,
        topologies: Sequence[str],
        npus: Sequence[int],
        bytes_per_ns: Sequence[float],
        latency_ns: Sequence[float],
    ) -> None:
        self.npus = tuple(npus)
        self._shapes = [TOPOLOGIES[name] for name in topologies]
        self._next = [shape.next_nodes(n) for shape, n in zip(self._shapes, self.npus, strict=True)]
        self._places = [_link_places(routes) for routes in self._next]
        self._links = [int(places.max(initial=-1)) + 1 for places in self._places]
        lines = [prod(self.npus) // n for n in self.npus]
        per_dimension = [count * links for count, links in zip(lines, self._links, strict=True)]
        self._first = np.concatenate([[0], np.cumsum(per_dimension)]).astype(np.int64)
        self.bytes_per_ns = np.repeat(np.array(bytes_per_ns, np.float64), per_dimension)
        self.latency_ns = np.repeat(np.array(latency_ns, np.float64), per_dimension)

    @property
    def most_links(self) -> int:
        """Links of the longest way."""
        longest = zip(self._shapes, self.npus, strict=True)
        return sum(shape.most_hops(npus) for shape, npus in longest)

    def way(self, source: int, target: int) -> list[int]:
        """Links from one NPU to another."""
        found, stride = [], 1
        at = source
        for dim, npus in enumerate(self.npus):
            here, there = at // stride % npus, target // stride % npus
            line = at // (stride * npus) * stride + at % stride
            first = int(self._first[dim]) + line * self._links[dim]
            routes, places = self._next[dim], self._places[dim]
            node = here
            while node != there:
                found.append(first + int(places[node, there]))
                node = int(routes[node, there])
            at += (there - here) * stride
            stride *= npus
        return found


def _link_places(routes: Ints) -> Ints:
    """(N, n) int64: number of the link that leads from a node towards an NPU, within a line."""
    nodes, npus = routes.shape
    pairs = np.arange(nodes)[:, None] * nodes + routes
    leads = np.arange(nodes)[:, None] != np.arange(npus)
    used = np.unique(pairs[leads & (routes != np.arange(nodes)[:, None])])
    return np.where(leads, np.searchsorted(used, pairs), 0)
