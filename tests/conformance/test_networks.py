"""A network outside the kernel: the idle-network model in plain Python gives the same times."""

import heapq
from collections.abc import Sequence

import numpy as np
import pytest
from engine_runs import collective, dimension, options, program, receive, run_of, send

from simcore.engines.events.input import EngineInput, NetworkDimension, SystemOptions
from simcore.engines.events.run import run_unfolded
from simcore.network import Arrival, ExternalNetwork
from simcore.terms import CollectiveKind


class PlainIdleNetwork(ExternalNetwork):
    """Latency per hop and bandwidth of the lowest dimension that differs; no queues."""

    def __init__(self, dimensions: Sequence[NetworkDimension]) -> None:
        self._dimensions = dimensions
        self._arrivals: list[tuple[int, int, int]] = []
        self.sent = 0

    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        time_ns = now_ns + self._travel_ns(src, dst, size_bytes)
        heapq.heappush(self._arrivals, (time_ns, self.sent, message))
        self.sent += 1

    def next_event_ns(self) -> int | None:
        return self._arrivals[0][0] if self._arrivals else None

    def advance(self, until_ns: int) -> list[Arrival]:
        arrived = []
        while self._arrivals and self._arrivals[0][0] <= until_ns:
            time_ns, _, message = heapq.heappop(self._arrivals)
            arrived.append(Arrival(time_ns=time_ns, message=message))
        return arrived

    def _travel_ns(self, src: int, dst: int, size_bytes: int) -> int:
        for d in self._dimensions:
            apart = abs(src % d.npus - dst % d.npus)
            hops = {
                "ring": min(apart, d.npus - apart),
                "switch": 2,
                "fully_connected": 1,
            }[d.topology]
            if apart:
                return int(hops * d.latency_ns + size_bytes / d.bytes_per_ns)
            src, dst = src // d.npus, dst // d.npus
        return 0


def runs() -> list[EngineInput]:
    torus = [dimension("ring", 4), dimension("ring", 4), dimension("switch", 2)]
    nodes = [collective(kind, 1 << 20) for kind in (CollectiveKind.ALL_REDUCE, 6, 2)]  # type: ignore[arg-type]
    late_ns = np.arange(32, dtype=np.int64) * 37
    names = ["ring", "direct", "halvingDoubling"]
    names_all_to_all = ["ring", "direct", "direct"]
    system = options(names_all_to_all, chunks=3)
    pipeline = [program([send(1), send(1)]), program([receive(0), receive(0)])]
    return [
        run_of(torus, [program(nodes)], system),
        run_of(torus, [program(nodes[:1])], options(names), start_ns=late_ns),
        run_of([dimension("ring", 2)], pipeline, SystemOptions(rendezvous=True)),
    ]


@pytest.mark.parametrize("inputs", runs(), ids=["collectives", "late starts", "rendezvous"])
def test_a_network_outside_the_kernel_gives_the_times_of_the_one_inside(
    inputs: EngineInput,
) -> None:
    inside = run_unfolded(inputs)
    network = PlainIdleNetwork(inputs.dimensions)
    outside = run_unfolded(inputs, network=network)
    assert not inside.waiting
    assert outside.finish_ns.tolist() == inside.finish_ns.tolist()
    assert outside.messages == inside.messages == network.sent
