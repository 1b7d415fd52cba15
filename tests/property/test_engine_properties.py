"""What holds for every run of the unfolded engine."""

from dataclasses import replace
from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.engines.events.input import EngineInput, EngineOutput, SystemOptions
from simcore.engines.events.programs import Program
from simcore.engines.events.run import run_unfolded
from simcore.formats.astra.collective_names import algorithms_of
from simcore.network import NetworkDimension
from simcore.terms import CollectiveKind, NodeKind

PLAIN = settings(derandomize=True, deadline=None, max_examples=40)
ALGORITHMS = ("ring", "direct", "direct2", "halvingDoubling", "doubleBinaryTree")


def collectives(kinds: list[CollectiveKind], size_bytes: int) -> Program:
    """One collective after the other."""
    count = len(kinds)

    def full(value: int) -> np.ndarray:
        return np.full(count, value, np.int64)

    return Program(
        node_id=np.arange(count, dtype=np.uint64),
        kind=np.full(count, int(NodeKind.COLLECTIVE), np.int8),
        on_cpu=np.zeros(count, np.bool_),
        skipped=np.zeros(count, np.bool_),
        duration_ns=full(1),
        comm_kind=np.array([int(kind) for kind in kinds], np.int8),
        size_bytes=full(size_bytes),
        priority=full(0),
        group=full(0),
        involved_dims=full(-1),
        peer=full(-1),
        tag=full(0),
        dep_start=np.array([0, *range(count)], np.int64),
        dep=np.arange(count - 1, dtype=np.int64),
    )


@st.composite
def runs(draw: st.DrawFn, backend: str) -> EngineInput:
    dimensions = tuple(
        NetworkDimension(
            topology=draw(st.sampled_from(["ring", "fully_connected", "switch"])),
            npus=draw(st.sampled_from([2, 4, 8])),
            bytes_per_ns=draw(st.sampled_from([1.0, 25.0, 107.3741824])),
            latency_ns=draw(st.sampled_from([0.0, 30.0, 500.0])),
        )
        for _ in range(draw(st.integers(1, 2)))
    )
    names = tuple(draw(st.sampled_from(ALGORITHMS)) for _ in dimensions)
    everything = [CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER]
    everything += [CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_TO_ALL]
    exchanges = tuple("ring" if name in ALGORITHMS[3:] else name for name in names)
    system = SystemOptions(
        scheduling=draw(st.sampled_from(["lifo", "fifo"])),
        local_bw_aware=draw(st.booleans()),
        chunks=draw(st.integers(1, 5)),
        active_chunks_per_dimension=draw(st.integers(1, 3)),
        queues_per_dimension=draw(st.integers(1, 3)),
        endpoint_delay_ns=draw(st.sampled_from([0, 10])),
        local_mem_bytes_per_ns=draw(st.sampled_from([0.0, 1600.0])),
        algorithms={
            int(kind): algorithms_of(exchanges if kind is CollectiveKind.ALL_TO_ALL else names)
            for kind in everything
        },
        rendezvous=draw(st.booleans()),
    )
    kinds = draw(st.lists(st.sampled_from(everything), min_size=1, max_size=3))
    npus = prod(d.npus for d in dimensions)
    starts = draw(st.lists(st.integers(0, 5000), min_size=npus, max_size=npus))
    return EngineInput(
        backend=backend,
        dimensions=dimensions,
        options=system,
        programs=(collectives(kinds, draw(st.integers(1, 1 << 20))),),
        program_of_npu=np.zeros(npus, np.int64),
        start_ns=np.array(starts, np.int64),
    )


def same(one: EngineOutput, other: EngineOutput) -> bool:
    return (
        one.finish_ns.tolist() == other.finish_ns.tolist()
        and one.events == other.events
        and all(map(np.array_equal, one.node_end_ns, other.node_end_ns))
    )


@PLAIN
@given(runs("congestion_unaware"))
def test_every_message_sent_is_received_and_every_npu_finishes(inputs: EngineInput) -> None:
    output = run_unfolded(inputs)
    assert output.waiting == ()
    assert output.messages == output.received_messages > 0
    assert output.sent_bytes == output.received_bytes
    assert inputs.start_ns is not None
    assert (output.finish_ns >= inputs.start_ns).all()


@PLAIN
@given(runs("congestion_aware_multidim"))
def test_links_lose_no_message_either(inputs: EngineInput) -> None:
    output = run_unfolded(inputs)
    assert output.waiting == ()
    assert output.messages == output.received_messages > 0
    assert output.sent_bytes == output.received_bytes


@PLAIN
@given(runs("congestion_aware_multidim"))
def test_the_same_inputs_give_the_same_events(inputs: EngineInput) -> None:
    assert same(run_unfolded(inputs), run_unfolded(inputs))


@PLAIN
@given(runs("congestion_unaware"), st.sampled_from([1.5, 2.0, 10.0]))
def test_more_bandwidth_never_slows_one_collective(inputs: EngineInput, factor: float) -> None:
    kind = CollectiveKind(int(inputs.programs[0].comm_kind[0]))
    size_bytes = int(inputs.programs[0].size_bytes[0])
    one = replace(
        inputs,
        programs=(collectives([kind], size_bytes),),
        options=replace(inputs.options, chunks=1),
    )
    wider = tuple(replace(d, bytes_per_ns=d.bytes_per_ns * factor) for d in inputs.dimensions)
    before, after = run_unfolded(one), run_unfolded(replace(one, dimensions=wider))
    assert after.finish_ns.max() <= before.finish_ns.max()
