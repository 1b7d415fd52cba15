"""Members of synthesised collectives, which wait for each other and then end together."""

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from simcore.engines.collectives.scheduled import ScheduledPhase
from simcore.engines.events.input import EngineInput
from simcore.network import Arrival

if TYPE_CHECKING:  # needs a compiler, which few runs do
    from simcore.synthesis.placed.carriage import Carriage


class Joining:
    """The collectives of a run whose members are not all there, and those that take their time.

    Args:
        inputs: The run.
        schedules: Its phases with schedules.
    """

    def __init__(self, inputs: EngineInput, schedules: Sequence[ScheduledPhase]) -> None:
        self._dimensions, self._schedules = inputs.dimensions, schedules
        self._waiting: dict[tuple[int, int, int, int], list[int]] = {}
        self._timed: list[tuple[int, int, list[int]]] = []
        self._order = count()
        self._npus = [self._npus_of(one) for one in schedules]

    def _npus_of(self, phase: ScheduledPhase) -> int:
        """NPUs of the network of a phase."""
        npus = 1
        for level in self._dimensions[phase.dimension :]:
            if level.network != phase.network or (level.level == 0 and npus > 1):
                break
            npus *= level.npus
        return npus

    def add(
        self, message: int, source: int, schedule: int, tag: int
    ) -> "tuple[list[int], Carriage] | None":
        """Take a member's message; where it is the last one, all of them and the work to do."""
        phase = self._schedules[schedule]
        copy, first = phase.group_of(source, self._npus[schedule])
        key = schedule, tag, copy, first
        messages = self._waiting.setdefault(key, [])
        messages.append(message)
        if len(messages) < phase.members:
            return None
        return self._waiting.pop(key), phase.carriage(first)

    def takes_ns(self, schedule: int) -> int:
        """Time of a phase, where the network does not share out the links."""
        return self._schedules[schedule].takes_ns(self._npus[schedule])

    def first_dimension(self, schedule: int) -> int:
        """Innermost level of its network among the machine's dimensions."""
        return self._schedules[schedule].dimension

    def end_at(self, time_ns: int, messages: list[int]) -> None:
        """Let *messages* arrive then."""
        heappush(self._timed, (time_ns, next(self._order), messages))

    @property
    def next_event_ns(self) -> int | None:
        """Time at which the next of them arrive."""
        return self._timed[0][0] if self._timed else None

    def arrivals(self, until_ns: int) -> list[Arrival]:
        """Messages that arrive up to and including *until_ns*."""
        found = list[Arrival]()
        while self._timed and self._timed[0][0] <= until_ns:
            time_ns, _, messages = heappop(self._timed)
            found += [Arrival(time_ns=time_ns, message=message) for message in messages]
        return found

    @property
    def waits(self) -> int:
        """Members that wait for others."""
        return sum(map(len, self._waiting.values()))
