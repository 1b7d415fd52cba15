"""Links that are up by turns: closed forms, limits that hold at every instant, refusals, parts."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from simcore import ConfigError
from simcore.engines.collectives.alone import Asked, times_alone
from simcore.graphs.network_table import NetworkFile
from simcore.graphs.structure.describe import describe
from simcore.machine import Platform, load_npu
from simcore.network import Arrival, Flow, OnCircuits
from simcore.network.dimensions import engine_dimensions
from simcore.parts import Catalogue, HostPorts, network_bill, shipped_parts

BANDWIDTH, LATENCY_NS, MOVE_NS = 50, 500, 10_000
AWARE = "congestion_aware_multidim"


def platform(family: str, limits: Any = (), move: str = "10 us", **params: Any) -> Platform:
    network = {"family": family, "params": params, "bandwidth": "50 GB/s", "latency": "500 ns"}
    if limits:
        network["circuits"] = {"reconfiguration": move, "at_once": list(limits)}
    return Platform.from_file_data({"npu": load_npu("h100_80"), "network": network}, at="platform")


def last_ns(machine: Platform, collective: str, algorithm: str, backend: str = "flow") -> int:
    layer = {"chunks": 1}
    asked = Asked(collective=collective, size_bytes=8_000_000, backend=backend, system=layer)
    return times_alone(machine, asked, [(algorithm,)])[0].last_ns


class Spied(Flow):
    """Flows that keep when each message began and ended."""

    def __init__(self, dimensions: Any) -> None:
        super().__init__(dimensions)
        self.spans: dict[int, tuple[int, int]] = {}

    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        self.spans[message] = now_ns, -1
        super().send(now_ns, message, src, dst, size_bytes)

    def advance(self, until_ns: int) -> list[Arrival]:
        found = super().advance(until_ns)
        for one in found:
            self.spans[one.message] = self.spans[one.message][0], one.time_ns
        return found


def run(machine: Platform, sent: Sequence[tuple[int, ...]]) -> tuple[OnCircuits, Spied]:
    """Send messages: ns, NPUs, bytes."""
    dimensions = engine_dimensions(machine.dimensions)
    inner = Spied(dimensions)
    network = OnCircuits(dimensions, inner)
    left, arrived = sorted(sent), 0
    while arrived < len(sent):
        due_ns = network.next_event_ns()
        if left and (due_ns is None or left[0][0] <= due_ns):
            at_ns, src, dst, size = left.pop(0)
            network.send(at_ns, len(sent) - len(left), src, dst, size)
            continue
        assert due_ns is not None
        arrived += len(network.advance(due_ns))
    return network, inner


def test_all_to_all_among_four_takes_three_matchings() -> None:
    machine = platform("fully_connected", [{"cables": "link", "most": 1}], n=4)
    sent = [(0, a, b, 1_000_000) for a in range(4) for b in range(4) if a != b]
    network, inner = run(machine, sent)
    each_ns = LATENCY_NS + 1_000_000 // BANDWIDTH
    assert max(end for _, end in inner.spans.values()) == 3 * each_ns + 2 * MOVE_NS
    assert network.account().figures["circuits_moved"] == 4


@pytest.mark.parametrize("backend", ["flow", AWARE])
def test_a_collective_in_phases_moves_circuits_between_them(backend: str) -> None:
    shared = [{"cables": ["dim0", "dim1"], "most": 2}]
    all_up = last_ns(platform("torus", dims=[4, 4]), "all_reduce", "ring", backend)
    turning = last_ns(platform("torus", shared, dims=[4, 4]), "all_reduce", "ring", backend)
    # reduce-scatter along both dimensions, then all-gather back along them
    assert turning == all_up + 2 * MOVE_NS


@pytest.mark.parametrize(
    "limit", [{"most": 2}, {"most": 1, "each_way": True}], ids=["both ways", "each way"]
)
@pytest.mark.parametrize("backend", ["flow", AWARE])
def test_a_ring_over_circuits_never_moves_them(limit: Mapping[str, Any], backend: str) -> None:
    """Two ports of both directions, or one of each: neighbours stay what they are."""
    turning = platform("fully_connected", [{"cables": "link", **limit}], n=8)
    all_up = platform("fully_connected", n=8)
    found = last_ns(turning, "all_reduce", "ring", backend)
    assert found == last_ns(all_up, "all_reduce", "ring", backend)


@pytest.mark.parametrize("seed", range(6))
def test_limits_hold_at_every_instant(seed: int) -> None:
    random, most = Random(seed), 1 + seed % 3
    machine = platform("fully_connected", [{"cables": "link", "most": most}], n=6)
    sent = [
        (random.randrange(200_000), *random.sample(range(6), 2), random.randrange(1, 2_000_000))
        for _ in range(60)
    ]
    _, inner = run(machine, sent)
    held: dict[int, dict[int, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    for number, (_, src, dst, _) in enumerate(sorted(sent), start=1):
        for npu, peer in ((src, dst), (dst, src)):
            held[npu][peer].append(inner.spans[number])
    for at in held.values():
        for begin, _ in [span for spans in at.values() for span in spans]:
            busy = [peer for peer, spans in at.items() if any(a <= begin < b for a, b in spans)]
            assert len(busy) <= most
        if most == 1:  # between two circuits at one port lies the time to set up the later one
            spans = sorted((a, b, peer) for peer, own in at.items() for a, b in own)
            for (_, end, peer), (begin, _, other) in pairwise(spans):
                assert peer == other or begin >= end + MOVE_NS


@pytest.mark.parametrize("seed", range(3))
def test_limits_that_do_not_bind_change_nothing(seed: int) -> None:
    random = Random(seed)
    sent = [
        (random.randrange(90_000), *random.sample(range(9), 2), random.randrange(1, 900_000))
        for _ in range(50)
    ]
    limits = [{"cables": ["dim0", "dim1"], "most": 4}]
    _, inner = run(platform("torus", limits, dims=[3, 3]), sent)
    plain = Spied(engine_dimensions(platform("torus", dims=[3, 3]).dimensions))
    for number, (at_ns, src, dst, size) in enumerate(sorted(sent), start=1):
        while (due_ns := plain.next_event_ns()) is not None and due_ns < at_ns:
            plain.advance(due_ns)
        plain.send(at_ns, number, src, dst, size)
    while (due_ns := plain.next_event_ns()) is not None:
        plain.advance(due_ns)
    assert inner.spans == plain.spans


WRONG = {
    "kind": ({"cables": "spine", "most": 1}, "circuits.at_once[0].cables: must be kinds of cables"),
    "number": ({"cables": [99], "most": 1}, "numbers of them, 0 to 27"),
    "none": ({"cables": [], "most": 1}, "must name cables"),
    "per": ({"cables": "link", "most": 1, "per": "leaf"}, "must be one of npu, network"),
    "most": ({"cables": "link", "most": 0}, "at_once[0].most"),
}


@pytest.mark.parametrize(("limit", "told"), WRONG.values(), ids=WRONG)
def test_limits_that_make_no_sense_are_refused(limit: Mapping[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as error:
        platform("fully_connected", [limit], n=8)
    assert told in str(error.value)


def test_what_cannot_take_turns_says_so() -> None:
    limits = [{"cables": "link", "most": 1}]
    turning = platform("fully_connected", limits, n=4)
    for backend in ("congestion_unaware", "packet", "flit"):
        with pytest.raises(ConfigError, match="flow and congestion_aware_multidim set them up"):
            last_ns(turning, "all_reduce", "ring", backend)
    with pytest.raises(ConfigError, match="synthesised needs links that are all up at once"):
        last_ns(turning, "all_reduce", "synthesised")
    line = platform("mesh", [{"cables": "dim0", "most": 1}], dims=[3])
    with pytest.raises(ConfigError, match="must let the whole way of a message be up at once"):
        run(line, [(0, 0, 2, 1)])


def test_ports_of_circuit_switches_are_counted_and_priced() -> None:
    limits = [{"cables": "link", "most": 3}]
    network = platform("fully_connected", limits, n=96).network
    assert network is not None
    bill = network_bill(network.parts(), Catalogue(shipped_parts()), HostPorts())
    counts = {line.part: line.count for line in bill.lines}
    assert counts["palomar"] == -(-3 * 96 // 128)
    assert sum(count for name, count in counts.items() if name.startswith("module")) == 3 * 96
    # the end at which a limit counts needs few ports, the other one has one for each cable
    leaves = {"family": "leaf_spine", "bandwidth": "50 GB/s", "latency": "500 ns"}
    params = {"leaves": 4, "npus_per_leaf": 2, "spines": 8}
    both = [{"cables": "leaf-spine", "most": 2, "per": tier} for tier in ("leaf", "spine")]
    first, second = 4 * 2 + 8 * 4, 4 * 8 + 8 * 2
    for at_once, ports in ((both[:1], first), (both[1:], second), (both, 4 * 2 + 8 * 2)):
        rules = {"reconfiguration": "1 ms", "at_once": at_once}
        told = {**leaves, "params": params, "circuits": rules}
        graph = NetworkFile.from_file_data(told, at="network").graph()
        shown = describe(graph)
        assert (shown.circuits, shown.circuit_ports) == (32, ports)


def test_a_slice_of_a_tpu_is_a_torus_through_as_many_circuit_switches_as_published() -> None:
    """4,096 chips in cubes of 4 x 4 x 4: 48 switches of 128 ports (arXiv:2304.01433)."""
    machine = platform("torus_slice", cubes=[4, 4, 4]).network
    assert machine is not None
    bill = network_bill(machine.parts(), Catalogue(shipped_parts()), HostPorts())
    assert {line.part: line.count for line in bill.lines}["palomar"] == 48
    for cubes, twist in (([1, 2], 0), ([1, 2], 3)):
        own = platform("torus_slice", cubes=cubes, cube=3, twist=twist)
        same = platform("torus", dims=[3, 6])
        if twist:
            same = platform("twisted_torus", dims=[3, 6], twist=twist)
        for backend in ("flow", "congestion_unaware"):
            found = last_ns(own, "all_reduce", "ring", backend)
            assert found == last_ns(same, "all_reduce", "ring", backend)
