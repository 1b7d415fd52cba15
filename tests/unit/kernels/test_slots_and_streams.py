"""More than one collective, or compute node, at a time on an NPU."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from engine_runs import collective, dimension, options, program, run_of

from simcore.engines.events.input import EngineInput, EngineOutput, ListGroup
from simcore.engines.events.run import run_unfolded
from simcore.errors import ConfigError
from simcore.terms import CollectiveKind

MIB = 1 << 20
AR = CollectiveKind.ALL_REDUCE


def two_groups(streams: int) -> EngineOutput:
    """NPUs of a 2x2 machine reduce over their row and, independently, over their column."""
    groups = {1: [0, 1], 2: [2, 3], 3: [0, 2], 4: [1, 3]}
    programs = [
        program([collective(AR, MIB, group=1 + npu // 2), collective(AR, MIB, group=3 + npu % 2)])
        for npu in range(4)
    ]
    inputs = run_of(
        [dimension("ring", 2), dimension("ring", 2)],
        programs,
        replace(options("ring"), communication_streams=streams, active_chunks_per_dimension=2),
        groups={key: ListGroup(members=np.array(ids)) for key, ids in groups.items()},
    )
    return run_unfolded(inputs)


def one_queue(scheduling: str, streams: int) -> EngineOutput:
    """Three independent all-reduces of 4 chunks that share the queue of one dimension."""
    system = replace(
        options("ring", chunks=4), scheduling=scheduling, communication_streams=streams
    )
    nodes = [collective(AR, size * MIB) for size in (1, 2, 4)]
    return run_unfolded(run_of([dimension("ring", 4)], [program(nodes)], system))


def test_two_streams_let_independent_collectives_overlap() -> None:
    one, two = two_groups(1), two_groups(2)
    assert one.waiting == two.waiting == ()
    assert two.finish_ns.max() * 2 == one.finish_ns.max()
    assert two.node_start_ns[0].tolist() == [0, 0]
    assert one.node_start_ns[0][1] == one.node_end_ns[0][0]


def test_with_streams_the_queue_obeys_the_scheduling_policy() -> None:
    lifo, fifo = one_queue("lifo", 3), one_queue("fifo", 3)
    # last in, first out: the third overtakes all chunks but the one at work; fifo keeps the order
    assert np.argsort(lifo.node_end_ns[0]).tolist() == [2, 1, 0]
    assert np.argsort(fifo.node_end_ns[0]).tolist() == [0, 1, 2]
    assert lifo.finish_ns.max() == fifo.finish_ns.max()


def test_with_one_stream_the_policies_agree() -> None:
    lifo, fifo = one_queue("lifo", 1), one_queue("fifo", 1)
    assert lifo.node_end_ns[0].tolist() == fifo.node_end_ns[0].tolist()


def test_explicit_priorities_decide_who_goes_first() -> None:
    system = replace(options("ring", chunks=4), scheduling="explicit", communication_streams=3)
    nodes = [{**collective(AR, MIB), "priority": priority} for priority in (0, 1, 5)]
    output = run_unfolded(run_of([dimension("ring", 4)], [program(nodes)], system))
    assert np.argsort(output.node_end_ns[0]).tolist() == [2, 1, 0]


@pytest.mark.parametrize("streams", [1, 2, 3])
def test_streams_give_the_same_events_every_time(streams: int) -> None:
    first, second = one_queue("lifo", streams), one_queue("lifo", streams)
    assert first.events == second.events
    assert np.array_equal(first.node_end_ns[0], second.node_end_ns[0])
    assert first.messages == first.received_messages


@pytest.mark.parametrize(("slots", "finish_ns"), [(1, 400), (2, 200), (4, 100)])
def test_compute_slots_run_that_many_nodes_at_once(slots: int, finish_ns: int) -> None:
    nodes = [{"duration_ns": 100}] * 4
    system = replace(options("ring"), compute_slots=slots)
    output = run_unfolded(run_of([dimension("ring", 2)], [program(nodes)], system))
    assert output.finish_ns.tolist() == [finish_ns, finish_ns]


def refused(**slots: Any) -> EngineInput:
    system = replace(options("ring"), **slots)
    return run_of([dimension("ring", 2)], [program([{"duration_ns": 1}])], system)


@pytest.mark.parametrize("name", ["compute_slots", "communication_streams"])
@pytest.mark.parametrize("count", [0, -1, 5000])
def test_counts_out_of_range_are_refused(name: str, count: int) -> None:
    with pytest.raises(ConfigError, match=f"{name}: must be from 1 to 1024"):
        run_unfolded(refused(**{name: count}))
