"""Messages that share links fairly: flows on the graph of the machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcore.network.base import Arrival, LinkNetwork, LinkRule, NetworkDimension

if TYPE_CHECKING:
    from simcore.synthesis.placed.carriage import Carriage


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StandInWay:
    """A way of a message that stands for others.

    Attributes:
        links: (K,) classes of links.
        parts: (K,) part of the message's rate that all of them together put on each link of these.
        latency_ns: Of the way.
        ends: Senders and receivers (M,) of all that it stands for, itself among them.
    """

    links: NDArray[np.int64]
    parts: NDArray[np.float64]
    latency_ns: float
    ends: tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StandInWays:
    """Links of which one stands for all of its class.

    Attributes:
        bytes_per_ns: (C,) capacity of each.
        of_pair: Ways by sender and receiver.
    """

    bytes_per_ns: NDArray[np.float64]
    of_pair: Mapping[tuple[int, int], StandInWay]


class Flow(LinkNetwork):
    """A message is a flow: the latency of its links once, then its max-min fair part of them.

    It goes dimension by dimension, dimension 0 first, and through a network of any form by the
    network's own routing. It holds all links of its way at once, as packets do, where
    ``congestion_aware_multidim`` stores it whole at every hop. Arrivals are rounded up to whole ns.
    A synthesised collective is one flow on all links that its schedule uses, each with its part;
    alone it takes the schedule's time.
    D. Bertsekas and R. Gallager, "Data Networks", 2nd ed., 1992, 6.5.2.

    Args:
        dimensions: Of the network, innermost first.
        stand_ins: Ways of the only messages that are sent, where each stands for others; None: all
            messages are sent.
    """

    link_rule = LinkRule.FAIR
    has_bounds = takes_turns = True

    def __init__(
        self, dimensions: Sequence[NetworkDimension], stand_ins: StandInWays | None = None
    ) -> None:
        # Imported where used: every run reads this file, few need the compiler behind the flows.
        from simcore.flows.live import LiveFlows
        from simcore.graphs.stack import StackedGraph
        from simcore.network.lines import lines_of

        super().__init__(dimensions)
        self._npus = prod(one.npus for one in dimensions)
        self.graph, self._stand_ins = StackedGraph(lines_of(dimensions)), stand_ins
        rates = self.graph.bytes_per_ns if stand_ins is None else stand_ins.bytes_per_ns
        self._flows = LiveFlows(rates)
        self._routes: dict[int, int] = {}
        self._works: dict[tuple[int, int, int], int] = {}
        self._message: dict[int, int] = {}
        self._kept: list[Carriage] = []

    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        pair = src * self._npus + dst
        route = self._routes.get(pair)
        if route is None:
            route = self._routes[pair] = self._flows.add_route(*self._way(src, dst))
        self._message[self._flows.begin(now_ns, route, size_bytes)] = message

    def _way(self, src: int, dst: int) -> tuple[NDArray[np.int64], float, NDArray[np.float64]]:
        """Links, latency and parts of a message's way."""
        if self._stand_ins is not None:
            way = self._stand_ins.of_pair[src, dst]
            return way.links, way.latency_ns, way.parts
        links, parts = self.graph.way(src, dst)
        return links, float(self.graph.latency_ns[links] @ parts), parts

    def stands_for(self, src: int, dst: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Senders and receivers of all messages for which one of these two stands."""
        if self._stand_ins is None:
            return np.array([src]), np.array([dst])
        return self._stand_ins.of_pair[src, dst].ends

    def carry(self, now_ns: int, message: int, at: tuple[int, int], work: "Carriage") -> None:
        npu, dimension = at
        links = self.graph.links_of(npu, dimension, work.links)
        key = id(work), dimension, int(links[0])
        most = float(work.load_bytes.max())
        if key not in self._works:
            parts = work.load_bytes / most
            self._works[key] = self._flows.add_route(links, work.latency_ns, parts)
            self._kept.append(work)  # whose id stays its own
        flow = self._flows.begin(now_ns, self._works[key], most, work.most_bytes_per_ns)
        self._message[flow] = message

    def next_event_ns(self) -> int | None:
        return self._flows.next_event_ns

    def advance(self, until_ns: int) -> list[Arrival]:
        ended = self._flows.advance(until_ns)
        return [
            Arrival(time_ns=time_ns, message=self._message.pop(flow)) for time_ns, flow in ended
        ]
