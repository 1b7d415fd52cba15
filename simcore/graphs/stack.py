"""A stack of dimensions as one graph: each line of NPUs along one is joined in its shape."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod

import numpy as np

from simcore.graphs.graph import Floats, Ints
from simcore.graphs.network_table import NetworkFile
from simcore.topologies import TOPOLOGIES

Way = tuple[Ints, Floats]
"""Links, and the part of a message that each carries."""


class JoinedLine(ABC):
    """Links of one line of NPUs, of which the machine has as many as its other NPUs make.

    Attributes:
        npus: NPUs of the line.
        bytes_per_ns: (L,) capacity of each link.
        latency_ns: (L,) of each link.
        ends: (L,) node at which each link begins, and (L,) at which it ends; NPUs come first.
        nodes: NPUs and switches.
        npus_forward: Whether messages pass through NPUs.
        halves: Whether a link carries both directions.
        levels: Dimensions that it stands for.
    """

    npus: int
    bytes_per_ns: Floats
    latency_ns: Floats
    ends: tuple[Ints, Ints]
    nodes: int
    npus_forward: bool = True
    halves: bool = False
    levels: int = 1

    @abstractmethod
    def way(self, source: int, target: int) -> Way:
        """Links from one NPU of the line to another one."""


class ApartLine(JoinedLine):
    """NPUs that nothing joins.

    Args:
        npus: NPUs.
    """

    def __init__(self, npus: int) -> None:
        self.npus = self.nodes = npus
        self.bytes_per_ns, self.latency_ns = np.zeros(0), np.zeros(0)
        self.ends = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def way(self, source: int, target: int) -> Way:
        raise ValueError(f"NPUs {source} and {target} are not joined")


class ShapedLine(JoinedLine):
    """A dimension of a shape.

    Args:
        topology: Name of the shape.
        npus: NPUs.
        bytes_per_ns: Of one link in one direction.
        latency_ns: Of one link.
    """

    def __init__(self, topology: str, npus: int, bytes_per_ns: float, latency_ns: float) -> None:
        self.npus = npus
        self._next = TOPOLOGIES[topology].next_nodes(npus)
        self._places = _link_places(self._next)
        links = int(self._places.max(initial=-1)) + 1
        self.bytes_per_ns = np.full(links, bytes_per_ns, np.float64)
        self.latency_ns = np.full(links, latency_ns, np.float64)
        self.nodes = len(self._next)
        begin, end = np.zeros(links, np.int64), np.zeros(links, np.int64)
        at = np.arange(self.nodes)[:, None]
        leads = (at != np.arange(npus)) & (self._next != at)
        begin[self._places[leads]] = np.nonzero(leads)[0]
        end[self._places[leads]] = self._next[leads]
        self.ends = begin, end

    def way(self, source: int, target: int) -> Way:
        links, node = list[int](), source
        while node != target:
            links.append(int(self._places[node, target]))
            node = int(self._next[node, target])
        return np.array(links, np.int64), np.ones(len(links))


class NetworkLine(JoinedLine):
    """A dimension, or several, that are a network of any form.

    Args:
        network: Its file.

    Raises:
        ConfigError: It breaks a rule.
    """

    def __init__(self, network: NetworkFile) -> None:
        from simcore.graphs.routed import routed

        self._routed = routed(network)
        self.npus = self._routed.npus
        self.bytes_per_ns = self._routed.graph.bytes_per_s / 1e9
        self.latency_ns = self._routed.graph.latency_ns
        graph = self._routed.graph
        self.ends, self.nodes = (graph.link_from, graph.link_to), graph.nodes
        self.npus_forward, self.halves = graph.npus_forward, bool(graph.half.any())
        self.levels = len(self._routed.levels)

    def way(self, source: int, target: int) -> Way:
        return self._routed.way(source, target)


class StackedGraph:
    """The graph of a stack of lines, and the ways through it, the innermost line first.

    NPU ``i`` has the coordinates ``i % npus[0]``, ``i // npus[0] % npus[1]`` and so on.

    Args:
        lines: One for each dimension, innermost first.
    """

    def __init__(self, lines: Sequence[JoinedLine]) -> None:
        self._lines = tuple(lines)
        self._dimensions = _first_dimensions(self._lines)
        npus = prod(line.npus for line in lines)
        copies = [npus // line.npus for line in lines]
        counts = [len(line.latency_ns) * copy for line, copy in zip(lines, copies, strict=True)]
        self._first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        each = list(zip(lines, copies, strict=True))
        self.bytes_per_ns = np.concatenate([np.tile(line.bytes_per_ns, n) for line, n in each])
        self.latency_ns = np.concatenate([np.tile(line.latency_ns, n) for line, n in each])

    def ends(self) -> tuple[Ints, Ints]:
        """(L,) node at which each link begins, and (L,) at which it ends; NPUs come first."""
        npus = prod(line.npus for line in self._lines)
        found, stride, first_switch = [list[Ints](), list[Ints]()], 1, npus
        for line in self._lines:
            copies = np.arange(npus // line.npus)[:, None]
            first = copies // stride * (stride * line.npus) + copies % stride
            switches = line.nodes - line.npus
            for side, own in zip(found, line.ends, strict=True):
                of_switch = first_switch + copies * switches + own - line.npus
                side.append(np.where(own < line.npus, first + own * stride, of_switch).ravel())
            stride *= line.npus
            first_switch += len(copies) * switches
        return np.concatenate(found[0]), np.concatenate(found[1])

    def links_of(self, npu: int, dimension: int, links: Ints) -> Ints:
        """Numbers in this graph of *links* of the line that *npu* is on.

        Args:
            npu: An NPU.
            dimension: Of all dimensions of the machine, the innermost of the line.
            links: Numbers within the line.
        """
        place = self._dimensions.index(dimension)
        stride = prod(line.npus for line in self._lines[:place])
        line = self._lines[place]
        own = npu // (stride * line.npus) * stride + npu % stride
        return links + int(self._first[place]) + own * len(line.latency_ns)

    def line_of(self, link: int) -> int:
        """Number of the line in which a link lies."""
        return int(np.searchsorted(self._first, link, side="right")) - 1

    def way(self, source: int, target: int) -> Way:
        """Links from one NPU to another, and the part of a message that each carries."""
        links, parts, stride, at = list[Ints](), list[Floats](), 1, source
        for place, line in enumerate(self._lines):
            npus = line.npus
            here, there = at // stride % npus, target // stride % npus
            if here != there:
                own = at // (stride * npus) * stride + at % stride
                found, part = line.way(here, there)
                links.append(found + int(self._first[place]) + own * len(line.latency_ns))
                parts.append(part)
                at += (there - here) * stride
            stride *= npus
        if len(links) == 1:
            return links[0], parts[0]
        none = np.zeros(0, np.int64), np.zeros(0)
        return np.concatenate([none[0], *links]), np.concatenate([none[1], *parts])


def _first_dimensions(lines: Sequence[JoinedLine]) -> list[int]:
    """Innermost of the machine's dimensions that each line stands for."""
    levels = [line.levels for line in lines]
    return [sum(levels[:place]) for place in range(len(levels))]


def _link_places(routes: Ints) -> Ints:
    """(N, n) int64: number of the link that leads from a node towards an NPU, within a line."""
    nodes, npus = routes.shape
    pairs = np.arange(nodes)[:, None] * nodes + routes
    leads = np.arange(nodes)[:, None] != np.arange(npus)
    used = np.unique(pairs[leads & (routes != np.arange(nodes)[:, None])])
    return np.where(leads, np.searchsorted(used, pairs), 0)
