"""Messages that never meet, in a network beside one of another kind."""

from collections.abc import Sequence
from heapq import heappop, heappush

from simcore.network.base import Arrival, ExternalNetwork, NetworkDimension


class Idle(ExternalNetwork):
    """``congestion_unaware``, as a part of a network that is asked for every message.

    Messages are held by all links of their way at once: latencies, and bytes over the bandwidth.
    """

    def __init__(self, dimensions: Sequence[NetworkDimension]) -> None:
        from simcore.graphs.stack import StackedGraph
        from simcore.network.lines import lines_of

        super().__init__(dimensions)
        self._graph = StackedGraph(lines_of(dimensions))
        self._due: list[tuple[int, int]] = []

    def time_ns(self, src: int, dst: int, size_bytes: int) -> int:
        """Time of a message on links that it has for itself."""
        links, _ = self._graph.way(src, dst)
        rate = float(self._graph.bytes_per_ns[links].min())
        return int(float(self._graph.latency_ns[links].sum()) + size_bytes / rate)

    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        time_ns = 0 if src == dst else self.time_ns(src, dst, size_bytes)
        heappush(self._due, (now_ns + time_ns, message))

    def next_event_ns(self) -> int | None:
        return self._due[0][0] if self._due else None

    def advance(self, until_ns: int) -> list[Arrival]:
        arrived = []
        while self._due and self._due[0][0] <= until_ns:
            time_ns, message = heappop(self._due)
            arrived.append(Arrival(time_ns=time_ns, message=message))
        return arrived
