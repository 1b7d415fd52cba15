"""Networks from outside the kernel: the times of those inside, and what is owed to the engine."""

import heapq
from collections.abc import Sequence

import numpy as np
import pytest
from engine_runs import collective, dimension, options, program, receive, run_of, send
from guide import part
from outside_topologies import OUTSIDE_TOPOLOGIES

from simcore.engines.events.fold.run import run_folded
from simcore.engines.events.input import EngineInput, SystemOptions
from simcore.engines.events.run import run_unfolded
from simcore.errors import ConfigError, SimulationError
from simcore.network import BACKENDS, Arrival, ExternalNetwork, NetworkBackend, NetworkDimension
from simcore.terms import CollectiveKind
from simcore.topologies import TOPOLOGIES

FIFO: type[ExternalNetwork] = part("fifo").Fifo
KINDS = [CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_TO_ALL, CollectiveKind.ALL_GATHER]


class PlainIdleNetwork(ExternalNetwork):
    """Latency per hop and bandwidth of the lowest dimension that differs; no queues."""

    def __init__(self, dimensions: Sequence[NetworkDimension]) -> None:
        super().__init__(dimensions)
        self._arrivals: list[tuple[int, int, int]] = []
        self._sent = 0

    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        time_ns = now_ns + self._travel_ns(src, dst, size_bytes)
        heapq.heappush(self._arrivals, (time_ns, self._sent, message))
        self._sent += 1

    def next_event_ns(self) -> int | None:
        return self._arrivals[0][0] if self._arrivals else None

    def advance(self, until_ns: int) -> list[Arrival]:
        arrived = []
        while self._arrivals and self._arrivals[0][0] <= until_ns:
            time_ns, _, message = heapq.heappop(self._arrivals)
            arrived.append(Arrival(time_ns=time_ns, message=message))
        return arrived

    def _travel_ns(self, src: int, dst: int, size_bytes: int) -> int:
        for d in self.dimensions:
            if src % d.npus != dst % d.npus:
                hops = TOPOLOGIES[d.topology].hops(d.npus, src % d.npus, dst % d.npus)
                return int(hops * d.latency_ns + size_bytes / d.bytes_per_ns)
            src, dst = src // d.npus, dst // d.npus
        return 0


@pytest.fixture(autouse=True)
def _with_those_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**dict(BACKENDS.items()), "plain_idle": PlainIdleNetwork, "fifo": FIFO}
    monkeypatch.setattr(BACKENDS, "_entries", known)
    monkeypatch.setattr(TOPOLOGIES, "_entries", {**dict(TOPOLOGIES.items()), **OUTSIDE_TOPOLOGIES})


def machines() -> list[list[NetworkDimension]]:
    tiers = [name for name, one in OUTSIDE_TOPOLOGIES.items() if one.joins(8)]
    return [
        [dimension("ring", 4), dimension("ring", 4), dimension("switch", 2)],
        [dimension("fully_connected", 4), dimension("mesh", 3, latency_ns=71.0)],
        *([dimension(name, 8, bytes_per_ns=12.3)] for name in tiers),
    ]


def runs(backend: str) -> list[EngineInput]:
    torus = machines()[0]
    late_ns = np.arange(32, dtype=np.int64) * 37
    both = [program([send(1), send(1, 0)]), program([receive(0), receive(0, 0)])]
    listed = [
        run_of(
            machine,
            [program([collective(kind, 1 << 20) for kind in KINDS])],
            options([algorithm] * len(machine), chunks=3),
            backend=backend,
        )
        for machine in machines()
        for algorithm in ("ring", "direct")
    ]
    skewed = run_of(
        torus,
        [program([collective(KINDS[0], 1 << 20)])],
        options(["ring", "direct", "halvingDoubling"]),
        backend=backend,
        start_ns=late_ns,
    )
    pair = [dimension("ring", 2)]
    return [*listed, skewed, run_of(pair, both, SystemOptions(rendezvous=True), backend=backend)]


@pytest.mark.parametrize(
    ("outside", "inside"),
    [("plain_idle", "congestion_unaware"), ("fifo", "congestion_aware_multidim")],
)
def test_a_network_outside_the_kernel_gives_the_times_of_the_one_inside(
    outside: str, inside: str
) -> None:
    for own, other in zip(runs(outside), runs(inside), strict=True):
        found, wanted = run_unfolded(own), run_unfolded(other)
        assert not wanted.waiting
        assert found.finish_ns.tolist() == wanted.finish_ns.tolist(), own.dimensions
        assert (found.messages, found.sent_bytes) == (wanted.messages, wanted.sent_bytes)


def test_where_messages_have_links_of_their_own_it_gives_the_times_of_an_idle_network() -> None:
    network = [dimension("fully_connected", 8)]
    nodes = [collective(kind, 1 << 20) for kind in KINDS]
    found = [
        run_unfolded(run_of(network, [program(nodes)], options("direct"), backend=backend))
        for backend in ("fifo", "congestion_unaware")
    ]
    assert found[0].finish_ns.tolist() == found[1].finish_ns.tolist()


def test_every_npu_is_followed() -> None:
    own = runs("fifo")[0]
    folded = run_folded(own)
    assert "the network takes every message by itself" in str(folded.unfolded_because)
    assert folded.finish_ns.tolist() == run_unfolded(own).finish_ns.tolist()


class Loses(FIFO):  # type: ignore[misc, valid-type]
    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        pass


class Repeats(FIFO):  # type: ignore[misc, valid-type]
    def advance(self, until_ns: int) -> list[Arrival]:
        return [*super().advance(until_ns)] * 2


class Foresees(FIFO):  # type: ignore[misc, valid-type]
    def advance(self, until_ns: int) -> list[Arrival]:
        found = super().advance(until_ns)
        return [Arrival(time_ns=one.time_ns + 1, message=one.message) for one in found]


class StandsStill(FIFO):  # type: ignore[misc, valid-type]
    def advance(self, until_ns: int) -> list[Arrival]:
        return []


class Measures(FIFO):  # type: ignore[misc, valid-type]
    def next_event_ns(self) -> int | None:
        due_ns = super().next_event_ns()
        return None if due_ns is None else due_ns + 0.5


class Fails(FIFO):  # type: ignore[misc, valid-type]
    def advance(self, until_ns: int) -> list[Arrival]:
        raise KeyError(until_ns)


@pytest.mark.parametrize(
    ("network", "rule"),
    [
        (Fails, r"Fails must answer what is asked of it \(KeyError: [0-9]+\)"),
        (Loses, "Loses must deliver every message, but got 1"),
        (Repeats, "must deliver messages that are under way, each once, but got Arrival"),
        (Foresees, "must tell arrivals at a whole number of ns, [0-9]+ to [0-9]+, but got Arrival"),
        (StandsStill, "must handle all events up to [0-9]+ ns when it is told to, but got"),
        (Measures, "must have its next event at a whole number of ns, .* but got [0-9]+.5"),
    ],
)
def test_a_network_that_breaks_a_rule_ends_the_run_with_the_rule(
    network: type[ExternalNetwork], rule: str
) -> None:
    BACKENDS.add("wrong", network)
    nodes = [program([collective(CollectiveKind.ALL_GATHER, 1000)])]
    with pytest.raises(SimulationError, match=rule):
        run_unfolded(run_of([dimension("ring", 4)], nodes, options("ring"), backend="wrong"))


class Idle(PlainIdleNetwork):
    messages_meet = False


@pytest.mark.parametrize("backend", [Idle, BACKENDS["congestion_aware"]])
def test_a_network_that_would_not_be_asked_is_refused(backend: type[NetworkBackend]) -> None:
    with pytest.raises(ConfigError, match="must leave kernel_code and messages_meet as they are"):
        BACKENDS.add("idle", backend)
