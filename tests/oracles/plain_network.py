"""Time and messages of the plain simulator: the list of events, both backends, matching."""

import heapq
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from simcore.engines.events.input import EngineInput

Call = Callable[[], None]
CONTROL_BYTES = 8192


class Clock:
    """One list of callbacks per time; and per NPU and time a table that is run as one of them."""

    def __init__(self) -> None:
        self.now = 0
        self.times: list[int] = []
        self.calls: dict[int, deque[Call]] = {}
        self.tables: dict[tuple[int, int], deque[Call]] = {}

    def at(self, time: int, call: Call) -> None:
        if time not in self.calls:
            self.calls[time] = deque()
            heapq.heappush(self.times, time)
        self.calls[time].append(call)

    def later(self, npu: int, delay: int, call: Call) -> None:
        key = (npu, self.now + delay)
        if key not in self.tables:
            self.tables[key] = deque()
            self.at(self.now + delay, lambda: self.run_table(key))
        self.tables[key].append(call)

    def run_table(self, key: tuple[int, int]) -> None:
        while self.tables[key]:
            self.tables[key].popleft()()
        del self.tables[key]

    def run(self) -> None:
        while self.times:
            self.now = self.times[0]
            while self.calls[self.now]:
                self.calls[self.now].popleft()()
            del self.calls[heapq.heappop(self.times)]


class Network:
    """Both backends, the matching of sends and receives, and rendezvous."""

    def __init__(self, clock: Clock, inputs: EngineInput) -> None:
        self.clock, self.dimensions = clock, inputs.dimensions
        self.aware = inputs.backend != "congestion_unaware"
        self.rendezvous = inputs.options.rendezvous
        self.arrived: dict[Any, int] = defaultdict(int)
        self.posted: dict[Any, deque[Call]] = defaultdict(deque)
        self.links: dict[Any, deque[Call] | None] = {}  # None: free

    def place(self, npu: int) -> list[int]:
        found = []
        for dimension in self.dimensions:
            found.append(npu % dimension.npus)
            npu //= dimension.npus
        return found

    def send(self, tag: object, src: int, dst: int, size: int, sent: Call) -> None:
        def start() -> None:
            self.launch(tag, src, dst, size, sent)

        if self.rendezvous:
            self.post((tag, "leave"), dst, src, CONTROL_BYTES, start)
        else:
            start()

    def receive(self, tag: object, src: int, dst: int, size: int, then: Call) -> None:
        if self.rendezvous:
            leave = (tag, "leave")
            self.launch(
                leave, dst, src, CONTROL_BYTES, lambda: self.post(tag, src, dst, size, then)
            )
        else:
            self.post(tag, src, dst, size, then)

    def post(self, tag: object, src: int, dst: int, size: int, then: Call) -> None:
        key = (tag, src, dst, size)
        if self.arrived[key]:
            self.arrived[key] -= 1
            self.clock.at(self.clock.now, then)
        else:
            self.posted[key].append(then)

    def arrive(self, tag: object, src: int, dst: int, size: int, sent: Call) -> None:
        sent()
        key = (tag, src, dst, size)
        if self.posted[key]:
            self.posted[key].popleft()()
        else:
            self.arrived[key] += 1

    def launch(self, tag: object, src: int, dst: int, size: int, sent: Call) -> None:
        def arrive() -> None:
            self.arrive(tag, src, dst, size, sent)

        if self.aware:
            self.hop(self.route(self.place(src), self.place(dst)), size, arrive)
            return
        for dimension, x, y in zip(self.dimensions, self.place(src), self.place(dst), strict=True):
            if x != y:
                distance = abs(x - y)
                hops = {
                    "ring": min(distance, dimension.npus - distance),
                    "fully_connected": 1,
                    "switch": 2,
                }[dimension.topology]
                time = int(hops * dimension.latency_ns + size / dimension.bytes_per_ns)
                self.clock.at(self.clock.now + time, arrive)
                return

    def route(self, at: list[int], to: list[int]) -> list[tuple[int, Any]]:
        """Links as (dimension, from and to), dimension by dimension."""
        links: list[tuple[int, Any]] = []
        at = list(at)
        for d, dimension in enumerate(self.dimensions):
            rest = (tuple(at[:d]), tuple(at[d + 1 :]))
            forwards = (to[d] - at[d]) % dimension.npus
            if forwards and dimension.topology == "switch":
                links += [(d, (rest, at[d], "switch")), (d, (rest, "switch", to[d]))]
            elif forwards and dimension.topology == "fully_connected":
                links.append((d, (rest, at[d], to[d])))
            elif forwards:
                step = -1 if dimension.npus - forwards < forwards else 1
                x = at[d]
                while x != to[d]:
                    after = (x + step) % dimension.npus
                    # a ring of two has a link of its own for each direction of travel
                    links.append((d, (rest, x, after, step)))
                    x = after
            at[d] = to[d]
        return links

    def hop(self, links: list[tuple[int, Any]], size: int, arrive: Call) -> None:
        if not links:
            arrive()
            return
        d, link = links[0]
        dimension = self.dimensions[d]

        def start() -> None:
            busy = size / dimension.bytes_per_ns
            self.clock.at(
                self.clock.now + int(dimension.latency_ns + busy),
                lambda: self.hop(links[1:], size, arrive),
            )
            self.clock.at(self.clock.now + int(busy), free)

        def free() -> None:
            waiting = self.links[d, link]
            assert waiting is not None
            if waiting:
                waiting.popleft()()
            else:
                self.links[d, link] = None

        waiting = self.links.get((d, link))
        if waiting is None:
            self.links[d, link] = deque()
            start()
        else:
            waiting.append(start)
