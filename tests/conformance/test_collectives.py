"""Every algorithm, of the product and from outside: what it states is what the simulator runs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from engine_runs import collective, dimension, program, run_of
from every_case import with_every
from outside_algorithms import OUTSIDE

from simcore import ConfigError
from simcore.collectives import (
    ALGORITHMS,
    CollectiveAlgorithm,
    Direct,
    Offset,
    PeerRule,
    Span,
    StateMachine,
    Step,
    Table,
    algorithm_name,
    algorithm_named,
    check_algorithm,
)
from simcore.engines.collectives.members import engine_options
from simcore.engines.collectives.phases import BARRIER_BYTES
from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.timer import CollectiveTimer
from simcore.engines.events.fold.run import run_folded
from simcore.engines.events.input import ChosenAlgorithm, EngineInput, EngineOutput, SystemOptions
from simcore.engines.events.run import run_unfolded
from simcore.kernels.collectives import records
from simcore.machine import Dimension
from simcore.machine.system import System
from simcore.network import BACKENDS
from simcore.network.dimensions import engine_dimensions
from simcore.terms import EVERYWHERE, CollectiveKind
from simcore.topologies import TOPOLOGIES

NAMES = [*ALGORITHMS, "direct3", *OUTSIDE]
MEMBERS = (2, 3, 4, 5, 8, 12, 16)
BYTES_PER_NS, LATENCY_NS, MEMORY_BYTES_PER_NS = 50.0, 500.0, 1600.0


@pytest.fixture(autouse=True)
def _with_those_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ALGORITHMS, "_entries", {**dict(ALGORITHMS.items()), **OUTSIDE})


def algorithm_of(name: str) -> CollectiveAlgorithm:
    return OUTSIDE[name] if name in OUTSIDE else algorithm_named(name)


def cases() -> Iterator[tuple[str, CollectiveKind, int]]:
    for name, kind, members in product(NAMES, CollectiveKind, MEMBERS):
        asked = kind in EVERYWHERE or members in (2, 5, 8)
        if asked and algorithm_of(name).runs(kind, members):
            yield name, kind, members


CASES = list(cases())
each_case = with_every("name, kind, members", CASES)


def engine_input(
    name: str, kind: CollectiveKind, members: int, topology: str, backend: str
) -> EngineInput:
    chosen = (ChosenAlgorithm(algorithm=algorithm_of(name)),)
    options = SystemOptions(
        local_mem_bytes_per_ns=MEMORY_BYTES_PER_NS, algorithms={int(kind): chosen}
    )
    nodes = program([collective(kind, size_bytes(members))])
    network = [dimension(topology, members, bytes_per_ns=BYTES_PER_NS, latency_ns=LATENCY_NS)]
    return run_of(network, [nodes], options, backend=backend)


def size_bytes(members: int) -> int:
    """Of which every part that an algorithm sends is a whole number."""
    return 960 * 16 * members


def buffer_bytes(kind: CollectiveKind, members: int) -> int:
    """Of which the parts are sent: a barrier has no buffer but its message."""
    return BARRIER_BYTES if kind is CollectiveKind.BARRIER else size_bytes(members)


@cache  # several tests ask for one
def outcome(name: str, kind: CollectiveKind, members: int, topology: str, backend: str
            ) -> EngineOutput:  # fmt: skip
    return run_unfolded(engine_input(name, kind, members, topology, backend))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "double_binary_tree"])
def test_steps_bring_the_data_of_every_member_to_every_other(name: str) -> None:
    check_algorithm(algorithm_of(name))


def test_a_tree_performs_an_all_reduce_of_a_shard_where_a_gather_is_asked_for() -> None:
    """ASTRA-sim 2.0's rule, which is kept for its sake: it sends less than a gather must."""
    with pytest.raises(ConfigError, match="all_gather among 4: members must send at least 3"):
        check_algorithm(ALGORITHMS["double_binary_tree"])


@each_case
@with_every("backend", list(BACKENDS))
def test_the_bytes_that_are_sent_are_those_that_are_stated(
    name: str, kind: CollectiveKind, members: int, backend: str
) -> None:
    output = outcome(name, kind, members, "switch", backend)
    stated = algorithm_of(name).sent(kind, members) * buffer_bytes(kind, members) * members
    assert output.sent_bytes == output.received_bytes == stated
    assert not output.waiting


@each_case
@with_every("topology", list(TOPOLOGIES))
def test_the_closed_form_ends_when_the_engine_does_on_idle_links(
    name: str, kind: CollectiveKind, members: int, topology: str
) -> None:
    output = outcome(name, kind, members, str(topology), "congestion_unaware")
    time = timer(name, kind, members, topology).time(
        kind, Placement(extent=(members,), stride=(1,)), size_bytes(members)
    )
    assert time.duration_ns == output.finish_ns.max()
    if not time.held_ns:
        assert output.finish_ns.min() == output.finish_ns.max()
    sent = float(algorithm_of(name).sent(kind, members)) * buffer_bytes(kind, members)
    assert time.traffic[0] == pytest.approx(sent, rel=1e-12)


def timer(name: str, kind: CollectiveKind, members: int, topology: str) -> CollectiveTimer:
    bandwidth = BYTES_PER_NS * 1e9
    network = Dimension(
        topology=topology, npus=members, bandwidth_bytes_per_s=bandwidth, latency_s=500e-9
    )
    links = bandwidth / network.link_bandwidth_bytes_per_s
    network = network.model_copy(update={"bandwidth_bytes_per_s": bandwidth * links})
    system = System(chunks=1, **{kind.name.lower(): (name,)})
    return CollectiveTimer((network,), system, MEMORY_BYTES_PER_NS * 1e9)


# no NPUs stand for others where packets or flits are followed: both runs would be the same one
FOLDING = [name for name in BACKENDS if name not in ("packet", "flit")]


@each_case
def test_alike_members_followed_as_one_end_as_all_of_them_do(
    name: str, kind: CollectiveKind, members: int
) -> None:
    for topology, backend in product(TOPOLOGIES, FOLDING):
        every = outcome(name, kind, members, str(topology), backend)
        folded = run_folded(engine_input(name, kind, members, str(topology), backend))
        told = f"on a {topology}, {backend}"
        np.testing.assert_array_equal(folded.finish_ns, every.finish_ns, err_msg=told)
        totals = every.messages, every.sent_bytes
        assert (folded.messages, folded.sent_bytes) == totals, told


# in the ring of scatter_gather a member that begins late sends twice before its neighbour has it
@with_every("name, kind, members", [case for case in CASES if case[0] != "scatter_gather"])
def test_links_that_each_carry_one_message_at_a_time_are_idle_ones(
    name: str, kind: CollectiveKind, members: int
) -> None:
    idle = outcome(name, kind, members, "fully_connected", "congestion_unaware")
    for backend in ("congestion_aware", "congestion_aware_multidim"):
        aware = outcome(name, kind, members, "fully_connected", backend)
        np.testing.assert_array_equal(aware.finish_ns, idle.finish_ns)


@each_case
def test_messages_that_meet_are_never_faster(name: str, kind: CollectiveKind, members: int) -> None:
    for topology in map(str, TOPOLOGIES):
        idle = outcome(name, kind, members, topology, "congestion_unaware")
        aware = outcome(name, kind, members, topology, "congestion_aware_multidim")
        assert aware.finish_ns.max() >= idle.finish_ns.max(), f"on a {topology}"


def does_all_reduces(name: str) -> bool:
    return any(algorithm_of(name).runs(CollectiveKind.ALL_REDUCE, members) for members in (3, 4))


@with_every("name", [name for name in NAMES if does_all_reduces(name) and name != "relay"])
@with_every("optimization", ["baseline", "local_bw_aware"])
@with_every("shape", [(4, 8), (3, 5)])
def test_collectives_over_two_dimensions_run_on_every_backend(
    name: str, optimization: str, shape: tuple[int, int]
) -> None:
    bandwidth, latency_s = BYTES_PER_NS * 1e9, LATENCY_NS / 1e9
    network = tuple(
        Dimension(
            topology="switch",
            npus=npus,
            bandwidth_bytes_per_s=bandwidth,
            latency_s=latency_s,
        )
        for npus in shape
    )
    system = System(chunks=1, collective_optimization=optimization, all_reduce=(name,))
    placement = Placement(extent=shape, stride=(1, 1))
    size = size_bytes(shape[0] * shape[1])
    closed = CollectiveTimer(network, system, MEMORY_BYTES_PER_NS * 1e9)
    time = closed.time(CollectiveKind.ALL_REDUCE, placement, size)
    topologies = [dimension.topology for dimension in network]
    options = engine_options(system, topologies, MEMORY_BYTES_PER_NS * 1e9, shape)
    nodes = program([collective(CollectiveKind.ALL_REDUCE, size)])
    for backend in ("congestion_unaware", "congestion_aware_multidim"):
        inputs = run_of(engine_dimensions(network), [nodes], options, backend=backend)
        finish_ns = run_unfolded(inputs).finish_ns
        if backend == "congestion_unaware" and not time.held_ns:
            assert finish_ns.tolist() == [time.duration_ns] * finish_ns.size
        assert finish_ns.max() >= time.duration_ns or time.held_ns


def test_blocks_that_are_relayed_take_as_long_as_its_formula_says() -> None:
    members, size = 5, size_bytes(5)
    blocks = (2, 2, 1)  # of 5 blocks, those whose number has bit 0, 1, 2
    steps = sum(int(LATENCY_NS + count * size // members / BYTES_PER_NS) + 10 for count in blocks)
    output = outcome("relay", CollectiveKind.ALL_TO_ALL, members, "fully_connected",
                     "congestion_unaware")  # fmt: skip
    assert output.finish_ns.tolist() == [10 + steps] * members


DELAY_NS = 10
ALPHA_NS = 2 * LATENCY_NS + DELAY_NS
Form = Callable[[float], tuple[float, float, float]]
FORMS: list[tuple[str, CollectiveKind, int, Form]] = [
    ("bruck", CollectiveKind.ALL_TO_ALL, 16, lambda s: (4, 4 * s / 2, 0)),
    ("bruck", CollectiveKind.ALL_TO_ALL, 6, lambda s: (3, (3 + 2 + 2) * s / 6, 0)),
    ("bruck", CollectiveKind.ALL_GATHER, 16, lambda s: (4, 15 * s, 0)),
    ("bruck", CollectiveKind.ALL_GATHER, 6, lambda s: (3, 5 * s, 0)),
    ("recursive_doubling", CollectiveKind.ALL_REDUCE, 16, lambda s: (4, 4 * s, 4 * s)),
    ("recursive_doubling", CollectiveKind.ALL_GATHER, 16, lambda s: (4, 15 * s, 0)),
    ("pairwise", CollectiveKind.ALL_TO_ALL, 16, lambda s: (15, 15 * s / 16, 0)),
    ("pairwise", CollectiveKind.ALL_TO_ALL, 6, lambda s: (5, 5 * s / 6, 0)),
    ("pairwise", CollectiveKind.REDUCE_SCATTER, 6, lambda s: (5, 5 * s / 6, 5 * s / 6)),
    ("recursive_doubling", CollectiveKind.ALL_REDUCE, 6, lambda s: (3, 3 * s, 3 * s)),
    ("recursive_doubling", CollectiveKind.ALL_REDUCE, 7, lambda s: (3, 4 * s, 4 * s)),
    ("recursive_doubling", CollectiveKind.ALL_GATHER, 7, lambda s: (3, 6 * s, 0)),
    ("rabenseifner", CollectiveKind.ALL_REDUCE, 16, lambda s: (8, 30 * s / 16, 15 * s / 16)),
    ("rabenseifner", CollectiveKind.ALL_REDUCE, 12, lambda s: (8, 22 * s / 12, 11 * s / 12)),
    ("rabenseifner", CollectiveKind.REDUCE_SCATTER, 5, lambda s: (3, 4 * s / 5, 4 * s / 5)),
    ("rabenseifner", CollectiveKind.ALL_GATHER, 5, lambda s: (3, 4 * s, 0)),
    ("hierarchical", CollectiveKind.ALL_REDUCE, 16, lambda s: (16, 30 * s / 16, 15 * s / 16)),
    ("hierarchical4", CollectiveKind.ALL_REDUCE, 12, lambda s: (10, 22 * s / 12, 11 * s / 12)),
    ("hierarchical", CollectiveKind.ALL_GATHER, 12, lambda s: (6, 11 * s, 0)),
    ("rail_aligned4", CollectiveKind.ALL_TO_ALL, 12, lambda s: (5, 3 * s / 4 + 2 * s / 3, 0)),
    ("blue_connect", CollectiveKind.ALL_REDUCE, 12, lambda s: (8, 22 * s / 12, 11 * s / 12)),
    ("blue_connect4x3", CollectiveKind.ALL_REDUCE, 12, lambda s: (10, 22 * s / 12, 11 * s / 12)),
    ("blue_connect", CollectiveKind.ALL_TO_ALL, 16, lambda s: (4, 4 * s / 2, 0)),
    ("blue_connect4x4", CollectiveKind.REDUCE_SCATTER, 16, lambda s: (6, 15 * s / 16, 15 * s / 16)),
]
"""Of each published form on s bytes: its messages, bytes and reduced bytes one after the other."""


@pytest.mark.parametrize(("name", "kind", "members", "form"), FORMS)
def test_on_a_switch_an_algorithm_takes_as_long_as_its_published_form_says(
    name: str, kind: CollectiveKind, members: int, form: Form
) -> None:
    output = outcome(name, kind, members, "switch", "congestion_unaware")
    messages, sent, reduced = form(size_bytes(members))
    form_ns = messages * ALPHA_NS + sent / BYTES_PER_NS + 3 * reduced / MEMORY_BYTES_PER_NS
    rounded_ns = messages * (4 if reduced else 1)  # each time down to a whole ns
    assert -rounded_ns <= output.finish_ns.max() - DELAY_NS - form_ns <= 0
    assert output.finish_ns.min() == output.finish_ns.max()


def test_an_algorithm_that_reduces_pays_for_it() -> None:
    members, size = 8, size_bytes(8)
    step = int(2 * LATENCY_NS + size / BYTES_PER_NS) + 10 + 3 * int(size / MEMORY_BYTES_PER_NS)
    output = outcome("sums_of_pairs", CollectiveKind.ALL_REDUCE, members, "switch",
                     "congestion_unaware")  # fmt: skip
    assert output.finish_ns.tolist() == [10 + 3 * step] * members


def test_what_switches_add_up_costs_the_members_nothing() -> None:
    members, size = 8, size_bytes(8)
    output = outcome("in_network", CollectiveKind.ALL_REDUCE, members, "switch",
                     "congestion_unaware")  # fmt: skip
    once = 10 + int(2 * LATENCY_NS + size / BYTES_PER_NS) + 10
    assert output.finish_ns.tolist() == [once] * members


def test_the_numbers_of_peer_rules_are_those_of_the_kernels() -> None:
    for rule in PeerRule:
        assert getattr(records, f"PEERS_{rule.name}") == rule


@dataclass(frozen=True, eq=False)
class Wrong(CollectiveAlgorithm):
    """Gathers with the steps of a test."""

    given: tuple[Step, ...]
    own: StateMachine | None = None

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return kind is CollectiveKind.ALL_GATHER and members == 4

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        return self.given

    def machine(self, kind: CollectiveKind, members: int) -> StateMachine:
        return self.own or super().machine(kind, members)


ONE = Fraction(1)
RING = Step(size=ONE, peer=Offset(1), times=3)
LISTED = Step(size=ONE, peer=Table([1, 2, 3, 0]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("algorithm", "rule"),
    [
        (Wrong(()), "must have 1 to 100,000 steps"),
        (Wrong((Step(size=0.75, peer=Offset(1)),)), "a fractions.Fraction, but got 0.75"),  # type: ignore[arg-type]
        (Wrong((Step(size=Fraction(0), peer=Offset(1)),)), "size must be above 0"),
        (Wrong((Step(size=ONE, peer=Offset(4)),)), "no member may send to itself"),
        (Wrong((Step(size=ONE, peer=Offset(1), times=0),)), "times must be 1 or more"),
        (Wrong((Step(size=ONE, peer=Table((1, 2, 3))),)), "for each of 4 members"),
        (Wrong((LISTED,)), "receivers of a Table must be a tuple"),
        (Wrong((None,)), "algorithm must answer what is asked of it .AttributeError"),  # type: ignore[arg-type]
        (Wrong((Step(size=ONE, peer=Table((1, 1, 3, 2))),)), "no two members may send to the same"),
        (Wrong((Step(size=ONE, peer=Table((1, 2, 3, 4))),)), "receivers must be members, 0 to 3"),
        (Wrong((Step(size=ONE, peer=Table((None,) * 4)),)), "senders must be members, and one at"),
        (
            Wrong((Step(size=ONE, peer=Span(1, first=2, count=2)),)),
            "receivers must be members, 0 to",
        ),
        (Wrong((Step(size=ONE, peer=Span(-1, first=3, count=2)),)), "senders must be members, and"),
        (Wrong((Step(size=Fraction(3), peer=Offset(2)),)), "every member must hear from every"),
        (Wrong((Step(size=Fraction(1, 2), peer=Offset(1), times=3),)), "at least 3 of the buffer"),
        (
            Wrong((RING,), StateMachine(peers=PeerRule.NEIGHBOUR, steps=2)),
            "must send the 12288 bytes that its steps state, but got 8192",
        ),
    ],
)
def test_what_cannot_be_run_as_stated_is_refused_with_the_reason(
    algorithm: CollectiveAlgorithm, rule: str
) -> None:
    with pytest.raises(ConfigError, match=rule):
        ALGORITHMS.add("wrong", algorithm)
    assert "wrong" not in ALGORITHMS


def test_an_algorithm_from_outside_is_added_once() -> None:
    ALGORITHMS.add("relay_too", OUTSIDE["relay"])
    assert "relay_too" in ALGORITHMS
    with pytest.raises(ConfigError, match="a name that is not taken, but got 'ring'"):
        ALGORITHMS.add("ring", Direct())
    with pytest.raises(ConfigError, match="letters, digits and underscores"):
        ALGORITHMS.add("my ring", Direct())
    assert algorithm_name(Direct(window=3)) == "direct3"
    assert algorithm_name(OUTSIDE["relay"]) == "relay"
