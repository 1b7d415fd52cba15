"""Messages that share links fairly: flows on the graph of the machine."""

import math
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from simcore.errors import ConfigError
from simcore.network.base import Arrival, ExternalNetwork, NetworkDimension

if TYPE_CHECKING:
    from simcore.graphs.stack import JoinedLine


class Flow(ExternalNetwork):
    """A message is a flow: the latency of its links once, then its max-min fair part of them.

    It goes dimension by dimension, dimension 0 first, and through a network of any form by the
    network's own routing. It holds all links of its way at once, as packets do, where
    ``congestion_aware_multidim`` stores it whole at every hop. Arrivals are rounded up to whole ns.
    D. Bertsekas and R. Gallager, "Data Networks", 2nd ed., 1992, 6.5.2.
    """

    def __init__(self, dimensions: Sequence[NetworkDimension]) -> None:
        # Imported where used: every run reads this file, few need the compiler behind the flows.
        from simcore.flows.live import LiveFlows
        from simcore.graphs.stack import StackedGraph

        super().__init__(dimensions)
        self._npus = prod(one.npus for one in dimensions)
        self._graph = StackedGraph(_lines(dimensions))
        self._flows = LiveFlows(self._graph.bytes_per_ns)
        self._routes: dict[int, int] = {}
        self._message: dict[int, int] = {}

    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        pair = src * self._npus + dst
        route = self._routes.get(pair)
        if route is None:
            links, parts = self._graph.way(src, dst)
            latency_ns = float(self._graph.latency_ns[links] @ parts)
            route = self._routes[pair] = self._flows.add_route(links, latency_ns, parts)
        self._message[self._flows.begin(now_ns, route, size_bytes)] = message

    def next_event_ns(self) -> int | None:
        due_ns = self._flows.next_event_ns
        return None if math.isinf(due_ns) else _whole_ns(due_ns)

    def advance(self, until_ns: int) -> list[Arrival]:
        ended = self._flows.advance(until_ns * (1.0 + 2.0 * _ROUNDING))
        return [
            Arrival(time_ns=min(_whole_ns(time_ns), until_ns), message=self._message.pop(flow))
            for time_ns, flow in ended
        ]


def _lines(dimensions: Sequence[NetworkDimension]) -> "list[JoinedLine]":
    """Each dimension of a shape, and each network once.

    Raises:
        ConfigError: Levels of a network are missing, or a network breaks a rule.
    """
    from simcore.graphs.stack import NetworkLine, ShapedLine

    found: list[JoinedLine] = []
    at = 0
    while at < len(dimensions):
        one = dimensions[at]
        if one.network is None:
            found.append(ShapedLine(one.topology, one.npus, one.bytes_per_ns, one.latency_ns))
            at += 1
            continue
        line, joined, level = NetworkLine(one.network), 1, 0
        while joined < line.npus and at < len(dimensions):
            if dimensions[at].network != one.network or dimensions[at].level != level:
                rule = "must hold all levels of a network, one after the other"
                raise ConfigError(f"dimensions[{at}]", rule, got=dimensions[at].topology)
            joined, at, level = joined * dimensions[at].npus, at + 1, level + 1
        found.append(line)
    return found


_ROUNDING = 1e-12
"""Part of a time by which it may lie above a whole number of ns and still be that one."""


def _whole_ns(time_ns: float) -> int:
    return math.ceil(time_ns * (1.0 - _ROUNDING))
