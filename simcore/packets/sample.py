"""Error of short cuts: the first messages of a run, sent once more packet by packet."""

from dataclasses import dataclass, field

from simcore.packets.live import LivePackets

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
    """The first messages of a run, as they were sent and came.

    Messages that start at one time are in it together or not at all.

    Attributes:
        payload: Of a full packet, in bytes.
    """

    payload: int
    _sent: list[tuple[int, int, int, int]] = field(default_factory=list)
    _came_ns: dict[int, int] = field(default_factory=dict)
    _packets: int = 0
    _closed_ns: int | None = None

    def begin(self, now_ns: int, source: int, target: int, size_bytes: int) -> None:
        """Take in a message, numbered from 0 up, unless there are enough."""
        if self._closed_ns is not None:
            return
        if self._packets >= MOST_PACKETS and now_ns > self._sent[-1][0]:
            self._closed_ns = now_ns
            return
        self._sent.append((now_ns, source, target, size_bytes))
        self._packets += -(-size_bytes // self.payload)

    def end(self, number: int, now_ns: int) -> None:
        """Note that a message has come."""
        if number < len(self._sent):
            self._came_ns[number] = now_ns

    def error(self, exact: LivePackets) -> Error | None:
        """Difference from times on *exact*, on which nothing was sent yet.

        Messages that others met which are not in the sample are left out; None: all are.
        """
        found = self._sent_again(exact)
        until_ns = self._closed_ns
        differences = [
            abs((self._came_ns[number] - start_ns) / (came_ns - start_ns) - 1)
            for number, came_ns in found.items()
            for start_ns in (self._sent[number][0],)
            if number in self._came_ns
            and (until_ns is None or max(came_ns, self._came_ns[number]) <= until_ns)
        ]
        if not differences:
            return None
        mean = sum(differences) / len(differences)
        return Error(messages=len(differences), mean=mean, most=max(differences))

    def _sent_again(self, exact: LivePackets) -> dict[int, int]:
        """Times at which messages come when each starts as it did."""
        came_ns: dict[int, int] = {}

        def go_on(until_ns: int) -> None:
            while (due_ns := exact.next_event_ns()) is not None and due_ns <= until_ns:
                came_ns.update((flow.number, flow.finish_ns) for flow in exact.advance(until_ns))

        for start_ns, source, target, size_bytes in self._sent:
            go_on(start_ns - 1)
            exact.begin(start_ns, source, target, size_bytes)
        go_on(self._closed_ns if self._closed_ns is not None else 1 << 62)
        return came_ns
