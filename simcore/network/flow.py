"""Messages that share links fairly: flows on the graph of the machine."""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from simcore.network.base import Arrival, LinkNetwork, LinkRule, NetworkDimension

if TYPE_CHECKING:
    from simcore.synthesis.placed.carriage import Carriage


class Flow(LinkNetwork):
    """A message is a flow: the latency of its links once, then its max-min fair part of them.

    It goes dimension by dimension, dimension 0 first, and through a network of any form by the
    network's own routing. It holds all links of its way at once, as packets do, where
    ``congestion_aware_multidim`` stores it whole at every hop. Arrivals are rounded up to whole ns.
    A synthesised collective is one flow on all links that its schedule uses, each with its part;
    alone it takes the schedule's time.
    D. Bertsekas and R. Gallager, "Data Networks", 2nd ed., 1992, 6.5.2.
    """

    link_rule = LinkRule.FAIR
    has_bounds = takes_turns = True

    def __init__(self, dimensions: Sequence[NetworkDimension]) -> None:
        # Imported where used: every run reads this file, few need the compiler behind the flows.
        from simcore.flows.live import LiveFlows
        from simcore.graphs.stack import StackedGraph
        from simcore.network.lines import lines_of

        super().__init__(dimensions)
        self._npus = prod(one.npus for one in dimensions)
        self._graph = StackedGraph(lines_of(dimensions))
        self._flows = LiveFlows(self._graph.bytes_per_ns)
        self._routes: dict[int, int] = {}
        self._works: dict[tuple[int, int, int], int] = {}
        self._message: dict[int, int] = {}
        self._kept: list[Carriage] = []

    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        pair = src * self._npus + dst
        route = self._routes.get(pair)
        if route is None:
            links, parts = self._graph.way(src, dst)
            latency_ns = float(self._graph.latency_ns[links] @ parts)
            route = self._routes[pair] = self._flows.add_route(links, latency_ns, parts)
        self._message[self._flows.begin(now_ns, route, size_bytes)] = message

    def carry(self, now_ns: int, message: int, at: tuple[int, int], work: "Carriage") -> None:
        npu, dimension = at
        links = self._graph.links_of(npu, dimension, work.links)
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
