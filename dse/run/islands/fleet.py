"""Homes of islands: which worker holds which, and what is done when one is lost."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dse.evaluate import Crew, Limits
from dse.evaluate.workers.crew import Absence, Message
from dse.evaluate.workers.dispatch import CHUNK_S
from dse.run.islands.messages import Order, Report
from simcore import SimulationError

LATE_S = 60.0
"""Time beyond all limits after which a worker counts as lost: proposing has none."""

MOST_LOSSES = 12
"""Workers that an island may lose one after another, with no trial made between.

Of twenty that were killed at random, every half of a second, one island lost six in a row.
"""


@dataclass(slots=True, kw_only=True)
class _Seat:
    """A worker that is ready.

    Attributes:
        machine: Where it runs.
        islands: Those that live on it.
        chunk: What it has not answered yet; empty: it is idle.
        sent_s: When that was sent.
    """

    machine: str
    islands: set[int] = field(default_factory=set)
    chunk: Sequence[Order] = ()
    sent_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Callbacks:
    """Calls from a fleet to those who know what islands have to do.

    Attributes:
        orders: What an island may do next; none: it has to wait.
        reported: Called for each report that has come in, before its island moves, if it does.
        moved: Called for each island that must begin anew on another worker, with the round of
            which a design may have ended its worker; None: there is none.
        waiting: Called in between.
        happened: Called with the kind and the text of what happened on the machines.
    """

    orders: Callable[[int], list[Order]]
    reported: Callable[[Report], None]
    moved: Callable[[int, int | None], None]
    waiting: Callable[[], None]
    happened: Callable[[str, str], None]


class Fleet:
    """Islands on the workers of a crew, which may grow and shrink.

    Islands stay where they are as long as they can. One whose worker is lost begins anew on
    another one, and so do some where many share a worker and others have come.
    """

    def __init__(self, crew: Crew, islands: int, limits: Limits, calls: Callbacks) -> None:
        self._crew, self._limits, self._calls = crew, limits, calls
        self._homeless = list(range(islands))
        self._islands = islands
        self._seats: dict[int, _Seat] = {}
        self._awake: set[int] = set()  # workers that may have something to do
        self._losses: Counter[int] = Counter()
        self._warm: set[str] = set()
        self._has_changed = True  # workers or islands without one
        self._workers = 0
        self._absence = Absence()

    @property
    def is_busy(self) -> bool:
        """True if some worker has not answered yet."""
        return any(seat.chunk for seat in self._seats.values())

    @property
    def is_manned(self) -> bool:
        """True if some worker is ready."""
        return bool(self._seats)

    @property
    def ready(self) -> dict[int, str]:
        """Machine of each worker that is ready."""
        return {worker: seat.machine for worker, seat in self._seats.items()}

    def send(self) -> None:
        """Give each idle worker what its islands may do, those first that are behind."""
        self._settle()
        # those that are busy are looked at again once they have answered
        self._awake = {worker for worker in self._awake if not self._seats[worker].chunk}
        warming = self._warming()
        for worker in sorted(self._awake):
            seat = self._seats[worker]
            if seat.machine in warming:
                continue
            self._awake.remove(worker)
            found = [orders for island in seat.islands if (orders := self._calls.orders(island))]
            found.sort(key=lambda orders: (orders[0].turn, orders[0].island))
            chunk = [order for orders in found for order in orders]
            if chunk:
                seat.chunk, seat.sent_s = chunk, time.monotonic()
                if seat.machine not in self._warm:
                    warming.add(seat.machine)
                self._crew.send(worker, chunk)

    def wake(self) -> None:
        """Ask what islands may do that had to wait: there are news."""
        self._awake |= self._seats.keys()

    def receive(self, timeout_s: float) -> None:
        """Take what has come in; waits at most about *timeout_s*.

        Raises:
            SimulationError: Workers cannot start, have been missing for long, or an island cannot
                go on.
        """
        self._calls.waiting()
        for message in self._crew.receive(timeout_s):
            self._read(message)
        for kind, text in self._crew.events():
            self._calls.happened(kind, text)
        self._watch()

    def _warming(self) -> set[str]:
        """Machines whose first worker compiles still: the others then load what it compiled."""
        if all(self._seats[worker].machine in self._warm for worker in self._awake):
            return set()
        seats = self._seats.values()
        return {seat.machine for seat in seats if seat.chunk} - self._warm

    def _settle(self) -> None:
        """Give islands without a worker one, and workers that have come later some islands."""
        workers = self._crew.workers
        if not self._has_changed and workers == self._workers:
            return
        self._has_changed, self._workers = False, workers  # some may not come after all
        room = -(-self._islands // max(workers, 1))
        if any(len(seat.islands) < room for seat in self._seats.values()):
            self._make_way(room)
        self._homeless.sort(reverse=True)
        for size in range(room):
            for worker, seat in self._seats.items():
                if self._homeless and len(seat.islands) == size:
                    seat.islands.add(self._homeless.pop())
                    self._awake.add(worker)

    def _make_way(self, room: int) -> None:
        """Take islands from workers that are idle and have too many."""
        for seat in self._seats.values():
            while len(seat.islands) > room:
                if seat.chunk:
                    self._has_changed = True  # it is seen again when it has answered
                    break
                island = max(seat.islands)
                seat.islands.remove(island)
                self._move(island)

    def _move(self, island: int, suspect: int | None = None) -> None:
        self._has_changed = True
        self._homeless.append(island)
        self._calls.moved(island, suspect)

    def _read(self, message: Message) -> None:
        if message.machine:
            self._seats[message.worker] = _Seat(machine=message.machine)
            self._has_changed = True
            return
        if message.death is not None:
            is_suspect = message.death.failure != "lost_node"
            self._lost(message.worker, message.death.reason, is_suspect=is_suspect)
            return
        seat = self._seats[message.worker]
        if seat.machine not in self._warm:
            self._warm.add(seat.machine)
            self.wake()
        self._awake.add(message.worker)
        pairs = zip(seat.chunk, message.answers, strict=False)  # the last ones wait where time ends
        # what is left is what the worker is lost with
        seat.chunk = [order for order, report in pairs if report.is_out_of_memory]
        for report in message.answers:
            self._take(report)
        if seat.chunk:
            self._lost(message.worker, "the memory did not suffice", is_suspect=True)

    def _take(self, report: Report) -> None:
        if report.error:
            raise SimulationError(f"island {report.island} cannot go on: {report.error}")
        if report.new:  # rounds that are replayed show nothing
            self._losses[report.island] = 0
        self._calls.reported(report)

    def _lost(self, worker: int, reason: str, *, is_suspect: bool) -> None:
        seat = self._seats.pop(worker, None)
        self._awake.discard(worker)
        self._has_changed = True
        self._calls.happened("crash" if is_suspect else "lost_node", f"w{worker}: {reason}")
        self._crew.replace(worker)
        if seat is None:  # it died while it started
            return
        busy = {order.island for order in seat.chunk}
        suspects = {order.island: order.turn for order in seat.chunk if not order.is_replay}
        for island in sorted(seat.islands):
            self._losses[island] += island in busy
            if self._losses[island] > MOST_LOSSES:
                raise SimulationError(f"island {island} cannot go on: {reason}")
            self._move(island, suspects.get(island) if is_suspect else None)

    def _watch(self) -> None:
        """Give up workers that have not answered for long, and studies without workers."""
        now_s = time.monotonic()
        self._absence.watch(is_manned=bool(self._seats or self._crew.waiting))
        if self._limits.timeout_s is None:
            return
        for worker, seat in list(self._seats.items()):
            if seat.chunk and now_s - seat.sent_s > self._patience_s(seat):
                reason = f"took longer than {self._limits.timeout_s:g} s"
                self._lost(worker, reason, is_suspect=True)

    def _patience_s(self, seat: _Seat) -> float:
        """Time that a worker may take for what it was sent."""
        assert self._limits.timeout_s is not None
        once_s = self._limits.timeout_s + self._limits.first_s
        tries = 3 if any(order.is_guarded for order in seat.chunk) else 1
        return CHUNK_S + LATE_S + tries * once_s
