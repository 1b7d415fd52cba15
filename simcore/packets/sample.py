"""Error of short cuts: the first messages of a run, sent once more packet by packet."""

from dataclasses import dataclass, field

from simcore.packets.live import LivePackets
from simcore.units import plain_sum

MOST_PACKETS = 1 << 17
"""Packets of a sample, beyond those that start with the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Error:
    """Differences of times of messages from those without short cuts.

    Attributes:
        messages: Compared.
        mean: Of the differences, as a share of the exact time.
        most: The largest.
    """

    messages: int
    mean: float
    most: float

    def __str__(self) -> str:
        return (
            f"times of {self.messages} messages differ from those packet by packet by "
            f"{self.mean:.2%} in the mean, {self.most:.2%} at most"
        )


@dataclass(slots=True)
class Sample:
    """First messages of a run, as they were sent and came, and those that they met.

    Attributes:
        payload: Of a full packet, in bytes.
    """

    payload: int
    _sent: list[tuple[int, int, int, int]] = field(default_factory=list)
    _came_ns: dict[int, int] = field(default_factory=dict)
    _packets: int = 0
    _compared: int = 0  # the first ones; 0: not yet enough
    _is_closed: bool = False

    def begin(self, now_ns: int, source: int, target: int, size_bytes: int) -> None:
        """Take in a message, numbered from 0 up, unless all that are compared have come.

        Messages that start at one time are compared together or not at all.
        """
        if self._is_closed:
            return
        if not self._compared and self._packets >= MOST_PACKETS and now_ns > self._sent[-1][0]:
            self._compared = len(self._sent)
            self._is_closed = len(self._came_ns) == self._compared
        if not self._is_closed:
            self._sent.append((now_ns, source, target, size_bytes))
            self._packets += -(-size_bytes // self.payload)

    def end(self, number: int, now_ns: int) -> None:
        """Note that a message has come."""
        if self._is_closed or (self._compared and number >= self._compared):
            return
        self._came_ns[number] = now_ns
        self._is_closed = len(self._came_ns) == self._compared

    def error(self, exact: LivePackets) -> Error | None:
        """Difference from times on *exact*, on which nothing was sent yet; None: nothing came."""
        came_ns = self._sent_again(exact)
        differences = [
            abs((self._came_ns[number] - start_ns) / (came_ns[number] - start_ns) - 1)
            for number, (start_ns, *_) in enumerate(self._sent)
            if number in self._came_ns and number in came_ns
        ]
        if not differences:
            return None
        mean = plain_sum(differences) / len(differences)
        return Error(messages=len(differences), mean=mean, most=max(differences))

    def _sent_again(self, exact: LivePackets) -> dict[int, int]:
        """Times at which messages come when each starts as it did."""
        left, came_ns = set(self._came_ns), dict[int, int]()

        def go_on(until_ns: int) -> None:
            while left and (due_ns := exact.next_event_ns()) is not None and due_ns <= until_ns:
                came_ns.update((flow.number, flow.finish_ns) for flow in exact.advance(until_ns))
                left.difference_update(came_ns)

        for start_ns, source, target, size_bytes in self._sent:
            go_on(start_ns - 1)
            if left:
                exact.begin(start_ns, source, target, size_bytes)
        go_on(1 << 62)
        return came_ns
