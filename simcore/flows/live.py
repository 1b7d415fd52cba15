"""Flows that come one by one, while others are under way."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from simcore.flows.simulate import sharing_arrays, slot_arrays
from simcore.graphs.graph import Floats, Ints
from simcore.kernels.flows.heaps import push
from simcore.kernels.flows.rounding import whole_ns
from simcore.kernels.flows.run import count_from, run
from simcore.kernels.flows.state import (
    ACTIVE,
    COUNTERS,
    ENDED,
    NOWHERE,
    ROUNDING,
    WAITING,
    Flows,
    Log,
    Routes,
    Waiting,
)

_FIRST, _FIRST_WIDTH = 256, 8
_LONG_NS = 1 << 20
"""Time after which flows that are under way all the while count it anew."""


class LiveFlows:
    """Flows on links, max-min fair at every instant, that are told when they begin.

    They count time from when the links were idle, or nearly so, and end at whole ns after it: what
    they do hardly depends on how late it is.

    Args:
        bytes_per_ns: (L,) capacity of each link.
    """

    def __init__(self, bytes_per_ns: Floats) -> None:
        self._capacity, self._width = bytes_per_ns, _FIRST_WIDTH
        self._counter = np.zeros(COUNTERS, np.int64)
        self._log = Log(np.empty(0), np.empty(0, np.int64), np.empty(0))
        self._sharing = sharing_arrays(len(bytes_per_ns), _FIRST)
        self._slots = slot_arrays(_FIRST, self._width)
        self._waiting = Waiting(np.empty(_FIRST), np.empty(_FIRST, np.int64))
        self._flows = _flow_arrays(_FIRST)
        self._free = list(range(_FIRST - 1, -1, -1))
        self._routes = Routes(
            capacity=bytes_per_ns,
            offsets=np.zeros(_FIRST + 1, np.int64),
            links=np.zeros(_FIRST * self._width, np.int32),
            parts=np.ones(_FIRST * self._width),
            latency=np.zeros(_FIRST),
        )
        self._known, self._base_ns = 0, 0

    def add_route(
        self, links: Sequence[int] | Ints, latency_ns: float, parts: Floats | None = None
    ) -> int:
        """Number of a new route over *links*, each of them once.

        Args:
            links: Its links.
            latency_ns: Of the route.
            parts: Part of a flow that each link carries; all of it unless given.
        """
        route = self._known
        if route == len(self._routes.latency):
            self._routes = self._routes._replace(
                offsets=_longer(self._routes.offsets), latency=_longer(self._routes.latency)
            )
        first = int(self._routes.offsets[route])
        last = first + len(links)
        while last > len(self._routes.links):
            longer = _longer(self._routes.links), _longer(self._routes.parts)
            self._routes = self._routes._replace(links=longer[0], parts=longer[1])
        if len(links) > self._width:
            self._widen(len(links))
        self._routes.links[first:last] = links
        self._routes.parts[first:last] = 1.0 if parts is None else parts
        self._routes.offsets[route + 1] = last
        self._routes.latency[route] = latency_ns
        self._known += 1
        return route

    def begin(
        self, now_ns: int, route: int, size_bytes: float, most_bytes_per_ns: float = np.inf
    ) -> int:
        """Begin a flow now, with a cap on its rate; its number, which no other under way has."""
        if not self._free:
            self._grow()
        self._count_from(now_ns)
        flow = self._free.pop()
        self._flows.route[flow] = route
        self._flows.size[flow] = size_bytes
        self._flows.cap[flow] = most_bytes_per_ns
        waiting = self._counter[WAITING]
        begin = now_ns - self._base_ns + self._routes.latency[route]
        push(self._waiting.time, self._waiting.flow, waiting, begin, flow)
        self._counter[WAITING] += 1
        return flow

    def _count_from(self, now_ns: int) -> None:
        later_ns = now_ns - self._base_ns
        if self._counter[ACTIVE] or self._counter[WAITING]:
            if later_ns < _LONG_NS:
                return
            count_from(self._slots, self._waiting, self._counter, float(later_ns))
        self._base_ns = now_ns

    @property
    def next_event_ns(self) -> int | None:
        """Time of the next event, rounded up; None where nothing is under way."""
        due = np.inf
        if self._counter[ACTIVE]:
            due = self._slots.ends[self._slots.order[0]]
        if self._counter[WAITING]:
            due = min(due, self._waiting.time[0])
        return None if np.isinf(due) else self._base_ns + whole_ns(float(due))

    def advance(self, until_ns: int) -> list[tuple[int, int]]:
        """Let time pass up to and including *until_ns*; ends and numbers of flows that ended."""
        self._counter[ENDED] = 0
        tables = self._routes, self._flows, self._slots, self._sharing, self._waiting
        base_ns, most_ns = self._base_ns, until_ns - self._base_ns
        run(*tables, self._log, self._counter, most_ns * (1.0 + 2.0 * ROUNDING))
        ended = self._flows.ended[: self._counter[ENDED]].tolist()
        self._free += ended
        finish = self._flows.finish
        return [(base_ns + min(whole_ns(float(finish[flow])), most_ns), flow) for flow in ended]

    def _widen(self, links: int) -> None:
        """Make room for routes of *links* links: entries of slots get new numbers."""
        old, new = self._width, max(2 * self._width, links)
        larger = slot_arrays(len(self._slots.flow), new)
        entries = np.arange(len(self._slots.after))
        place = (entries // old * new + entries % old).astype(np.int32)

        def moved(numbers: Any) -> Any:
            return np.where(numbers < 0, NOWHERE, place[np.clip(numbers, 0, len(place) - 1)])

        used = self._in_use(entries // old)
        for name in ("after", "before"):
            getattr(larger, name)[place[used]] = moved(getattr(self._slots, name)[used])
        self._slots = self._slots._replace(after=larger.after, before=larger.before)
        self._sharing.head[:] = moved(self._sharing.head)
        self._width = new

    def _in_use(self, slots: Ints) -> Any:
        """(E,) true where a slot is that of a flow in transfer: memory of others is not set."""
        in_use = np.zeros(len(self._slots.flow), np.bool_)
        in_use[self._slots.order[: self._counter[ACTIVE]]] = True
        return in_use[slots]

    def _grow(self) -> None:
        """Make room for twice as many flows at once."""
        count = len(self._flows.size)
        self._free = list(range(2 * count - 1, count - 1, -1))
        self._flows = Flows(*map(_longer, self._flows))._replace(cap=np.full(2 * count, np.inf))
        # a slot's entries on links have numbers of their own, which stay what they are
        larger = slot_arrays(2 * count, self._width)
        arrays: Iterable[tuple[Any, Any]] = zip(larger, self._slots, strict=True)
        for new, old in arrays:
            new[: len(old)] = old
        self._slots = larger
        self._waiting = Waiting(*map(_longer, self._waiting))
        links = len(self._capacity)
        self._sharing = self._sharing._replace(
            group=np.empty(2 * count, np.int64),
            key=np.empty(links + 2 * count),
            what=np.empty(links + 2 * count, np.int64),
        )


def _flow_arrays(count: int) -> Flows:
    return Flows(
        route=np.zeros(count, np.int64),
        size=np.zeros(count),
        start=np.zeros(count),
        cap=np.full(count, np.inf),
        waits=np.zeros(count, np.int64),
        released=np.zeros(count),
        offsets=np.zeros(count + 1, np.int64),
        followers=np.zeros(0, np.int64),
        finish=np.full(count, np.nan),
        ended=np.empty(count, np.int64),
    )


def _longer(array: Any) -> Any:
    """An array with as many entries again, 0 each; offsets get as many parts again."""
    again = len(array) - len(array) % 2
    return np.concatenate([array, np.zeros(again, array.dtype)])
