"""Bytes that the programs of a run send each other, found by running them where links are free."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from simcore.engines.events.input import EngineInput
from simcore.engines.events.several import SharedRun, bytes_by_pair
from simcore.engines.placed.traffic import AxisTraffic
from simcore.network import Arrival, ExternalNetwork, NetworkDimension

_ALL = "all messages"


class _AtOnce(ExternalNetwork):
    """Network on which each message arrives a ns after it is sent."""

    stops_at_arrivals = True

    def __init__(self, dimensions: Sequence[NetworkDimension]) -> None:
        super().__init__(dimensions)
        self._under_way: deque[Arrival] = deque()

    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        self._under_way.append(Arrival(time_ns=now_ns + 1, message=message))

    def next_event_ns(self) -> int | None:
        return self._under_way[0].time_ns if self._under_way else None

    def advance(self, until_ns: int) -> list[Arrival]:
        found = list[Arrival]()
        due_ns = self.next_event_ns()
        while due_ns is not None and due_ns <= until_ns and due_ns == self.next_event_ns():
            found.append(self._under_way.popleft())
        return found


def measured_traffic(inputs: EngineInput) -> list[AxisTraffic]:
    """Bytes from rank to rank, told as those of one axis.

    Raises:
        SimulationError: NPUs wait for each other for ever.
    """
    alone = replace(inputs, where=None, on=None, record_nodes=False)
    (outcome,) = SharedRun([alone], [1], _AtOnce(inputs.dimensions)).run()
    source, target, size = bytes_by_pair(outcome)
    return [AxisTraffic(axis=_ALL, source=source, target=target, size_bytes=size.astype(float))]
