"""Rooted collectives and barriers: published forms, several dimensions, all ways to time them."""

from collections.abc import Callable
from math import sqrt

import numpy as np
import pytest
from engine_runs import collective, dimension, program, run_of

from simcore.collectives import algorithm_named, runnable
from simcore.engines.collectives.members import engine_options
from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.timer import CollectiveTimer
from simcore.engines.events.input import (
    ChosenAlgorithm,
    EngineOutput,
    GridGroup,
    ListGroup,
    SystemOptions,
)
from simcore.engines.events.run import run_unfolded
from simcore.machine import Dimension
from simcore.machine.system import System
from simcore.network.dimensions import engine_dimensions
from simcore.terms import CollectiveKind

BROADCAST, REDUCE = CollectiveKind.BROADCAST, CollectiveKind.REDUCE
SCATTER, GATHER, BARRIER = CollectiveKind.SCATTER, CollectiveKind.GATHER, CollectiveKind.BARRIER
RATE, LATENCY_NS, MEMORY, DELAY_NS = 50.0, 500.0, 1600.0, 10
ALPHA_NS = 2 * LATENCY_NS + DELAY_NS
SIZE = 1 << 20
Form = tuple[float, float, float]


def ran(
    name: str, kind: CollectiveKind, members: int, size: int, backend: str, topology: str = "switch"
) -> EngineOutput:
    chosen = {int(kind): (ChosenAlgorithm(algorithm=algorithm_named(name)),)}
    options = SystemOptions(local_mem_bytes_per_ns=MEMORY, algorithms=chosen)
    network = [dimension(topology, members, bytes_per_ns=RATE, latency_ns=LATENCY_NS)]
    return run_unfolded(
        run_of(network, [program([collective(kind, size)])], options, backend=backend)
    )


@pytest.mark.parametrize(
    ("name", "kind", "members", "form"),
    [
        ("binomial", BROADCAST, 16, lambda s: (4, 4 * s, 0)),
        ("binomial", BROADCAST, 11, lambda s: (4, 4 * s, 0)),
        ("binomial", REDUCE, 16, lambda s: (4, 4 * s, 4 * s)),
        ("binomial", SCATTER, 16, lambda s: (4, 15 / 16 * s, 0)),
        ("binomial", GATHER, 16, lambda s: (4, 15 * s, 0)),
        ("chain", BROADCAST, 8, lambda s: (14, 14 / 8 * s, 0)),
        ("chain64", BROADCAST, 8, lambda s: (70, 70 / 64 * s, 0)),
        ("chain64", REDUCE, 8, lambda s: (70, 70 / 64 * s, 7 / 64 * s)),
        ("scatter_gather", BROADCAST, 16, lambda s: (4 + 15, 2 * 15 / 16 * s, 0)),
        ("scatter_gather", REDUCE, 16, lambda s: (8, 2 * 15 / 16 * s, 15 / 16 * s)),
        ("linear", SCATTER, 12, lambda s: (11, 11 / 12 * s, 0)),
        ("linear", BROADCAST, 12, lambda s: (11, 11 * s, 0)),
        ("dissemination", BARRIER, 16, lambda s: (4, 4, 0)),
        ("dissemination", BARRIER, 11, lambda s: (4, 4, 0)),
    ],
)
def test_the_last_member_is_done_when_the_published_form_says(
    name: str, kind: CollectiveKind, members: int, form: Callable[[float], Form]
) -> None:
    messages, sent, reduced = form(SIZE)
    form_ns = messages * ALPHA_NS + sent / RATE + 3 * reduced / MEMORY
    last_ns = ran(name, kind, members, SIZE, "congestion_unaware").finish_ns.max() - DELAY_NS
    assert -messages * (4 if reduced else 1) <= last_ns - form_ns <= 0.5


def test_a_chain_of_the_published_count_of_pieces_is_near_the_least() -> None:
    members, last = 16, {}
    best = round(sqrt((members - 2) * SIZE / (ALPHA_NS * RATE)))
    for pieces in (best // 4, best, 4 * best):
        output = ran(f"chain{pieces}", BROADCAST, members, SIZE, "congestion_unaware")
        last[pieces] = output.finish_ns.max()
    assert min(last, key=last.__getitem__) == best
    least_ns = (sqrt((members - 2) * ALPHA_NS) + sqrt(SIZE / RATE)) ** 2
    assert last[best] == pytest.approx(least_ns, rel=0.01)


def test_what_comes_in_at_once_shares_the_link_of_the_root() -> None:
    """Linear gather through a switch: the root's link carries all shares, one after the other."""
    members, share = 9, 50_000
    output = ran("linear", GATHER, members, share, "congestion_aware_multidim")
    into_ns = LATENCY_NS + share / RATE  # of the first, up to the switch
    down_ns = LATENCY_NS + (members - 1) * share / RATE
    assert output.finish_ns[0] == 2 * DELAY_NS + into_ns + down_ns
    idle = ran("linear", GATHER, members, share, "congestion_unaware")
    assert idle.finish_ns[0] == members * DELAY_NS + 2 * LATENCY_NS + share / RATE


@pytest.mark.parametrize("kind", [BROADCAST, REDUCE, GATHER, SCATTER, BARRIER])
@pytest.mark.parametrize("backend", ["flow", "packet", "flit"])
def test_the_finer_networks_end_no_sooner_than_idle_links(
    kind: CollectiveKind, backend: str
) -> None:
    name = "dissemination" if kind is BARRIER else "binomial"
    fine = ran(name, kind, 8, 65_536, backend)
    idle = ran(name, kind, 8, 65_536, "congestion_unaware")
    assert not fine.waiting
    assert fine.finish_ns.max() >= 0.97 * idle.finish_ns.max()  # flits cut through switches
    assert fine.sent_bytes == idle.sent_bytes


SHAPE = (4, 3)


def machine() -> tuple[Dimension, ...]:
    return tuple(
        Dimension(topology="switch", npus=npus, bandwidth_bytes_per_s=RATE * 1e9, latency_s=5e-7)
        for npus in SHAPE
    )


def on_engine(kind: CollectiveKind, size: int, group: ListGroup | GridGroup | None = None):  # type: ignore[no-untyped-def]
    options = engine_options(System(chunks=1), ["switch"] * 2, MEMORY * 1e9, SHAPE)
    key = 0 if group is None else 1
    nodes = program([collective(kind, size, group=key)])
    members = range(12) if not isinstance(group, ListGroup) else group.members.tolist()
    idle = program([])
    programs = [nodes if npu in members else idle for npu in range(12)]
    groups = {} if group is None else {1: group}
    return run_unfolded(run_of(engine_dimensions(machine()), programs, options, groups=groups))


@pytest.mark.parametrize("kind", [BROADCAST, REDUCE, GATHER, SCATTER, BARRIER])
def test_over_two_dimensions_the_closed_form_ends_when_the_engine_does(
    kind: CollectiveKind,
) -> None:
    size = 12_000
    output = on_engine(kind, size)
    timer = CollectiveTimer(machine(), System(chunks=1), MEMORY * 1e9)
    time = timer.time(kind, Placement(extent=SHAPE, stride=(1, 1)), size)
    assert output.finish_ns.max() == time.duration_ns
    assert output.sent_bytes == pytest.approx(12 * sum(time.traffic[:2]))


def test_only_lines_that_hold_data_send_it() -> None:
    size = 12_000
    whole = {
        BROADCAST: 11 * size,  # every other member receives the buffer once
        REDUCE: 11 * size,
        SCATTER: 2 * size // 3 + 3 * (size // 3) * 4 // 4,  # 2 of 3 parts out, each on by halves
        GATHER: 3 * 4 * size + 2 * 4 * size,
    }
    for kind, sent in whole.items():
        assert on_engine(kind, size).sent_bytes == sent


def test_a_group_of_a_list_has_its_first_member_as_root() -> None:
    group = ListGroup(members=np.array([7, 2, 11, 4, 5]))
    output = on_engine(SCATTER, 10_000, group)
    assert not output.waiting
    assert output.finish_ns[7] > 0
    assert output.finish_ns[[7, 2, 11, 4, 5]].max() > output.finish_ns[0]


def test_stand_ins_do_what_was_asked_for() -> None:
    for kind in CollectiveKind:
        for asked in ("ring", "halving_doubling", "in_network", "chain", "dissemination"):
            assert runnable(algorithm_named(asked), kind, 6).runs(kind, 6)
