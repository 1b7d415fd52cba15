"""What holds for random systems with groups, dimensions in any order, and several streams."""

from dataclasses import replace
from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.engines.events.input import EngineInput, EngineOutput, ListGroup, SystemOptions
from simcore.engines.events.phases import POLICIES
from simcore.engines.events.programs import Program
from simcore.engines.events.run import run_unfolded
from simcore.formats.astra.collective_names import algorithms_of
from simcore.network import NetworkDimension
from simcore.terms import CollectiveKind, NodeKind

MIXED = settings(derandomize=True, deadline=None, max_examples=60)
KINDS = (
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_TO_ALL,
)


def independent_collectives(kinds: list[CollectiveKind], sizes: list[int], group: int) -> Program:
    """Collectives of one group, none of which waits for another."""
    count = len(kinds)
    zeros = np.zeros(count, np.int64)
    return Program(
        node_id=np.arange(count, dtype=np.uint64),
        kind=np.full(count, int(NodeKind.COLLECTIVE), np.int8),
        on_cpu=np.zeros(count, np.bool_),
        skipped=np.zeros(count, np.bool_),
        duration_ns=zeros + 1,
        comm_kind=np.array([int(kind) for kind in kinds], np.int8),
        size_bytes=np.array(sizes, np.int64),
        priority=np.arange(count),
        group=zeros + group,
        involved_dims=zeros - 1,
        peer=zeros - 1,
        tag=zeros,
        dep_start=np.zeros(count + 1, np.int64),
        dep=np.zeros(0, np.int64),
    )


@st.composite
def runs(draw: st.DrawFn) -> EngineInput:
    dimensions = tuple(
        NetworkDimension(
            topology=draw(st.sampled_from(["ring", "fully_connected", "switch"])),
            npus=draw(st.sampled_from([2, 3, 4])),
            bytes_per_ns=draw(st.sampled_from([1.0, 25.0])),
            latency_ns=draw(st.sampled_from([0.0, 30.0, 500.0])),
        )
        for _ in range(draw(st.integers(1, 3)))
    )
    names = tuple(draw(st.sampled_from(["ring", "direct", "direct2"])) for _ in dimensions)
    npus = prod(dimension.npus for dimension in dimensions)
    shuffled = draw(st.permutations(range(npus)))
    cut = draw(st.integers(0, npus))  # 0 and npus: one group is everybody
    parts = [part for part in (shuffled[:cut], shuffled[cut:]) if part]
    groups = {key: ListGroup(members=np.array(part)) for key, part in enumerate(parts, 1)}
    group_of = {int(npu): key for key, group in groups.items() for npu in group.members}
    count = draw(st.integers(1, 3))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=count, max_size=count))
    sizes = draw(st.lists(st.integers(1, 1 << 16), min_size=count, max_size=count))
    programs = [independent_collectives(kinds, sizes, key) for key in groups]
    options = SystemOptions(
        scheduling=draw(st.sampled_from(["lifo", "fifo", "explicit"])),
        local_bw_aware=draw(st.booleans()),
        chunks=draw(st.integers(1, 5)),
        active_chunks_per_dimension=draw(st.integers(1, 3)),
        queues_per_dimension=draw(st.integers(1, 3)),
        local_mem_bytes_per_ns=1600.0,
        algorithms={int(kind): algorithms_of(names) for kind in KINDS},
        inter_dimension=draw(st.sampled_from(POLICIES)),
        communication_streams=draw(st.integers(1, 3)),
        rendezvous=draw(st.booleans()),
    )
    return EngineInput(
        backend=draw(st.sampled_from(["congestion_unaware", "congestion_aware_multidim"])),
        dimensions=dimensions,
        options=options,
        programs=tuple(programs),
        program_of_npu=np.array([group_of[npu] - 1 for npu in range(npus)], np.int64),
        groups=groups,
    )


def totals(output: EngineOutput) -> tuple[list[int], int, int]:
    return output.finish_ns.tolist(), output.events, output.sent_bytes


@MIXED
@given(runs())
def test_nothing_is_lost_and_nobody_waits_for_ever(inputs: EngineInput) -> None:
    output = run_unfolded(inputs)
    assert output.waiting == ()
    assert output.messages == output.received_messages
    assert output.sent_bytes == output.received_bytes
    assert totals(output) == totals(run_unfolded(inputs))


@MIXED
@given(runs(), st.sampled_from([1.25, 3.0]))
def test_more_bandwidth_never_slows_one_collective_of_a_group(
    inputs: EngineInput, factor: float
) -> None:
    one = replace(
        inputs,
        backend="congestion_unaware",
        options=replace(inputs.options, chunks=1, inter_dimension="ascending"),
        programs=tuple(
            independent_collectives(
                [CollectiveKind(int(program.comm_kind[0]))],
                [int(program.size_bytes[0])],
                int(program.group[0]),
            )
            for program in inputs.programs
        ),
    )
    wider = tuple(replace(d, bytes_per_ns=d.bytes_per_ns * factor) for d in inputs.dimensions)
    before, after = run_unfolded(one), run_unfolded(replace(one, dimensions=wider))
    assert (after.finish_ns <= before.finish_ns).all()
