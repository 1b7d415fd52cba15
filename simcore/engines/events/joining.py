"""Members of synthesised collectives, which wait for each other and then end together."""

from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from simcore.engines.collectives.scheduled import ScheduledPhase
from simcore.network import Arrival

if TYPE_CHECKING:  # needs a compiler, which few runs do
    from simcore.synthesis.placed.carriage import Carriage


class Joining:
    """The collectives of runs whose members are not all there, and those that take their time."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[tuple[int, int, int], int, int], list[int]] = {}
        self._timed: list[tuple[int, int, list[int]]] = []
        self._order = count()

    def add(
        self, message: int, rank: int, phase: ScheduledPhase, which: tuple[int, int, int]
    ) -> "tuple[list[int], Carriage] | None":
        """Take a member's message; where it is the last one, all of them and the work to do.

        Args:
            message: Its number.
            rank: The member.
            phase: The phase.
            which: Run, phase and tag that members have in common.
        """
        copy, first = phase.group_of(rank)
        key = which, copy, first
        messages = self._waiting.setdefault(key, [])
        messages.append(message)
        if len(messages) < phase.members:
            return None
        return self._waiting.pop(key), phase.carriage(first)

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
