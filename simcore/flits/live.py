"""Messages that begin one by one, while the flits of others are under way.

Messages that share no link do not see each other: routers of one network that carry them work on
different inputs, outputs and channels. As long as those under way share none, each ends when a
formula says, and no flit is moved. Messages of full packets that follow each other on one way whose
links take a flit per cycle are one longer message. The first one that meets another brings all back
to the flits:
what has begun since the network was last empty is run again, flit by flit, up to then, and so are
all that follow until the network is empty. An empty network is as new: its turns begin anew.
"""

from collections.abc import Callable, Container
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from simcore.errors import SimulationError
from simcore.flits.case import Case
from simcore.flits.memory import Memory
from simcore.flits.waiting import present_circle, told
from simcore.kernels.flits import network as of
from simcore.kernels.flits.messages import add_message
from simcore.kernels.flits.nodes import TABLE
from simcore.kernels.flits.run import run_until

ATTOSECONDS = 10**9
"""In a nanosecond."""
_QUIET = 1_000_000
"""Cycles without a flit on any link after which a network is taken to be stuck."""
_NEVER = 1 << 60


class Way(NamedTuple):
    """A way through the network.

    Attributes:
        source, target: Nodes at its ends.
        links: That it takes.
        entries: (router, target, output and part of channels) of each router but the last.
        head_cycles: From the beginning to when the first flit is where its formula says.
        slowness: Of all links, in parts of a cycle; 0: no formula tells the time of a message.
    """

    source: int
    target: int
    links: tuple[int, ...]
    entries: tuple[tuple[int, int, int], ...]
    head_cycles: int
    slowness: int


Alone = Callable[[Way, int], int | None]
"""Cycles of a message of so many flits on a way that no other one shares; None: not known."""


class Ended(NamedTuple):
    """A message whose last flit has come.

    Attributes:
        number: Under which it began.
        finish_ns: When.
    """

    number: int
    finish_ns: int


class _Begun(NamedTuple):
    cycle: int
    way: Way
    flits: int
    number: int


class _Train(NamedTuple):
    """Messages that follow each other on one way.

    Attributes:
        start: Cycle from which they do so without a gap.
        flits: Since then.
        all_flits: Since the way was empty.
        under_way: Messages of it that have not ended.
    """

    start: int
    flits: int
    all_flits: int
    under_way: int


class LiveFlits:
    """A network of flits, which takes messages as they come.

    Args:
        case: The network; its table of routes is told by the ways.
        cycle: Attoseconds of a cycle.
        alone: Formula for messages that meet no other.
    """

    def __init__(self, case: Case, cycle: int, alone: Alone) -> None:
        self._case, self._cycle, self._alone = case, cycle, alone
        self._log: list[_Begun] = []
        self._count = 0
        self._under_way: dict[int, _Begun] = {}
        self._ends: list[tuple[int, int]] = []  # cycles and numbers of those alone, a heap
        self._taken: dict[int, Way] = {}
        self._trains: dict[Way, _Train] = {}
        self._plain: _Plain | None = None

    def _ns(self, cycle: int) -> int:
        """Whole ns from which a cycle is over."""
        return -(-cycle * self._cycle // ATTOSECONDS)

    def _first_cycle(self, time_ns: int) -> int:
        """Cycle in which a message that is sent at a time begins: the first one after it."""
        return time_ns * ATTOSECONDS // self._cycle + 1

    def begin(self, now_ns: int, way: Way, flits: int) -> int:
        """Start a message at a time, no earlier than any event so far; its number, from 0 up."""
        cycle, number = self._first_cycle(now_ns), self._count
        self._count += 1
        begun = _Begun(cycle, way, flits, number)
        if not self._under_way:
            self._log, self._plain = [], None
        end = self._end_alone(begun) if self._plain is None else None
        if self._plain is None and end is None:
            self._plain = self._from_the_log(cycle)
        self._under_way[number] = begun
        if self._plain is not None:
            self._plain.add(begun)
        else:
            assert end is not None
            self._log.append(begun)
            heappush(self._ends, (end, number))
        return number

    def _end_alone(self, begun: _Begun) -> int | None:
        """Cycle in which a message ends, and its way taken; None: it meets others, or not known."""
        cycle, way, flits, _ = begun
        for link in way.links:
            if self._taken.get(link, way) is not way:
                return None
        train = self._trains.get(way, _Train(cycle, 0, 0, 0))
        if train.all_flits % self._case.how.size:
            return None
        if cycle > train.start + (train.flits * way.slowness >> of.CYCLE_BITS):
            train = train._replace(start=cycle, flits=0)
        if train.flits and way.slowness != of.CYCLE:
            return None  # flits wait before a slow link, and those of two messages go in turn
        after = _Train(
            train.start, train.flits + flits, train.all_flits + flits, train.under_way + 1
        )
        if self._alone(way, after.all_flits) is None:
            return None
        cycles = self._alone(way, after.flits)
        assert cycles is not None
        self._trains[way] = after
        self._taken.update(dict.fromkeys(way.links, way))
        return train.start + cycles

    def _leave(self, way: Way) -> None:
        """Free a way that one message has left, if it was the last one."""
        train = self._trains[way]
        self._trains[way] = train._replace(under_way=train.under_way - 1)
        if train.under_way == 1:
            del self._trains[way]
            for link in way.links:
                del self._taken[link]

    def _from_the_log(self, cycle: int) -> "_Plain":
        """The network flit by flit, as what has begun so far has left it."""
        plain = _Plain(self._case, self._log[0].cycle if self._log else cycle)
        for begun in self._log:
            plain.add(begun)
        plain.run_before(cycle)
        plain.keep(self._under_way)  # the others have been told already
        self._log, self._ends, self._taken, self._trains = [], [], {}, {}
        return plain

    def next_event_ns(self) -> int | None:
        """Time before which no message ends; None where none is under way."""
        if not self._under_way:
            return None
        if self._plain is None:
            return self._ns(self._ends[0][0])
        return self._ns(self._plain.next_cycle)

    def advance(self, until_ns: int) -> list[Ended]:
        """Go on to the end of the first ns in which messages end, or of *until_ns*.

        Returns:
            The messages that ended, in order.

        Raises:
            SimulationError: The network has come to a standstill.
        """
        ended: list[tuple[int, int]] = []
        if self._plain is None:
            last = until_ns
            while self._ends and self._ns(self._ends[0][0]) <= last:
                ended.append(heappop(self._ends))
                last = self._ns(ended[0][0])
        elif self._under_way:
            ended = self._run(until_ns)
        found = [Ended(number, self._ns(cycle)) for cycle, number in ended]
        for one in found:
            way = self._under_way.pop(one.number).way
            if self._plain is None:
                self._leave(way)
        return found

    def _run(self, until_ns: int) -> list[tuple[int, int]]:
        assert self._plain is not None
        last, found = until_ns * ATTOSECONDS // self._cycle, list[tuple[int, int]]()
        while not found and self._plain.next_cycle <= last:
            found = self._plain.run(last + 1)
        if found:
            last = self._ns(found[0][0]) * ATTOSECONDS // self._cycle
            while self._plain.next_cycle <= last:
                found += self._plain.run(last + 1)
        return sorted(found)


class _Plain:
    """A network flit by flit from a cycle on, with its own count of cycles."""

    def __init__(self, case: Case, start: int) -> None:
        self._memory = Memory(case, (TABLE, []), 1, is_live=True)
        self._start, self._now = start, 0
        self._numbers: dict[int, int] = {}
        self._ended: list[tuple[int, int]] = []

    @property
    def next_cycle(self) -> int:
        """Cycle that is run next, or in which a message has ended that is yet to be told."""
        return self._ended[0][0] if self._ended else self._start + self._now

    def add(self, begun: _Begun) -> None:
        """Run to the cycle in which a message begins, and put it into its node's queue."""
        self.run_before(begun.cycle)
        table = self._memory.table(of.AT_TABLE)
        for router, target, told_ in begun.way.entries:
            table[router, target] = told_
        while True:
            ends = begun.way.source, begun.way.target
            row = int(add_message(self._memory.words, *ends, begun.flits))
            if row != of.NONE:
                break
            self._memory.grow()
        self._numbers[row] = begun.number

    def run_before(self, cycle: int) -> None:
        """Run to before a cycle."""
        while self._start + self._now < cycle:
            self._go(cycle)

    def keep(self, numbers: Container[int]) -> None:
        """Tell the ends of no other messages than these."""
        self._ended = [one for one in self._ended if one[1] in numbers]

    def run(self, end: int) -> list[tuple[int, int]]:
        """Run to a cycle, or to the first in which messages end; these, with their cycle."""
        if not self._ended:
            self._go(end)
        found, self._ended = self._ended, []
        return found

    def _go(self, end: int) -> None:
        words = self._memory.words
        before = int(words[of.ARRIVALS])
        until = min(end - self._start, self._now + _QUIET)
        span = np.array([self._now, until, 0, _NEVER, 0], np.int64)
        now = int(run_until(words, 0.0, span))
        is_still = now - self._now >= _QUIET and int(words[of.ARRIVALS]) == before
        if is_still and words[of.IN_FLIGHT] == 0 and words[of.AWAKE_COUNT] > 0:
            circle = present_circle(self._memory)
            where = f"routers {told(circle)}" if circle else "some routers"
            raise SimulationError(f"deadlock: channels of {where} wait for each other")
        if now == self._now and now < until:
            self._memory.grow()
        self._now = now
        self._collect()

    def _collect(self) -> None:
        """Take the messages that have ended, and give their rows back."""
        words, rows = self._memory.words, self._memory.table(of.AT_MESSAGE)
        row, words[of.ENDED] = int(words[of.ENDED]), of.NONE
        found = []
        while row != of.NONE:
            found.append((self._start + int(rows[row, of.ENDED_AT]), self._numbers.pop(row)))
            following = int(rows[row, of.FOLLOWS])
            rows[row, of.FOLLOWS], words[of.FREE_MESSAGE] = words[of.FREE_MESSAGE], row
            row = following
        self._ended += sorted(found)
