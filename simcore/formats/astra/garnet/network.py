"""The network of a run of ASTRA-sim on Garnet."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from simcore.flits.garnet import Garnet, GarnetNetwork
from simcore.network import Arrival, ExternalNetwork, NetworkDimension


class _Leg(NamedTuple):
    message: int
    at: int
    target: int
    size_bytes: int


class GarnetMessages(ExternalNetwork):
    """A message is full packets on one ring (or link, or the switches) of a dimension.

    One that must go through several dimensions goes on when all of it has come: first within its
    package, then along rows, then along columns. Messages of an NPU take rings that fit in turn.

    Args:
        dimensions: Of the network.
        network: Its parameters.
    """

    stops_at_arrivals = True

    def __init__(self, dimensions: Sequence[NetworkDimension], network: GarnetNetwork) -> None:
        super().__init__(dimensions)
        self._net, self._garnet = network, Garnet(network)
        self._flits = self._garnet.live()
        self._turns: Counter[tuple[int, int]] = Counter()
        self._legs: dict[int, _Leg] = {}
        self._arrived: list[Arrival] = []

    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        stop, stride = src, 1
        for dimension in self.dimensions:
            here, there = (npu // stride % dimension.npus for npu in (src, dst))
            if here != there:
                stop = src + (there - here) * stride
                break
            stride *= dimension.npus
        if stop == src:
            self._arrived.append(Arrival(time_ns=now_ns, message=message))
            return
        way = self._garnet.way(src, stop, self._turns[src, stride])
        self._turns[src, stride] += 1
        packets = max(1, -(-size_bytes // self._net.packet_bytes))
        number = self._flits.begin(now_ns, way, packets * self._net.packet_flits)
        self._legs[number] = _Leg(message, stop, dst, size_bytes)

    def next_event_ns(self) -> int | None:
        return self._arrived[0].time_ns if self._arrived else self._flits.next_event_ns()

    def advance(self, until_ns: int) -> list[Arrival]:
        while not self._arrived:
            due_ns = self._flits.next_event_ns()
            if due_ns is None or due_ns > until_ns:
                break
            for one in self._flits.advance(until_ns):
                leg = self._legs.pop(one.number)
                self.send(one.finish_ns, leg.message, leg.at, leg.target, leg.size_bytes)
        found, self._arrived = self._arrived, []
        return found
