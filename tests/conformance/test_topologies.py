"""Every topology, of the product and from outside: what it states is what the simulator runs."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from engine_runs import collective, options, program, run_of
from every_case import with_every
from numpy.typing import NDArray
from outside_topologies import OUTSIDE_TOPOLOGIES, TABLED

from simcore import ConfigError
from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.rows import machine_of
from simcore.engines.collectives.timer import CollectiveTimer
from simcore.engines.events.fold.run import run_folded
from simcore.engines.events.input import EngineOutput
from simcore.engines.events.run import run_unfolded
from simcore.kernels.collectives import hops as kernels
from simcore.machine import Dimension, load_platform
from simcore.machine.system import System
from simcore.network import BACKENDS
from simcore.network.dimensions import engine_dimensions
from simcore.terms import CollectiveKind
from simcore.topologies import (
    TOPOLOGIES,
    Topology,
    check_routes,
    check_topology,
    distances,
    npu_links,
)
from simcore.topologies.mesh import Mesh
from simcore.topologies.ring import Ring

KINDS = (
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_TO_ALL,
)
ALGORITHMS = ("ring", "direct", "halving_doubling", "double_binary_tree", "direct2")
ALL = {
    **dict(TOPOLOGIES.items()),
    **OUTSIDE_TOPOLOGIES,
    **{f"tabled_{name}": topology for name, topology in TABLED.items()},
}
COUNTS = (2, 3, 4, 5, 8, 12, 16, 33)
SIZE_BYTES = 960 * 16 * 33

Ints = NDArray[np.int64]


@pytest.fixture(autouse=True)
def _with_those_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TOPOLOGIES, "_entries", ALL)


def dimension(topology: str, npus: int, latency_s: float = 500e-9) -> Dimension:
    return Dimension(topology=topology, npus=npus, bandwidth_bytes_per_s=50e9, latency_s=latency_s)


def joined(counts: tuple[int, ...] = COUNTS) -> Iterator[tuple[str, int]]:
    for (name, topology), npus in product(ALL.items(), counts):
        if topology.joins(npus):
            yield name, npus


each_shape = with_every("name, npus", list(joined()))


@each_shape
def test_routes_end_and_take_no_more_links_than_an_npu_has(name: str, npus: int) -> None:
    check_routes(ALL[name], npus)


@each_shape
def test_distances_are_the_lengths_of_the_routes(name: str, npus: int) -> None:
    topology = ALL[name]
    routes = topology.next_nodes(npus)
    for a, b in product(range(npus), repeat=2):
        nodes = [a]
        while nodes[-1] != b:
            nodes.append(int(routes[nodes[-1], b]))
        assert topology.hops(npus, a, b) == len(nodes) - 1
        own = sum(node < npus for node in nodes[:-1])
        assert npu_links(topology, npus)[a, b] == own
    found = [topology.hops(npus, a, b) for a, b in product(range(npus), repeat=2) if a != b]
    assert (topology.least_hops(npus), topology.most_hops(npus)) == (min(found), max(found))


@each_shape
def test_kernels_know_the_distances(name: str, npus: int) -> None:
    topology, machine = ALL[name], machine_of([dimension(name, npus)])
    links = npu_links(topology, npus)
    for a, b in product(range(npus), repeat=2):
        if a != b:
            assert kernels.hops(machine, 0, a, b) == topology.hops(npus, a, b)
            assert kernels.npu_links(machine, 0, a, b) == links[a, b]


@each_shape
def test_uniform_and_cyclic_ones_are(name: str, npus: int) -> None:
    topology, table = ALL[name], distances(ALL[name], npus)
    apart = (np.arange(npus)[None, :] - np.arange(npus)[:, None]) % npus
    if topology.uniform:
        assert len(set(table[apart > 0].tolist())) == 1
    if topology.cyclic:
        for steps in range(npus):
            assert len(set(table[apart == steps].tolist())) == 1


def collective_on(
    names: tuple[str, ...],
    npus: tuple[int, ...],
    kind: CollectiveKind,
    algorithm: str,
    backend: str,
    *,
    fold: bool = False,
) -> EngineOutput:
    network = engine_dimensions([dimension(*one) for one in zip(names, npus, strict=True)])
    system = options([ASTRA.get(algorithm, algorithm)] * len(names), chunks=2)
    run = run_of(network, [program([collective(kind, SIZE_BYTES)])], system, backend=backend)
    return (run_folded if fold else run_unfolded)(run)


ASTRA = {"halving_doubling": "halvingDoubling", "double_binary_tree": "doubleBinaryTree"}


def runs(kind: CollectiveKind, algorithm: str, npus: tuple[int, ...]) -> bool:
    if algorithm not in ("halving_doubling", "double_binary_tree"):
        return True
    return kind is not CollectiveKind.ALL_TO_ALL and all(n & (n - 1) == 0 for n in npus)


@with_every("algorithm", ALGORITHMS)
@with_every("kind", KINDS)
# one dimension only; packets go over the same graph as flows
@with_every(
    "backend", [name for name in BACKENDS if name not in ("congestion_aware", "packet", "flit")]
)
def test_the_forms_that_kernels_know_by_heart_are_those_of_their_tables(
    kind: CollectiveKind, algorithm: str, backend: str
) -> None:
    for name, npus in product(TABLED, ((5,), (8,), (4, 2), (2, 4, 2))):
        if not runs(kind, algorithm, npus):
            continue
        by_heart = collective_on((name,) * len(npus), npus, kind, algorithm, backend)
        tabled = collective_on((f"tabled_{name}",) * len(npus), npus, kind, algorithm, backend)
        np.testing.assert_array_equal(by_heart.finish_ns, tabled.finish_ns)
        assert by_heart.events == tabled.events


@with_every("name, npus", list(joined((2, 4, 5, 8, 12))))
@with_every("algorithm", ALGORITHMS)
@with_every("kind", KINDS)
def test_collectives_end_alike_in_closed_form_and_on_both_engines(
    name: str, npus: int, kind: CollectiveKind, algorithm: str
) -> None:
    if not runs(kind, algorithm, (npus,)):
        return
    every = collective_on((name,), (npus,), kind, algorithm, "congestion_unaware")
    folded = collective_on((name,), (npus,), kind, algorithm, "congestion_unaware", fold=True)
    np.testing.assert_array_equal(folded.finish_ns, every.finish_ns)
    system = System(chunks=1, **{kind.name.lower(): (algorithm,)})
    timer = CollectiveTimer((dimension(name, npus),), system, 1600e9)
    alone = timer.time(kind, Placement(extent=(npus,), stride=(1,)), SIZE_BYTES // 2)
    once = run_of(
        engine_dimensions([dimension(name, npus)]),
        [program([collective(kind, SIZE_BYTES // 2)])],
        options([ASTRA.get(algorithm, algorithm)]),
    )
    finish_ns = run_unfolded(once).finish_ns
    assert alone.duration_ns == finish_ns.max()
    if not alone.held_ns:
        assert finish_ns.min() == finish_ns.max()


@with_every("name, npus", list(joined((4, 8, 12))))
@with_every("kind", KINDS)
def test_messages_that_meet_are_never_faster(name: str, npus: int, kind: CollectiveKind) -> None:
    for algorithm in ("ring", "direct"):
        idle = collective_on((name,), (npus,), kind, algorithm, "congestion_unaware")
        for backend in ("congestion_aware", "congestion_aware_multidim"):
            aware = collective_on((name,), (npus,), kind, algorithm, backend)
            assert aware.finish_ns.max() >= idle.finish_ns.max()
            assert aware.sent_bytes == idle.sent_bytes
            assert not aware.waiting


def test_a_message_takes_each_link_of_its_route_one_after_the_other() -> None:
    """Mesh of 8, all-to-all in one round: the links in the middle carry 4 x 4 messages each."""
    algorithm, npus, size = "direct", 8, 8 * 80_000
    network = engine_dimensions([dimension("mesh", npus, latency_s=0.0)])
    nodes = program([collective(CollectiveKind.ALL_TO_ALL, size)])
    run = run_of(network, [nodes], options([algorithm]), backend="congestion_aware")
    message_ns = 80_000 / 25.0  # of 50 GB/s an NPU has half to each side
    slowest = int(run_unfolded(run).finish_ns.max())
    # 16 messages cross the middle; the first comes from next to it, the last has 3 links to go
    assert 16 * message_ns <= slowest <= (16 + 6) * message_ns + 1000


def test_a_mesh_of_two_is_half_a_ring_of_two() -> None:
    kind = CollectiveKind.ALL_REDUCE
    mesh = collective_on(("mesh",), (2,), kind, "ring", "congestion_unaware")
    ring = collective_on(("ring",), (2,), kind, "ring", "congestion_unaware")
    np.testing.assert_array_equal(mesh.finish_ns, ring.finish_ns)


class Wrong(Topology):
    """A line, but for what a test gives."""

    def __init__(self, routes: Ints, links: int = 2, has_switches: bool = False) -> None:
        self.routes, self.links = routes, links
        self.has_switches = has_switches  # type: ignore[misc]

    def joins(self, npus: int) -> bool:
        return npus == 3

    def links_per_npu(self, npus: int) -> int:
        return self.links

    def next_nodes(self, npus: int) -> Ints:
        return self.routes


LINE = np.array([[0, 1, 1], [0, 1, 2], [1, 1, 2]])


@pytest.mark.parametrize(
    ("topology", "rule"),
    [
        (Wrong(LINE, links=0), "links_per_npu must be a whole number of 1 or more, but got 0"),
        (Wrong(LINE, links=1), "no more than its 1 links .*NPU 1 sends to 2 nodes"),
        (Wrong(LINE[:2]), "a row per node and 3 columns"),
        (Wrong(LINE.astype(float)), "an array of integers"),
        (Wrong(LINE + 1), "must name nodes, 0 to 2"),
        (Wrong((np.arange(3)[:, None] + 1) % 3 + np.zeros((3, 3), int)), "the way back must have"),
        (Wrong(LINE, has_switches=True), "has_switches must say whether"),
        (Wrong(np.array([[0, 1, 1], [0, 1, 0], [1, 1, 2]])), "from NPU 0 to NPU 2 does not"),
        (Wrong(np.array([[0, 1, 0], [0, 1, 2], [1, 1, 2]])), "every route must come to its end"),
        (Ring(), "must leave kernel_code as it is"),
    ],
)
def test_what_is_no_topology_is_refused_with_the_reason(topology: Topology, rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        TOPOLOGIES.add("wrong", topology)
    assert "wrong" not in TOPOLOGIES


def test_those_from_outside_are_topologies() -> None:
    for topology in (*OUTSIDE_TOPOLOGIES.values(), ALL["mesh"]):
        check_topology(topology)


class LostBeyond64(Mesh):
    """A line whose routes to its first NPU end nowhere when there are more than 64."""

    def next_nodes(self, npus: int) -> Ints:
        routes = super().next_nodes(npus)
        if npus > 64:
            routes[3, 0] = 4
        return routes


def test_routes_are_checked_for_the_number_of_npus_that_a_machine_has() -> None:
    TOPOLOGIES.add("lost_beyond_64", LostBeyond64())
    assert dimension("lost_beyond_64", 64).npus == 64
    with pytest.raises(ValueError, match="of 100 NPUs: every route must come to its end"):
        dimension("lost_beyond_64", 100)
    engine = engine_dimensions([dimension("mesh", 100)])
    engine = (replace(engine[0], topology="lost_beyond_64"),)
    nodes = program([collective(CollectiveKind.ALL_REDUCE, 100)])
    with pytest.raises(ConfigError, match=r"dimensions\[0\].*every route must come to its end"):
        run_unfolded(run_of(engine, [nodes], options(["ring"])))


def test_a_dimension_refuses_a_count_that_its_topology_does_not_join() -> None:
    def load(topology: str, npus: int) -> None:
        link = {"topology": topology, "npus": npus, "bandwidth": "1 GB/s", "latency": "0 ns"}
        load_platform({"npu": "a100_80", "dimensions": [link]})

    with pytest.raises(ConfigError, match="npus: is no number of NPUs of a two_tiers, but got 6"):
        load("two_tiers", 6)
    with pytest.raises(ConfigError, match="must be 512 or less for mesh, but got 600"):
        load("mesh", 600)
