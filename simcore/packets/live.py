"""Flows that begin one by one, while the packets of others are under way."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.begin import TIMERS_FIRST, begin_flow
from simcore.kernels.packets.run_loop import run_until
from simcore.kernels.packets.ways import routes
from simcore.packets.case import Case, Topology
from simcore.packets.files.flows import Flows
from simcore.packets.fold.fold import Fold, can_fold
from simcore.packets.fold.part import Book
from simcore.packets.image import build_image
from simcore.packets.link_changes import LinkChanges
from simcore.packets.network import refuse_windows_of_nothing, windows
from simcore.packets.parameters import Parameters
from simcore.packets.rules import takes_detours
from simcore.packets.steady import Steady
from simcore.packets.views.circles import Waits
from simcore.packets.views.report import Report, report_of
from simcore.packets.waiting import Progress, gave_up
from simcore.packets.wires import way_facts

Way = Callable[[int, int], Sequence[int]]
_NO_FLOWS = Flows((), (), (), (), (), ())


@dataclass(frozen=True, slots=True)
class EndedFlow:
    """A flow whose last ACK has come.

    Attributes:
        number: Under which it began.
        finish_ns: When.
    """

    number: int
    finish_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """Flows that took the times of those of an alike part of the network.

    Attributes:
        flows: How many.
        told: Of so many.
        parts: That one was simulated for at once, itself among them, at most.
    """

    flows: int
    told: int
    parts: int


class LivePackets:
    """A network of packets, which takes flows as they come.

    Args:
        topology: Hosts, switches, links.
        parameters: Of the run.
        seed: Of the random numbers.
        way: Ports of the way from one host to another, where the topology leaves them to be told;
            hosts on a way pass packets on.
        ends_at_receiver: A flow ends when its last byte has come, rather than its last ACK.
        short_cut: True: one of several parts of the network that provably behave alike is
            simulated; False: every packet is followed; or leaps over time in which nothing changes.

    Raises:
        ConfigError: The network cannot be run with these parameters.
    """

    def __init__(
        self,
        topology: Topology,
        parameters: Parameters,
        seed: int,
        way: Way | None = None,
        ends_at_receiver: bool = False,
        short_cut: Steady | bool = True,
    ) -> None:
        self._image = build_image(Case("", topology, _NO_FLOWS, parameters), seed)
        self._image.arena[f.ENDS_AT_RECEIVER] = ends_at_receiver
        self._changes = LinkChanges(topology.changes, self._image, parameters)
        self._ended_at = f.Q_LAST_BYTE_NS if ends_at_receiver else f.Q_FINISH_NS
        self._topology, self._way = topology, way
        self._run, self._network = parameters, self._image.network
        self._place = self._network.index_of_host()
        self._pairs: dict[tuple[int, int], int] = {}
        self._book = Book()
        owner = self._network.owner
        hosts = self._network.hosts if way is None else range(topology.nodes)
        self._ports = {int(host): np.flatnonzero(owner == host) for host in hosts}
        self._room = dict.fromkeys(self._ports, 0)
        self._open = dict.fromkeys(self._ports, 0)
        self._spare = dict.fromkeys(self._ports, 0)
        # on the packets' own clock, which leaps leave behind
        self._due_ns, self._progress = -1, Progress()
        self._steady = short_cut if isinstance(short_cut, Steady) else None
        self._behind_ns = 0
        self._fold: Fold | None = None
        if short_cut is True and can_fold(self._image):
            self._fold = Fold(self._image, self._book, self._start, self._give_room)

    @property
    def hosts(self) -> NDArray[np.int64]:
        """(H,) ids of the hosts that have a link."""
        return self._network.hosts

    @property
    def pauses(self) -> int:
        """Frames that told a port to pause, as received."""
        self._unfold()
        return int(self._image.port_table[:, f.PORT_PAUSES].sum())

    @property
    def drops(self) -> int:
        """Packets that switches had no room for."""
        self._unfold()
        return int(self._image.port_table[:, f.PORT_DROPS].sum())

    @property
    def folded(self) -> Folded:
        """Flows that took the times of others."""
        taken, parts = (0, 1) if self._fold is None else (self._fold.taken_over, self._fold.most)
        return Folded(flows=taken, told=len(self._book.records), parts=parts)

    def _unfold(self) -> None:
        """Give all parts their own state."""
        if self._fold is not None:
            self._fold.flush()
            self._fold.unfold()

    def report(self) -> Report:
        """Traffic, pauses, marks and queues so far."""
        self._unfold()
        return report_of(self._image, self._book.records, self._run.packet_payload_size)

    @property
    def least_free_buffer_bytes(self) -> int:
        """Buffer of the switch that has least, beyond what its ports set aside for pauses."""
        nodes = self._image.table(self._image.nodes, self._network.nodes, f.NODE_WORDS)
        of_switches = nodes[self._network.is_switch != 0, f.NODE_BUFFER]
        return int(of_switches.min(initial=1 << 62))

    def circle(self) -> list[int] | None:
        """Switches that can wait for each other in a circle, on the ways of all flows so far."""
        waits = Waits(self._network)
        for source, target in self._pairs:
            for begin, end in ((source, target), (target, source)):  # of data, and of ACKs
                if self._way is not None:
                    waits.add_way(self._way(begin, end))
                else:
                    waits.add_shortest(begin, end, int(self._place[end]) * self._network.nodes)
        return waits.circle()

    def reaches(self, source: int, target: int) -> bool:
        """True if there is a path between two hosts."""
        base = int(self._place[target]) * self._network.nodes + source
        return bool(self._network.first[base + 1] > self._network.first[base])

    def begin(self, now_ns: int, source: int, target: int, size_bytes: int) -> int:
        """Start a flow at a time, no earlier than any event so far; its number, from 0 up."""
        now_ns -= self._behind_ns
        if self._fold is not None and now_ns != self._due_ns:
            self._fold.flush()
        pair = self._pairs.get((source, target)) or self._new_pair(source, target)
        self._open[source] += 1
        self._due_ns = now_ns
        number = self._book.add(pair, size_bytes)
        if self._fold is None:
            self._start(number)
        else:
            self._fold.tell(number)
        return number

    def _start(self, number: int) -> None:
        """Start a flow that was told, now."""
        pair, size_bytes = self._book.pairs[number], self._book.sizes[number]
        now_ns = self._due_ns
        self._make_list(self._host(pair, f.PAIR_SOURCE))
        while True:
            first = int(begin_flow(self._image.arena, pair, number, size_bytes, now_ns))
            if first > 0:
                break
            if first == TIMERS_FIRST:
                self._run_timers_before(now_ns)
            else:
                self._image.grow(int(self._image.arena[f.NEEDED_WORDS]))
        self._book.records[number] = first
        if self._steady is not None:
            self._steady.begin(first, pair)

    def _host(self, pair: int, word: int) -> int:
        """Source or target of a pair."""
        return int(self._image.arena[self._image.arena[pair + word] + f.NODE_ID])

    def _run_timers_before(self, now_ns: int) -> None:
        """Run the timers that were passed over while there was no packet to move."""
        self._image.arena[f.LIVE] += 1
        self._run_until(now_ns - 1)
        self._image.arena[f.LIVE] -= 1

    def next_event_ns(self) -> int | None:
        """Time of the next event; None where none to come can move a packet."""
        return None if self._due_ns < 0 else self._due_ns + self._behind_ns

    def advance(self, until_ns: int) -> list[EndedFlow]:
        """Handle events up to the end of the first ns in which flows end, or of *until_ns*.

        Returns:
            The flows that ended, in order.
        """
        if self._fold is not None:
            self._fold.flush()
        if self._steady is None:
            self._run_until(until_ns)
        else:
            self._leap_until(until_ns, self._steady)
        arena = self._image.arena
        self._due_ns = int(arena[f.NEXT_NS])
        flow, arena[f.ENDED_FIRST] = int(arena[f.ENDED_FIRST]), 0
        ended: list[tuple[int, int]] = []
        while flow:
            ended.append((int(arena[flow + f.Q_NUMBER]), flow))
            flow = int(arena[flow + f.Q_ENDED_NEXT])
        if self._fold is not None:
            ended = self._fold.in_order(ended)
        for number, flow in ended:
            self._open[self._host(self._book.pairs[number], f.PAIR_SOURCE)] -= 1
            if self._steady is not None:
                self._steady.end(flow)
        return [
            EndedFlow(number, int(arena[flow + self._ended_at]) + self._behind_ns)
            for number, flow in ended
        ]

    def _leap_until(self, until_ns: int, steady: Steady) -> None:
        """Go on up to a time or the end of a flow, without what goes on unchanged."""
        now_ns = max(int(self._image.arena[f.NOW_NS]), self._due_ns)
        while True:
            own_ns = until_ns - self._behind_ns
            look_ns = steady.next_look_ns(self._image.arena, now_ns)
            now_ns = own_ns if look_ns < 0 else min(own_ns, max(look_ns, now_ns))
            self._run_until(now_ns)
            arena = self._image.arena
            if arena[f.ENDED_FIRST] != 0 or not now_ns <= arena[f.NEXT_NS] <= own_ns:
                return
            self._behind_ns += steady.leap(arena, now_ns, own_ns - now_ns)

    def _run_until(self, until_ns: int) -> None:
        image = self._image
        while (status := int(run_until(image.arena, image.reals, until_ns))) != f.ENDED:
            if status == f.REROUTES:
                arena = image.arena
                records = self._book.records
                self._changes.reroute(image, [x for x in records if arena[x + f.Q_FINISH_NS] < 0])
            elif status == f.UNFOLDS and self._fold is not None:
                self._fold.unfold()
            elif status == f.FULL:
                self._image.grow(int(image.arena[f.NEEDED_WORDS]))
            elif not self._progress.is_made(image, self._acked()):
                image.arena[f.NEXT_NS] = -1  # nothing more comes, unless another flow begins
                return

    def _acked(self) -> int:
        """Bytes of all flows that have been acknowledged."""
        return int(self._image.arena[np.array(self._book.records, np.int64) + f.Q_ACKED].sum())

    def _new_pair(self, source: int, target: int) -> int:
        """Record of what all flows between two hosts have in common."""
        pair = self._pairs[source, target] = self._image.take_words(f.PAIR_WORDS)
        told = {
            f.PAIR_SOURCE: self._image.nodes + f.NODE_WORDS * source,
            f.PAIR_TARGET: self._image.nodes + f.NODE_WORDS * target,
        }
        told |= self._found(source, target) if self._way is None else self._told(source, target)
        refuse_windows_of_nothing(self._run, [told[f.PAIR_WINDOW] or 1 - self._run.has_win])
        for word, value in told.items():
            self._image.arena[pair + word] = value
        return pair

    def _found(self, source: int, target: int) -> dict[int, int]:
        """Words of a pair whose ways were looked for."""
        sizes, base_ns = windows(self._run, self._network, [(source, target)])
        at = int(self._place[target]) * self._network.nodes + source
        links = int(self._network.pairs[at, routes.LINKS])
        if takes_detours(self._run):
            links = 2 * self._network.most_links
        return {f.PAIR_WINDOW: sizes[0], f.PAIR_BASE_RTT_NS: base_ns[0], f.PAIR_LINKS: links}

    def _told(self, source: int, target: int) -> dict[int, int]:
        """Words of a pair whose ways are told."""
        assert self._way is not None
        forth = self._way(source, target)
        words = {f.PAIR_FORTH: forth, f.PAIR_BACK: self._way(target, source)}
        found = {word: self._write_way(ports) for word, ports in words.items()}
        payload = self._run.packet_payload_size
        round_ns, window_bytes = way_facts(self._topology, forth, payload)
        window = window_bytes & 0xFFFFFFFF if self._run.has_win else 0
        return found | {f.PAIR_WINDOW: window, f.PAIR_BASE_RTT_NS: round_ns}

    def _write_way(self, ports: Sequence[int]) -> int:
        first = self._image.take_words(len(ports) + 1)  # the 0 behind them ends it
        at = self._image.ports + f.PORT_WORDS * np.array(ports, np.int64)
        self._image.arena[first : first + len(ports)] = at
        return first

    def _make_list(self, host: int) -> None:
        """Give each port of a host room for one flow more in its list.

        The list is looked at only when as many flows have begun as it had room for.
        """
        self._spare[host] -= 1
        if self._spare[host] >= 0:
            return
        self._give_room(host, 0)

    def _give_room(self, host: int, listed: int) -> None:
        """Give each port of a host room in its list for so many flows at least, and those told."""
        ports = self._image.port_table
        listed = max(listed, int(ports[self._ports[host], f.PORT_QP_COUNT].max()))
        need = listed + self._open[host]
        if 2 * need > self._room[host]:
            self._room[host] = 2 * need + 8
            for port in self._ports[host].tolist():
                new = self._image.take_words(self._room[host])
                arena, row = self._image.arena, self._image.port_table[port]
                old, count = int(row[f.PORT_QPS]), int(row[f.PORT_QP_COUNT])
                arena[new : new + count] = arena[old : old + count]
                row[f.PORT_QPS] = new
        self._spare[host] = self._room[host] - need

    def waiting(self) -> list[str]:
        """One sentence for each flow that has begun and not ended."""
        self._unfold()
        arena, sentences = self._image.arena, []
        for number, first in enumerate(self._book.records):
            if arena[first + f.Q_FINISH_NS] >= 0:
                continue
            source, target, _, size, *_ = self.row(number)
            acked, sent = int(arena[first + f.Q_ACKED]), int(arena[first + f.Q_NEXT])
            why = gave_up(int(arena[first + f.Q_RETRIES]))
            sentences.append(
                f"The flow of {size} bytes from host {source} to host {target} never ends: {sent}"
                f" bytes were sent and {acked} acknowledged, and {why}."
            )
        return sentences

    def row(self, number: int) -> list[int]:
        """Source, target, port at the source, bytes, start and time in ns of a flow that ended."""
        book, arena = self._book, self._image.arena
        first, pair = book.records[number], book.pairs[number]
        start, finish = int(arena[first + f.Q_START_NS]), int(arena[first + f.Q_FINISH_NS])
        ends = [self._host(pair, word) for word in (f.PAIR_SOURCE, f.PAIR_TARGET)]
        return [*ends, book.ports[number], book.sizes[number], start, finish - start]
