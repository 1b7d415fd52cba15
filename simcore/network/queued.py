"""Messages that queue for links, outside the event kernel: between NPUs of any numbers."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.network.base import Arrival, ExternalNetwork, LinkRule, NetworkDimension


class Crossed(NamedTuple):
    """A message that has crossed all links of its way.

    Attributes:
        time_ns: When.
        begun_ns: When it began to cross the last one.
        message: Its number.
    """

    time_ns: int
    begun_ns: int
    message: int


class QueuedLinks:
    """First-come-first-served links, store and forward.

    Args:
        bytes_per_ns: Of each link.
        latency_ns: Of each link.

    Attributes:
        tied: Whether two messages came to one link in the same ns, so that one of them was first
            by the order of the calls alone.
    """

    def __init__(self, bytes_per_ns: Sequence[float], latency_ns: Sequence[float]) -> None:
        self._rate, self._latency = bytes_per_ns, latency_ns
        self._waiting: dict[int, deque[tuple[int, int, Sequence[int], int]]] = {}
        self._due: list[tuple[int, int, int, int, Sequence[int], int, int]] = []
        self._order, self.tied = 0, False
        self._last_ns = dict[int, int]()

    def send(self, now_ns: int, message: int, size_bytes: int, way: Sequence[int]) -> None:
        """Begin to send a message along the links *way*, in their order."""
        self._forward(now_ns, now_ns, message, size_bytes, way, 0)

    def next_event_ns(self) -> int | None:
        """Time of the next event, None while nothing is under way."""
        return self._due[0][0] if self._due else None

    def advance(self, until_ns: int) -> list[Crossed]:
        """Handle events up to *until_ns*, or those of the first ns in which messages arrive."""
        found = list[Crossed]()
        while self._due and self._due[0][0] <= until_ns:
            time_ns, _, message, size, way, what, begun_ns = heappop(self._due)
            if message < 0:
                self._free(time_ns, what)
            elif what < len(way):
                self._forward(time_ns, begun_ns, message, size, way, what)
            else:
                found.append(Crossed(time_ns, begun_ns, message))
                until_ns = time_ns
        return found

    def situation(self, now_ns: int, shown: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """All that decides how messages go on, with times relative to now.

        Args:
            now_ns: Present time.
            shown: (M,) what stands for each message.
        """
        due = sorted(self._due)
        yield np.array([(one[0] - now_ns, one[5], one[6] - now_ns) for one in due], np.int64)
        message = np.array([one[2] for one in due], np.int64)
        yield np.where(message < 0, np.iinfo(np.int64).max, shown[np.maximum(message, 0)])
        queues = sorted(self._waiting.items())
        yield np.array([(link, len(queue)) for link, queue in queues], np.int64)
        waiting = [(one[0], one[3]) for _, queue in queues for one in queue]
        number, hop = np.array(waiting, np.int64).reshape(-1, 2).T
        yield shown[number]
        yield hop
        yield np.array([link for link, last in self._last_ns.items() if last == now_ns], np.int64)

    def _forward(
        self, now_ns: int, begun_ns: int, message: int, size: int, way: Sequence[int], hop: int
    ) -> None:
        """Put a message on its next link, or in the queue for it, or let it arrive."""
        if hop == len(way):
            self._at(now_ns, begun_ns, message, size, way, hop)
            return
        link = way[hop]
        self.tied = self.tied or self._last_ns.get(link) == now_ns
        self._last_ns[link] = now_ns
        queue = self._waiting.get(link)
        if queue is None:
            self._waiting[link] = deque()
            self._cross(now_ns, message, size, way, hop)
        else:
            queue.append((message, size, way, hop))

    def _cross(self, now_ns: int, message: int, size: int, way: Sequence[int], hop: int) -> None:
        """Start the transfer over a link that is free: its arrival first, then the free link."""
        link = way[hop]
        kept_ns = size / self._rate[link]
        arrival_ns = now_ns + int(self._latency[link] + kept_ns)
        self._at(arrival_ns, now_ns, message, size, way, hop + 1)
        self._at(now_ns + int(kept_ns), now_ns, -1, 0, way, link)

    def _at(
        self, time_ns: int, begun_ns: int, message: int, size: int, way: Sequence[int], what: int
    ) -> None:
        self._order += 1
        heappush(self._due, (time_ns, self._order, message, size, way, what, begun_ns))

    def _free(self, now_ns: int, link: int) -> None:
        """Start the next message that waits for *link*, or let the link go."""
        if queue := self._waiting[link]:
            self._cross(now_ns, *queue.popleft())
        else:
            del self._waiting[link]


class Queued(ExternalNetwork):
    """First-come-first-served links, store and forward, dimension 0 first.

    The rules of ``congestion_aware_multidim``, for ranks that run on NPUs of other numbers and for
    several jobs on one machine, whose messages the kernel of one job does not see. Levels of a
    network are the dimensions that they are like, as there, unless it is told otherwise.
    Source: the ``congestion-multidim`` branch of ASTRA-sim's analytical network.

    Args:
        dimensions: Of the network, innermost first.
        by_levels: Whether levels of a network are the dimensions that they are like; else messages
            queue for the links of the network itself, whole on one way.
    """

    link_rule = LinkRule.QUEUED
    stops_at_arrivals = True

    def __init__(self, dimensions: Sequence[NetworkDimension], *, by_levels: bool = True) -> None:
        # Imported where used: every run reads this package, few need graphs.
        from simcore.graphs.stack import StackedGraph
        from simcore.network.lines import lines_of

        super().__init__(dimensions)
        self._npus = prod(one.npus for one in dimensions)
        self._graph = StackedGraph(lines_of(as_stacked(dimensions) if by_levels else dimensions))
        self._links = QueuedLinks(
            self._graph.bytes_per_ns.tolist(), self._graph.latency_ns.tolist()
        )
        self._ways: dict[int, list[int]] = {}

    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        pair = src * self._npus + dst
        way = self._ways.get(pair)
        if way is None:
            links, parts = self._graph.way(src, dst)
            if (parts < 1.0).any():
                rule = "must keep messages whole where they queue for links: choose backend: flow"
                raise ConfigError("platform.network.routing", rule, got="a way that is spread")
            way = self._ways[pair] = links.tolist()
        self._links.send(now_ns, message, size_bytes, way)

    def next_event_ns(self) -> int | None:
        return self._links.next_event_ns()

    def advance(self, until_ns: int) -> list[Arrival]:
        crossed = self._links.advance(until_ns)
        return [Arrival(time_ns=one.time_ns, message=one.message) for one in crossed]


def as_stacked(dimensions: Sequence[NetworkDimension]) -> list[NetworkDimension]:
    """The dimensions that levels of networks are like, as messages that queue see them."""
    return [replace(one, network=None, level=0) for one in dimensions]
