"""A leader's state, copied for a follower: ports, switches, flows, packets and events."""

from collections.abc import Callable, Iterator
from itertools import groupby, islice

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.event_wheel import ENTRY_WORDS, SPAN_NS, double_heap
from simcore.packets.fold.part import Book, Class, Part
from simcore.packets.fold.resources import Resources
from simcore.packets.image import Image

Ints = NDArray[np.int64]

_OF_PORTS = (f.WAKE, f.CREDIT)
_OF_FLOWS = (f.FLOW_CALLED, f.FLOW_CREATED, f.FLOW_STARTED)
_PORT_NAMES = (
    f.E_NEXT, f.E_KIND, f.PORT_PEER, f.PORT_NODE, f.PORT_QPS, f.PORT_LOSS, f.PORT_LANES,
)  # fmt: skip


class Copy:
    """State that a follower is given.

    Args:
        image: Of the run, all events of whose present ns are over.
        book: Of its flows.
        resources: Of its network.
        alike: Class whose leader is simulated.
        follower: Of it, which shall be too.
    """

    def __init__(
        self, image: Image, book: Book, resources: Resources, alike: Class, follower: Part
    ) -> None:
        self._image, self._book = image, book
        self._own = follower.own
        ends = islice(zip(alike.leader.places, follower.places, strict=False), alike.agreed)
        is_port = resources.is_port
        pairs = [(is_port(one), resources.record(one), resources.record(two)) for one, two in ends]
        self._ports = {one: two for port, one, two in pairs if port}
        self._nodes = {one: two for port, one, two in pairs if not port}
        self._touched = {resources.record(one) for one in alike.leader.owned}
        self._flows: dict[int, int] = {}
        self._copies: dict[int, int] = {}  # of packets and events

    def write(self, give_room: Callable[[int, int], None]) -> None:
        """Write it.

        Args:
            give_room: Gives the lists of a host's ports room for so many flows.
        """
        self._write_flows()
        events = self._events()
        for leading in self._ports:
            if leading in self._touched:
                self._write_port(leading, give_room)
        for leading, node in self._nodes.items():
            if leading in self._touched:
                for word in (f.NODE_SHARED, f.NODE_TURN, f.NODE_NEAR):
                    self._arena[node + word] = self._arena[leading + word]
        self._write_wheel(events)
        self._write_heap(events)

    @property
    def _arena(self) -> Ints:
        return self._image.arena

    def _write_flows(self) -> None:
        """Copy the flows that have not ended, which all flows with packets under way are."""
        for leading, number in self._own.items():
            old = self._book.records[leading]
            if self._arena[old + f.Q_FINISH_NS] < 0:
                self._copied_flow(old, number)
                self._arena[f.FLOWS_LEFT] += 1

    def _flow(self, old: int) -> int:
        """The follower's flow for one of the leader's, also where that has ended."""
        new = self._flows.get(old)
        return new or self._copied_flow(old, self._own[int(self._arena[old + f.Q_NUMBER])])

    def _copied_flow(self, old: int, number: int) -> int:
        pair, told = self._book.pairs[number], bool(self._arena[f.WAYS_TOLD])
        links = 0 if told else int(self._arena[pair + f.PAIR_LINKS])
        new = self._image.take_words(f.Q_WORDS + 2 * links)
        arena = self._arena
        self._flows[old] = self._book.records[number] = new
        arena[new : new + f.Q_WORDS] = arena[old : old + f.Q_WORDS]
        arena[new + f.Q_NUMBER], arena[new + f.Q_PAIR] = number, pair
        arena[new + f.Q_SPORT] = self._book.ports[number]
        arena[new + f.Q_SOURCE] = arena[pair + f.PAIR_SOURCE]
        arena[new + f.Q_TARGET] = arena[pair + f.PAIR_TARGET]
        for word in (f.Q_PORT, f.Q_RECEIVER):
            arena[new + word] = self._ports.get(int(arena[old + word]), 0)
        if told:
            arena[new + f.Q_FORTH] = arena[pair + f.PAIR_FORTH] + 1
            arena[new + f.Q_BACK] = arena[pair + f.PAIR_BACK] + 1
        else:
            arena[new + f.Q_FORTH], arena[new + f.Q_BACK] = new + f.Q_WORDS, new + f.Q_WORDS + links
            ways = arena[old + f.Q_WORDS : old + f.Q_WORDS + 2 * links].tolist()
            arena[new + f.Q_WORDS : new + f.Q_WORDS + 2 * links] = [
                self._ports.get(port, 0) for port in ways
            ]
        if arena[f.REORDER_PACKETS]:
            self._copy_bits(old, new)
        return new

    def _copy_bits(self, old: int, new: int) -> None:
        words = int(self._arena[f.REORDER_PACKETS]) // 64
        for word in (f.Q_CAME, f.Q_ANSWERED):
            if at := int(self._arena[old + word]):
                bits = self._image.take_words(words)
                self._arena[bits : bits + words] = self._arena[at : at + words]
                self._arena[new + word] = bits

    def _copied(self, old: int, words: int) -> int:
        new = self._image.take_words(words)
        self._arena[new : new + words] = self._arena[old : old + words]
        self._copies[old] = new
        return new

    def _packet(self, old: int) -> int:
        """A copy of a packet, on its way or in a queue."""
        new = self._copied(old, int(self._arena[f.PACKET_WORDS]))
        qp = int(self._arena[old + f.P_QP])
        for word in (f.P_PORT, f.P_IN):
            port = int(self._arena[old + word])  # that of an earlier packet where it has none
            self._arena[new + word] = self._ports.get(port, port)
        if qp:
            own = self._flow(qp)
            way = f.Q_FORTH if self._arena[old + f.P_TYPE] == f.DATA else f.Q_BACK
            self._arena[new + f.P_QP] = own
            self._arena[new + f.P_HOP] += self._arena[own + way] - self._arena[qp + way]
        return new

    def _queue(self, first: int, own_first: int) -> None:
        """Copy the queue whose first and last packet stand at a place, to another place."""
        old, last = int(self._arena[first]), 0
        self._arena[own_first] = 0
        while old:
            new = self._packet(old)
            self._arena[new + f.E_NEXT] = 0
            self._arena[last + f.E_NEXT if last else own_first] = new
            old, last = int(self._arena[old + f.E_NEXT]), new
        self._arena[own_first + 1] = last

    def _write_port(self, leading: int, give_room: Callable[[int, int], None]) -> None:
        own, count = self._ports[leading], int(self._arena[leading + f.PORT_QP_COUNT])
        if count:
            arena = self._arena
            node = int(arena[arena[own + f.PORT_NODE] + f.NODE_ID])
            give_room(node, count)
        arena = self._arena
        kept = [int(arena[own + word]) for word in _PORT_NAMES]
        arena[own : own + f.PORT_WORDS] = arena[leading : leading + f.PORT_WORDS]
        for word, value in zip(_PORT_NAMES, kept, strict=True):
            arena[own + word] = value
        flows = arena[arena[leading + f.PORT_QPS] :][:count].tolist()
        first = int(arena[own + f.PORT_QPS])
        arena[first : first + count] = [self._flows.get(flow, flow) for flow in flows]
        for word in (f.PORT_CONTROL_FIRST, f.PORT_FIRST):
            self._queue(leading + word, own + word)
        lanes = int(self._arena[f.LANES])
        for lane in range(lanes if kept[-1] else 0):
            at = [int(self._arena[port + f.PORT_LANES]) for port in (leading, own)]
            old, new = (one + f.LANE_WORDS * lane for one in at)
            self._arena[new + f.LANE_CREDIT] = self._arena[old + f.LANE_CREDIT]
            self._queue(old + f.LANE_FIRST, new + f.LANE_FIRST)

    def _events(self) -> dict[int, int]:
        """Copies of all of the leader's events to come, by these."""
        for event in [*self._of_wheel(), *self._of_heap()]:
            self._copy_event(event)
        return self._copies.copy()

    def _of_wheel(self) -> Iterator[int]:
        wheel = int(self._arena[f.WHEEL])
        firsts = self._arena[wheel : wheel + 2 * SPAN_NS : 2]
        for event in firsts[firsts != 0].tolist():
            yield from self._chain(event)

    def _chain(self, event: int) -> Iterator[int]:
        while event:
            yield event
            event = int(self._arena[event + f.E_NEXT])

    def _of_heap(self) -> list[int]:
        return [event for *_, event in self._entries()]

    def _entries(self) -> list[list[int]]:
        """Entries of the heap in order: time, order, event."""
        first, size = int(self._arena[f.HEAP]), int(self._arena[f.HEAP_SIZE])
        entries: list[list[int]] = self._image.table(first, size, ENTRY_WORDS).tolist()
        return sorted(entries)

    def _copy_event(self, event: int) -> None:
        """Copy an event of the leader's; others, and timers of ended flows, are left alone."""
        kind = int(self._arena[event + f.E_KIND]) & f.KIND_MASK
        about = int(self._arena[event + f.E_A])
        if kind == f.ARRIVAL:
            if int(self._arena[event + f.P_PORT]) not in self._touched:
                return
            new = self._packet(event)
        elif kind == f.PORT_FREE:
            if event not in self._touched:
                return
            new = self._copies[event] = self._ports[event]
        elif kind in _OF_FLOWS:
            if event not in self._flows:
                return
            new = self._copies[event] = self._flows[event]
            self._arena[self._arena[new + f.Q_PAIR]] -= kind == f.FLOW_CALLED
        elif kind in _OF_PORTS:
            if about not in self._touched:
                return
            new = self._copied(event, f.EVENT_WORDS)
            self._arena[new + f.E_A] = self._ports[about]
        elif about not in self._flows:  # of a flow
            return
        else:
            new = self._copied(event, f.EVENT_WORDS)
            self._arena[new + f.E_A] = self._flows[about]
        self._arena[f.LIVE] += kind < f.LINK_CHANGE
        word = int(self._arena[event + f.E_KIND])
        root = self._own[(word & f.ROOT_MASK) >> f.ROOT_SHIFT] << f.ROOT_SHIFT & f.ROOT_MASK
        self._arena[new + f.E_KIND] = word & ~f.ROOT_MASK | root

    def _with_copies(self, events: list[int], copies: dict[int, int]) -> list[int]:
        """Events of one time in order, with the copies of those that have one."""
        found: list[int] = []
        for _, group in groupby(events, self._group):
            entries = []
            for place, event in enumerate(group):
                entries.append((self._root(event), place, event))
                if event in copies:
                    entries.append((self._root(copies[event]), place, copies[event]))
            found += [event for *_, event in sorted(entries)]
        return found

    def _group(self, event: int) -> int:
        return int(self._arena[event + f.E_KIND]) >> f.GROUP_SHIFT

    def _root(self, event: int) -> int:
        return int(self._arena[event + f.E_KIND]) & f.ROOT_MASK

    def _write_wheel(self, copies: dict[int, int]) -> None:
        wheel = int(self._arena[f.WHEEL])
        firsts = self._arena[wheel : wheel + 2 * SPAN_NS : 2]
        for slot in np.flatnonzero(firsts).tolist():
            events = list(self._chain(int(self._arena[wheel + 2 * slot])))
            if not any(event in copies for event in events):
                continue
            events = self._with_copies(events, copies)
            for event, following in zip(events, [*events[1:], 0], strict=True):
                self._arena[event + f.E_NEXT] = following
            self._arena[wheel + 2 * slot], self._arena[wheel + 2 * slot + 1] = events[0], events[-1]

    def _write_heap(self, copies: dict[int, int]) -> None:
        entries, rows = self._entries(), list[tuple[int, int, int]]()
        for time_ns, group in groupby(entries, lambda entry: entry[0]):
            for event in self._with_copies([entry[2] for entry in group], copies):
                rows.append((time_ns, len(rows), event))
        if len(rows) == len(entries):
            return
        while 2 * (len(rows) + int(self._arena[f.RESERVE_WORDS])) > self._arena[f.HEAP_CAPACITY]:
            self._image.make_room(6 * int(self._arena[f.HEAP_CAPACITY]))
            double_heap(self._arena)
        table = self._image.table(int(self._arena[f.HEAP]), len(rows), ENTRY_WORDS)
        table[:] = rows  # in order, which a heap may be
        self._arena[f.HEAP_SIZE] = self._arena[f.ORDER] = len(rows)
