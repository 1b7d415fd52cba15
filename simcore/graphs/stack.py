"""A stack of dimensions as one graph: each line of NPUs along one is joined in its shape."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod

import numpy as np

from simcore.graphs.circuits import Circuits
from simcore.graphs.graph import Floats, Ints, NetworkGraph
from simcore.graphs.network_table import NetworkFile
from simcore.graphs.routing.table import RouteTable
from simcore.topologies import TOPOLOGIES

Way = tuple[Ints, Floats]
"""Links, and the part of a message that each carries."""
Ways = tuple[Ints, Ints, Floats]
"""Ways of F messages: (F + 1,) where each begins, links of all, and their parts."""


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
        circuits: Links that are up by turns; None: all are up at once.
    """

    npus: int
    bytes_per_ns: Floats
    latency_ns: Floats
    ends: tuple[Ints, Ints]
    nodes: int
    npus_forward: bool = True
    halves: bool = False
    levels: int = 1
    circuits: Circuits | None = None

    @abstractmethod
    def way(self, source: int, target: int) -> Way:
        """Links from one NPU of the line to another one."""

    @abstractmethod
    def ways(self, source: Ints, target: Ints) -> Ways:
        """Ways from NPUs *source* (F,) of the line to other ones, *target* (F,)."""


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

    def ways(self, source: Ints, target: Ints) -> Ways:
        raise ValueError(f"NPUs {source.tolist()} and {target.tolist()} are not joined")


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

    def ways(self, source: Ints, target: Ints) -> Ways:
        hops, node = list[Ints](), source
        while (under_way := node != target).any():
            hops.append(np.where(under_way, self._places[node, target], -1))
            node = np.where(under_way, self._next[node, target], node)
        table = np.column_stack(hops) if hops else np.zeros((len(source), 0), np.int64)
        offsets = np.concatenate([[0], np.cumsum((table >= 0).sum(axis=1))])
        links = table[table >= 0]
        return offsets.astype(np.int64), links, np.ones(len(links))


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
        self.levels, self.circuits = len(self._routed.levels), graph.circuits

    def way(self, source: int, target: int) -> Way:
        return self._routed.way(source, target)

    def ways(self, source: Ints, target: Ints) -> Ways:
        table = self._routed.routes(source, target)
        return table.offsets, table.links, table.parts


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
        copies = self._copies = [npus // line.npus for line in lines]
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

    def circuits(self) -> Circuits:
        """Circuits of all lines."""
        of_link, most, reconfiguration_ns = list[Ints](), list[int](), list[float]()
        groups = list[tuple[int, ...]]()
        for line, copies in zip(self._lines, self._copies, strict=True):
            own = line.circuits
            for _ in range(copies):
                if own is None:
                    of_link.append(np.full(len(line.latency_ns), -1))
                    continue
                of_link.append(np.where(own.of_link < 0, -1, own.of_link + len(groups)))
                groups += [tuple(one + len(most) for one in counted) for counted in own.groups]
                most += own.most
                reconfiguration_ns += own.reconfiguration_ns
        return Circuits(
            of_link=np.concatenate(of_link),
            groups=tuple(groups),
            most=tuple(most),
            reconfiguration_ns=tuple(reconfiguration_ns),
            ports=np.zeros(0, np.int64),
        )

    def as_graph(self) -> NetworkGraph:
        """Network of the same links, whose ways are those of this stack."""
        begin, end = self.ends()
        count = len(begin)
        nodes = int(max(begin.max(initial=-1), end.max(initial=-1))) + 1
        npus = prod(line.npus for line in self._lines)
        return NetworkGraph(
            npus=npus,
            nodes=max(nodes, npus),
            tier_of=np.zeros(max(nodes - npus, 0), np.int64),
            tiers=("switch",),
            link_from=begin,
            link_to=end,
            bytes_per_s=self.bytes_per_ns * 1e9,
            latency_ns=self.latency_ns,
            half=np.zeros(count, np.bool_),
            cable_of=np.arange(count),
            kind_of=np.zeros(count, np.int64),
            kinds=("link",),
        )

    def line_of(self, link: int) -> int:
        """Number of the line in which a link lies."""
        return int(np.searchsorted(self._first, link, side="right")) - 1

    def ways(self, source: Ints, target: Ints) -> RouteTable:
        """Routes of messages between NPUs *source* (F,) and *target* (F,).

        The latency of a message that is spread over several ways is the mean of theirs.
        """
        flow, links, parts = list[Ints](), list[Ints](), list[Floats]()
        stride, at = 1, source
        for place, line in enumerate(self._lines):
            here, there = at // stride % line.npus, target // stride % line.npus
            moved = np.flatnonzero(here != there)
            copy = at // (stride * line.npus) * stride + at % stride
            pairs, row = np.unique(here[moved] * line.npus + there[moved], return_inverse=True)
            offsets, own_links, own_parts = line.ways(pairs // line.npus, pairs % line.npus)
            counts = np.diff(offsets)[row]
            entry = _entries(offsets[row], counts)
            first = self._first[place] + copy[moved] * len(line.latency_ns)
            flow.append(np.repeat(moved, counts))
            links.append(own_links[entry] + np.repeat(first, counts))
            parts.append(own_parts[entry])
            at = at + (there - here) * stride
            stride *= line.npus
        each = np.concatenate(flow), np.concatenate(links), np.concatenate(parts)
        return self._table(len(source), *each)

    def _table(self, count: int, flow: Ints, links: Ints, parts: Floats) -> RouteTable:
        """Routes of *count* messages; of each entry its message, link and part."""
        order = np.argsort(flow, kind="stable")
        offsets = np.searchsorted(flow[order], np.arange(count + 1)).astype(np.int64)
        weights = self.latency_ns[links] * parts
        latency = np.bincount(flow, weights, count).astype(np.float64)
        return RouteTable(
            offsets=offsets, links=links[order], parts=parts[order], latency_ns=latency
        )

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


def _entries(first: Ints, counts: Ints) -> Ints:
    """Numbers from each of *first* on, as many as *counts* says, one after the other."""
    before = np.cumsum(counts) - counts
    return np.repeat(first - before, counts) + np.arange(int(counts.sum()))


def _link_places(routes: Ints) -> Ints:
    """(N, n) int64: number of the link that leads from a node towards an NPU, within a line."""
    nodes, npus = routes.shape
    pairs = np.arange(nodes)[:, None] * nodes + routes
    leads = np.arange(nodes)[:, None] != np.arange(npus)
    used = np.unique(pairs[leads & (routes != np.arange(nodes)[:, None])])
    return np.where(leads, np.searchsorted(used, pairs), 0)
