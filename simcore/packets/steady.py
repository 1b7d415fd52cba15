"""Leaps over time in which nothing changes: flows that go on as they do are made shorter.

Once all flows have gone at one rate for a while, what is in flight stays as it is and each flow
goes on at its rate until one ends or begins. That time is cut out: every flow loses the whole
packets that it would have sent, and the clock of the packets falls behind that of the run by as
much. Which rates a set of pairs of hosts has settled at is kept for the next time.

The idea is that of Wormhole (NSDI 2026: steady states are skipped, contention patterns remembered);
the rules here are this engine's own. Flows with timers (DCQCN) are only leapt over at their line's
rate, since timers stand still in a leap.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.controls.dcqcn import CODE as WITH_TIMERS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_SPAN_PACKETS = 16  # of the slowest link, between two looks
_KEPT_PACKETS = 4  # of each flow at least, with which it ends packet by packet
_LIKE = 0.005  # rates that differ by less are one
_STILL = 0.002  # paces that change by less do not react
_MOST_SPANS = 4  # that a leap may last where paces move a little
_MOST_DOUBLINGS = 8


@dataclass(frozen=True)
class _Look:
    """All flows at one time: bytes sent and received, latest arrivals, paces, marks."""

    now_ns: int
    sent: Ints
    came: Ints
    came_ns: Ints
    pace: Ints
    marked: Ints


class Steady:
    """Watches the flows of a run, and shortens them while nothing changes.

    Args:
        payload: Of a full packet, in bytes.
        packet_ns: Time of one on the slowest link.

    Attributes:
        leaps: How many there were.
        leapt_ns: Time that they cut out, in all.
        leapt_packets: Packets that were not followed, likewise.
    """

    def __init__(self, payload: int, packet_ns: int) -> None:
        self.leaps, self.leapt_ns, self.leapt_packets = 0, 0, 0
        self._payload, self._span_ns = payload, _SPAN_PACKETS * packet_ns
        self._flows: dict[int, int] = {}
        self._looks: list[_Look] = []
        self._records = np.zeros(0, np.int64)
        self._is_new, self._next_ns, self._doublings = True, 0, 0
        self._known: dict[tuple[int, ...], Floats] = {}

    def begin(self, flow: int, pair: int) -> None:
        """Take a flow in, whose record is *flow*, between the hosts of *pair*."""
        self._flows[flow] = pair
        self._is_new = True

    def end(self, flow: int) -> None:
        """Leave a flow out that has ended."""
        del self._flows[flow]
        self._is_new = True

    def next_look_ns(self, arena: Ints, now_ns: int) -> int:
        """Time of the packets' clock at which the flows are looked at next; -1: there are none."""
        if self._is_new:
            self._is_new, self._looks, self._doublings = False, [], 0
            self._records = np.array(sorted(self._flows, key=self._order), np.int64)
            settle_ns = arena[self._records + f.Q_BASE_RTT_NS].max(initial=0)
            self._next_ns = now_ns + int(settle_ns)
        return self._next_ns if self._flows else -1

    def _order(self, flow: int) -> tuple[int, int]:
        return self._flows[flow], flow

    def leap(self, arena: Ints, now_ns: int, room_ns: int) -> int:
        """Cut out time if nothing changes; how much, in ns.

        Args:
            arena: Of the run.
            now_ns: Time of the packets' clock.
            room_ns: Time until somebody else does something.
        """
        look = self._look(arena, now_ns)
        span_ns = self._span_ns << self._doublings
        self._next_ns = now_ns + span_ns
        found = self._remembered(arena, look) or self._measured(arena, look, span_ns)
        self._looks.append(look)
        if found is None:
            return 0
        rates, most_ns = found
        leapt_ns = self._cut(arena, look, rates, min(room_ns, most_ns))
        if leapt_ns:
            self._looks = []
            self.leaps += 1
            self.leapt_ns += leapt_ns
        return leapt_ns

    def _look(self, arena: Ints, now_ns: int) -> _Look:
        words = (f.Q_NEXT, f.Q_EXPECTED, f.Q_CAME_NS, f.Q_RATE, f.Q_MARKED)
        return _Look(now_ns, *(arena[self._records + word] for word in words))

    def _pattern(self) -> tuple[int, ...]:
        return tuple(self._flows[flow] for flow in self._records.tolist())

    def _remembered(self, arena: Ints, look: _Look) -> tuple[Floats, int] | None:
        """Rates that these pairs have settled at before, if all flows are under way unhindered."""
        if self._looks or not (look.came > 0).all():
            return None
        rates = self._known.get(self._pattern())
        if rates is None or not self._is_still(arena, look):
            return None
        return rates, 1 << 62

    def _is_still(self, arena: Ints, look: _Look) -> bool:
        """True if every flow sends at its line's rate and none was marked."""
        at_line = look.pace == arena[self._records + f.Q_LINE_RATE]
        return bool(at_line.all() and not look.marked.any())

    def _measured(self, arena: Ints, look: _Look, span_ns: int) -> tuple[Floats, int] | None:
        """Rates in bytes per ns that have lasted for two spans, and the time they may last on."""
        if len(self._looks) < 2:
            return None
        first, middle = self._looks[-2:]
        rates = self._lasting(first, middle, look)
        if rates is not None and self._is_still(arena, look):
            self._known[self._pattern()] = rates
            return rates, 1 << 62
        paces = np.array([first.pace, middle.pace, look.pace])
        moves = paces.max(axis=0) - paces.min(axis=0) > _STILL * look.pace
        if rates is not None and arena[f.CONTROL] != WITH_TIMERS and not moves.any():
            return rates, _MOST_SPANS * span_ns
        if self._doublings < _MOST_DOUBLINGS:  # what goes up and down may be even over longer
            self._doublings += 1
            self._looks = self._looks[-1:]
        return None

    def _lasting(self, first: _Look, middle: _Look, last: _Look) -> Floats | None:
        """Bytes per ns that came in both spans alike, while what is in flight stayed as it was."""
        before, after, rates = _rates(first, middle), _rates(middle, last), _rates(first, last)
        if before is None or after is None or rates is None:
            return None
        flown = (last.sent - last.came) - (middle.sent - middle.came)
        held = np.abs(flown) <= np.maximum(2 * self._payload, (last.came - middle.came) // 100)
        alike = np.abs(after - before) <= _LIKE * before
        return rates if held.all() and alike.all() else None

    def _cut(self, arena: Ints, look: _Look, rates: Floats, most_ns: int) -> int:
        """Shorten all flows by what they would have sent in at most a time; that time."""
        sizes = self._records + f.Q_SIZE
        spare = arena[sizes] - look.sent - _KEPT_PACKETS * self._payload
        leapt_ns = min(int((spare / rates).min()), most_ns)
        if leapt_ns < self._span_ns:
            return 0
        packets = np.round(rates * leapt_ns / self._payload).astype(np.int64)
        packets = np.minimum(packets, (arena[sizes] - look.sent - 1) // self._payload)
        arena[sizes] -= packets * self._payload
        self.leapt_packets += int(packets.sum())
        return leapt_ns


def _rates(one: _Look, two: _Look) -> Floats | None:
    """Bytes per ns that came between two looks; None: of some flow none did."""
    times = two.came_ns - one.came_ns
    if (times <= 0).any():
        return None
    return (two.came - one.came) / times
