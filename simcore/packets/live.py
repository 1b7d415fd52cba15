"""Flows that begin one by one, while the packets of others are under way."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.packets import layout as f
from simcore.kernels.packets import routes
from simcore.kernels.packets.begin import TIMERS_FIRST, begin_flow
from simcore.kernels.packets.run_loop import run_until
from simcore.packets.case import Case, Topology
from simcore.packets.flows import Flows
from simcore.packets.image import build_image
from simcore.packets.network import refuse_windows_of_nothing, windows
from simcore.packets.parameters import Parameters

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


class LivePackets:
    """A network of packets, which takes flows as they come.

    Args:
        topology: Hosts, switches, links.
        parameters: Of the run.
        seed: Of the random numbers.

    Raises:
        ConfigError: The network cannot be run with these parameters.
    """

    def __init__(self, topology: Topology, parameters: Parameters, seed: int) -> None:
        self._image = build_image(Case("", topology, _NO_FLOWS, parameters), seed)
        self._run, self._network = parameters, self._image.network
        self._place = self._network.index_of_host()
        self._pairs: dict[tuple[int, int], int] = {}
        self._flows: list[int] = []
        owner = self._network.owner
        self._ports = {int(host): np.flatnonzero(owner == host) for host in self._network.hosts}
        self._room = dict.fromkeys(self._ports, 0)
        self._open = dict.fromkeys(self._ports, 0)
        self._spare = dict.fromkeys(self._ports, 0)
        self._source: list[int] = []
        self._due_ns = -1

    @property
    def hosts(self) -> NDArray[np.int64]:
        """(H,) ids of the hosts that have a link."""
        return self._network.hosts

    @property
    def pauses(self) -> int:
        """Frames that told a port to pause, as received."""
        return int(self._image.arena[f.PAUSES])

    @property
    def drops(self) -> int:
        """Packets that switches had no room for."""
        return int(self._image.arena[f.DROPS])

    def reaches(self, source: int, target: int) -> bool:
        """True if there is a path between two hosts."""
        base = int(self._place[target]) * self._network.nodes + source
        return bool(self._network.first[base + 1] > self._network.first[base])

    def begin(self, now_ns: int, source: int, target: int, size_bytes: int) -> int:
        """Start a flow at a time, no earlier than any event so far; its number, from 0 up."""
        pair = self._pairs.get((source, target)) or self._new_pair(source, target)
        self._make_list(source)
        number = len(self._flows)
        while True:
            first = int(begin_flow(self._image.arena, pair, number, size_bytes, now_ns))
            if first > 0:
                break
            if first == TIMERS_FIRST:
                self._run_timers_before(now_ns)
            else:
                self._grow(int(self._image.arena[f.NEEDED_WORDS]))
        self._flows.append(first)
        self._source.append(source)
        self._open[source] += 1
        self._due_ns = now_ns
        return number

    def _run_timers_before(self, now_ns: int) -> None:
        """Run the timers that were passed over while there was no packet to move."""
        self._image.arena[f.LIVE] += 1
        self._run_until(now_ns - 1)
        self._image.arena[f.LIVE] -= 1

    def next_event_ns(self) -> int | None:
        """Time of the next event; None where none to come can move a packet."""
        return None if self._due_ns < 0 else self._due_ns

    def advance(self, until_ns: int) -> list[EndedFlow]:
        """Handle events up to the end of the first ns in which flows end, or of *until_ns*.

        Returns:
            The flows that ended, in order.
        """
        self._run_until(until_ns)
        arena, ended = self._image.arena, []
        self._due_ns = int(arena[f.NEXT_NS])
        flow, arena[f.ENDED_FIRST] = int(arena[f.ENDED_FIRST]), 0
        while flow:
            number = int(arena[flow + f.Q_NUMBER])
            self._open[self._source[number]] -= 1
            ended.append(EndedFlow(number, int(arena[flow + f.Q_FINISH_NS])))
            flow = int(arena[flow + f.Q_ENDED_NEXT])
        return ended

    def _run_until(self, until_ns: int) -> None:
        image = self._image
        while (status := int(run_until(image.arena, image.reals, until_ns))) != f.ENDED:
            if status == f.FULL:
                self._grow(int(image.arena[f.NEEDED_WORDS]))

    def _new_pair(self, source: int, target: int) -> int:
        """Record of what all flows between two hosts have in common."""
        at = int(self._place[target]) * self._network.nodes + source
        sizes, base_ns = windows(self._run, self._network, [(source, target)])
        refuse_windows_of_nothing(self._run, sizes)
        pair = self._pairs[source, target] = self._words(f.PAIR_WORDS)
        record = self._image.table(pair, 1, f.PAIR_WORDS)[0]
        for word, node in ((f.PAIR_SOURCE, source), (f.PAIR_TARGET, target)):
            record[word] = self._image.nodes + f.NODE_WORDS * node
        record[f.PAIR_WINDOW], record[f.PAIR_BASE_RTT_NS] = sizes[0], base_ns[0]
        record[f.PAIR_LINKS] = self._network.pairs[at, routes.LINKS]
        return pair

    def _make_list(self, host: int) -> None:
        """Give each port of a host room for one flow more in its list.

        The list is looked at only when as many flows have begun as it had room for.
        """
        self._spare[host] -= 1
        if self._spare[host] >= 0:
            return
        ports = self._image.port_table
        listed = int(ports[self._ports[host], f.PORT_QP_COUNT].max())
        need = listed + self._open[host] + 1
        if 2 * need > self._room[host]:
            self._room[host] = 2 * need + 8
            for port in self._ports[host].tolist():
                new = self._words(self._room[host])
                arena, row = self._image.arena, self._image.port_table[port]
                old, count = int(row[f.PORT_QPS]), int(row[f.PORT_QP_COUNT])
                arena[new : new + count] = arena[old : old + count]
                row[f.PORT_QPS] = new
        self._spare[host] = self._room[host] - need

    def _words(self, count: int) -> int:
        """First of so many new words, all 0."""
        first = int(self._image.arena[f.NEXT_WORD])
        self._grow(first + count + int(self._image.arena[f.RESERVE_WORDS]))
        self._image.arena[f.NEXT_WORD] = first + count
        return first

    def _grow(self, words: int) -> None:
        arena = self._image.arena
        if words > arena.size:
            more = np.zeros(max(words, 2 * arena.size) - arena.size, np.int64)
            self._image.arena = np.concatenate((arena, more))

    def waiting(self) -> list[str]:
        """One sentence for each flow that has begun and not ended."""
        arena, sentences = self._image.arena, []
        for number, first in enumerate(self._flows):
            if arena[first + f.Q_FINISH_NS] >= 0:
                continue
            source, target, _, size, *_ = self.row(number)
            acked, sent = int(arena[first + f.Q_ACKED]), int(arena[first + f.Q_NEXT])
            sentences.append(
                f"The flow of {size} bytes from host {source} to host {target} never ends: {sent}"
                f" bytes were sent and {acked} acknowledged, and nothing sends lost ones again."
            )
        return sentences

    def row(self, number: int) -> list[int]:
        """Source, target, port at the source, bytes, start and time in ns of a flow that ended."""
        first, arena = self._flows[number], self._image.arena
        start, finish = int(arena[first + f.Q_START_NS]), int(arena[first + f.Q_FINISH_NS])
        ends = [
            (int(arena[first + word]) - self._image.nodes) // f.NODE_WORDS
            for word in (f.Q_SOURCE, f.Q_TARGET)
        ]
        size = int(arena[first + f.Q_SIZE])
        return [*ends, int(arena[first + f.Q_SPORT]), size, start, finish - start]
