"""Collectives worked out without events end, member by member, when the unfolded engine says."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.collectives import algorithm_named
from simcore.engines.collectives.members import Subsystem
from simcore.engines.collectives.phases import Phase, runnable
from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.rows import machine_of, phase_row, row_arrays
from simcore.engines.collectives.timer import CollectiveTimer
from simcore.engines.events.input import Ints
from simcore.errors import ConfigError
from simcore.kernels.collectives.phase_machine import phase_time
from simcore.kernels.collectives.phase_members import goes_in_turn, lone_member_end, member_ends
from simcore.machine import Dimension
from simcore.machine.system import System
from simcore.terms import EVERYWHERE, CollectiveKind
from simcore.topologies import TOPOLOGIES

MANY = settings(derandomize=True, deadline=None, max_examples=250)
KINDS = list(EVERYWHERE)
ALGORITHMS = ["ring", "direct", "direct1", "direct2", "halving_doubling", "double_binary_tree"]
SIZES = st.one_of(st.integers(1, 64), st.integers(1, 1 << 22))
RATES = [0.0, 30e9, 1.6e12]
RAN_ON_ENGINE: list[bool] = []


class Counted(Subsystem):
    """Notes whether a collective needed the engine."""

    engine_runs = 0

    def engine_ends(
        self, kind: CollectiveKind, members: Ints, size_bytes: int, start_ns: Ints
    ) -> Ints:
        self.engine_runs += 1
        return super().engine_ends(kind, members, size_bytes, start_ns)


@st.composite
def dimensions(draw: st.DrawFn, npus: int) -> Dimension:
    return Dimension(
        topology=draw(st.sampled_from(list(TOPOLOGIES))),
        npus=npus,
        bandwidth_bytes_per_s=draw(st.sampled_from([1e9, 50e9, 333e9])),
        latency_s=draw(st.sampled_from([0.0, 25e-9, 700e-9])),
    )


@st.composite
def machines(draw: st.DrawFn, most_npus: int) -> tuple[list[Dimension], System, float]:
    sizes = [draw(st.integers(2, most_npus)) for _ in range(draw(st.integers(1, 2)))]
    system = System(
        chunks=draw(st.integers(1, 16)),
        active_chunks_per_dimension=draw(st.sampled_from([1, 1, 2, 3])),
        collective_optimization=draw(st.sampled_from(["baseline", "local_bw_aware"])),
        scheduling=draw(st.sampled_from(["lifo", "fifo"])),
        endpoint_delay_s=draw(st.sampled_from([10e-9, 0.0, 137e-9])),
        all_reduce=tuple(draw(st.sampled_from(ALGORITHMS)) for _ in sizes),
        all_to_all=tuple(draw(st.sampled_from(ALGORITHMS)) for _ in sizes),
    )
    network = [draw(dimensions(npus)) for npus in sizes]
    return network, system, draw(st.sampled_from(RATES))


@MANY
@given(st.data(), machines(12), st.sampled_from(KINDS), SIZES)
def test_members_of_a_list_end_when_the_engine_says_whenever_they_start(
    data: st.DataObject,
    machine: tuple[list[Dimension], System, float],
    kind: CollectiveKind,
    size_bytes: int,
) -> None:
    network, _, _ = machine
    npus = prod(dimension.npus for dimension in network)
    ids = data.draw(st.permutations(range(npus)))[: data.draw(st.integers(2, min(npus, 32)))]
    if len(ids) == npus:
        ids = sorted(ids)
    latest = data.draw(st.sampled_from([0, 3, 300, 100_000]))
    starts = [data.draw(st.integers(0, latest)) for _ in ids]
    arguments = kind, np.array(ids, np.int64), size_bytes, np.array(starts, np.int64)
    subsystem = Counted(*machine)
    name = machine[1].algorithms(kind, [dimension.topology for dimension in network])[0]
    one = len(network) == 1 and len(ids) < npus
    if one and runnable(name, kind, len(ids)) == "double_binary_tree":
        with pytest.raises(ConfigError, match="double_binary_tree needs a dimension"):
            subsystem.shared_ends(*arguments)
        return
    expected = Subsystem(*machine).engine_ends(*arguments)
    np.testing.assert_array_equal(subsystem.shared_ends(*arguments), expected)
    RAN_ON_ENGINE.append(subsystem.engine_runs > 0)


def test_few_of_those_lists_needed_the_engine() -> None:
    if not RAN_ON_ENGINE:
        pytest.skip("the lists above were not run here")
    assert len(RAN_ON_ENGINE) > 150
    assert np.mean(RAN_ON_ENGINE) < 0.25


@MANY
@given(st.data(), machines(8), st.sampled_from(KINDS), SIZES)
def test_collective_lasts_until_the_engine_ends_its_last_member(
    data: st.DataObject,
    machine: tuple[list[Dimension], System, float],
    kind: CollectiveKind,
    size_bytes: int,
) -> None:
    network, _, _ = machine
    extent, stride = [], []
    for dimension in network:
        apart = data.draw(st.sampled_from(_divisors(dimension.npus)))
        members = data.draw(st.sampled_from(_divisors(dimension.npus // apart)))
        extent.append(members)
        stride.append(apart if members > 1 else 1)
    placement = Placement(extent=tuple(extent), stride=tuple(stride))
    if placement.members == 1:
        return
    time = CollectiveTimer(*machine).time(kind, placement, size_bytes)
    ends = Subsystem(*machine, fold=False).collective_ends(kind, placement, size_bytes)
    if time.held_ns == 0:
        assert ends.tolist() == [time.duration_ns] * placement.members
    else:  # held at the end of each phase
        assert time.duration_ns >= ends.max()
        if sum(members > 1 for members in extent) == 1 and machine[1].chunks == 1:
            assert time.duration_ns == ends.max()
            assert time.held_ns == ends.max() - ends.min()


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]


@MANY
@given(
    dimensions(8),
    st.sampled_from(ALGORITHMS[:5]),
    st.sampled_from(KINDS),
    st.sampled_from([2, 4, 8]),
    SIZES,
    st.sampled_from([0, 10, 137]),
    st.sampled_from(RATES),
)
def test_chain_of_maxima_ends_when_the_state_machine_of_one_member_does(
    dimension: Dimension,
    algorithm: str,
    kind: CollectiveKind,
    members: int,
    size_bytes: int,
    delay_ns: int,
    memory_bytes_per_s: float,
) -> None:
    phase = Phase(
        dimension=0,
        kind=kind,
        algorithm=algorithm_named(runnable(algorithm, kind, members)),
        members=members,
        stride=8 // members,
    )
    rows, tables = row_arrays([phase_row(phase, dimension)])
    machine = machine_of([dimension], delay_ns, memory_bytes_per_s)
    duration, sent_bytes, _ = phase_time(rows[0], size_bytes, machine)
    zero, end = np.zeros(1, np.int64), np.zeros(1, np.int64)
    sent = member_ends(rows[0], tables, size_bytes, zero, machine, zero, end)
    assert rows[0]["alike"] or dimension.topology == "mesh"
    if not rows[0]["alike"]:
        return  # every member of a line is followed
    if sent < 0:  # a window of messages, or a tie
        assert algorithm.startswith("direct")
    else:
        assert (int(end[0]), sent) == (duration, sent_bytes)
    if goes_in_turn(rows[0]):
        assert lone_member_end(rows[0], size_bytes, machine) == (duration, sent_bytes)
