"""One run of the event engine beside a network outside it, or beside others on one network."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from simcore.engines.events.fold.relations import CannotFoldError
from simcore.engines.events.image import build_arena
from simcore.engines.events.input import EngineInput, Representatives
from simcore.engines.events.outside import HeldNetwork
from simcore.kernels.events import layout
from simcore.kernels.native import call

if TYPE_CHECKING:  # needs a compiler, which few runs do
    from simcore.synthesis.placed.carriage import Carriage

_EVENTS_BETWEEN_PAUSES = 5_000_000  # about a second, so that an interrupt is heard
_GROWTH_WORDS = 1 << 22
NEVER_NS = layout.LAST_NS + 1
"""Time of the next event where there is none."""


class EngineRun:
    """The state of a run, and its next events.

    Args:
        inputs: The run, which has been checked.
        simulated: NPUs that are simulated.
        number: Of this run among those on one network, whose messages have numbers of their own.
        runs: How many there are.

    Attributes:
        arena: All state of the kernel.
        under_way: Messages in the network outside.
        schedules: Phases of the run that are synthesised for their network.
    """

    def __init__(
        self, inputs: EngineInput, simulated: Representatives, number: int = 0, runs: int = 1
    ) -> None:
        self.inputs, self.simulated = inputs, simulated
        self._number, self._runs = number, runs
        self.arena, self._rates, self.schedules = build_arena(inputs, simulated)
        self.under_way = 0
        self._where = None if inputs.where is None else inputs.where.tolist()
        npus = simulated.npus.size
        self._make_room(npus * (layout.EVENT_WORDS + layout.FIFO_WORDS))
        starts = np.zeros(npus, np.int64)
        if inputs.start_ns is not None:
            starts = np.ascontiguousarray(inputs.start_ns[simulated.npus])
        call("schedule_starts", self.arena, starts)

    def check_order(self) -> None:
        """Check that the order of simultaneous events need not differ among alike NPUs.

        Raises:
            CannotFoldError: It may, and has mattered.
        """
        if self.arena[layout.UNSAFE]:
            why = "the order of simultaneous events depends on the order of the NPUs"
            raise CannotFoldError(why)

    def again(self, inputs: EngineInput) -> "EngineRun":
        """A run of *inputs* in the place of this one."""
        return EngineRun(inputs, self.simulated, self._number, self._runs)

    @property
    def next_ns(self) -> int:
        """Time of its next event, ``NEVER_NS`` where there is none."""
        arena = self.arena
        if self.is_amid:
            return int(arena[layout.NOW_NS])
        return int(arena[arena[layout.HEAP]]) if arena[layout.HEAP_SIZE] else NEVER_NS

    @property
    def is_amid(self) -> bool:
        """True if some events of the present time have been handled, and others have not."""
        return bool(self.arena[layout.CURRENT_TABLE] or self.arena[layout.CURRENT_BUCKET])

    def go_on(self, until_ns: int) -> int:
        """Run up to and including *until_ns*, or until something but a full arena or a pause."""
        self.arena[layout.HORIZON_NS] = until_ns
        while True:
            self.arena[layout.PAUSE_AT] = self.arena[layout.EVENTS] + _EVENTS_BETWEEN_PAUSES
            code = call("run_events", self.arena, self._rates)
            if code == layout.FULL:
                needed = int(self.arena[layout.NEEDED_WORDS] - self.arena[layout.NEXT_WORD])
                self._make_room(needed)
            elif code != layout.PAUSED or self.arena[layout.UNSAFE]:
                return code

    def hand_out(self, network: HeldNetwork) -> "Iterator[tuple[int, int, int, Carriage | None]]":
        """Send what the kernel has put out; yields sender, receiver and bytes of each message.

        A member of a synthesised collective sends itself what it sends others: what links carry,
        the work that starts with its last member, comes fourth.
        """
        arena = self.arena
        message = int(arena[layout.OUTBOX_HEAD])
        arena[layout.OUTBOX_HEAD] = 0
        now_ns = int(arena[layout.NOW_NS])
        while message:
            words = arena[message : message + layout.MSG_WORDS].tolist()
            rank = source = words[layout.MSG_AT]  # whoever its receiver takes it to be from
            target, work = words[layout.MSG_DST], None
            if self._where is not None:
                source, target = self._where[source], self._where[target]
            number, size = message * self._runs + self._number, words[layout.MSG_BYTES]
            if words[layout.MSG_TRAVEL_NS] > 0:
                schedule = words[layout.MSG_TRAVEL_NS] - 1
                which = self._number, schedule, words[layout.MSG_TAG]
                phase, target = self.schedules[schedule], source
                work = network.join(now_ns, number, (rank, source), phase, which)
            else:
                network.send(now_ns, number, source, target, size)
            self.under_way += 1
            message = words[layout.EVENT_NEXT]
            yield source, target, size, work

    def take(self, time_ns: int, number: int, at: int) -> None:
        """Let a message arrive, by its number in the network, the *at*-th of those told at once."""
        self.under_way -= 1
        self._make_room(layout.FIFO_WORDS)
        call("add_event", self.arena, time_ns, number // self._runs, at)

    def _make_room(self, words: int) -> None:
        """Make the arena larger if need be, with at least *words* words never used.

        It grows in place: the programs in it never exist twice.
        """
        needed = int(self.arena[layout.NEXT_WORD]) + words
        if needed > self.arena.size:
            self.arena.resize(needed + min(needed >> 1, _GROWTH_WORDS), refcheck=False)


def earliest(runs: Sequence[EngineRun]) -> tuple[EngineRun, int]:
    """The run whose next event is first, and the time up to which it is: the next of others."""
    if len(runs) == 1:
        return runs[0], NEVER_NS
    times = [run.next_ns for run in runs]
    first = next((at for at, run in enumerate(runs) if run.is_amid), times.index(min(times)))
    return runs[first], min(time for at, time in enumerate(times) if at != first)
