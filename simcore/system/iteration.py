"""One training iteration on one machine: graphs, times of their nodes, execution, accounts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.compute import ComputeModel
from simcore.hardware import Dimension, Platform
from simcore.system.collective_timer import CollectiveTime, CollectiveTimer
from simcore.system.each_npu import execute_each
from simcore.system.executor import Execution, Executor, is_shared
from simcore.system.expand import expand
from simcore.system.lowering import Lowered, lower, p2p_hop
from simcore.system.phases import runnable
from simcore.system.placement import Placement, place_group
from simcore.system.spec import System
from simcore.terms import NodeKind
from simcore.workload.graph import Axis, GroupLayout, TrainingGraph


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Iteration:
    """An executed iteration with everything its accounts are made of."""

    graph: TrainingGraph
    lowered: Lowered
    execution: Execution
    collective_times: tuple[CollectiveTime | None, ...]
    sent_bytes: tuple[float, ...]
    notes: tuple[str, ...]


def place_groups(
    groups: Mapping[Axis, GroupLayout], dimensions: Sequence[Dimension]
) -> dict[Axis, Placement]:
    """Where the groups of each axis lie; those of one NPU, and between two stages, are left out.

    Raises:
        InfeasibleError: A group does not tile the dimensions.
    """
    sizes = tuple(dimension.npus for dimension in dimensions)
    return {
        axis: place_group(str(axis), group.stride, group.size, sizes)
        for axis, group in groups.items()
        if group.size > 1 and axis is not Axis.EMBEDDING
    }


def run_iteration(
    graph: TrainingGraph, platform: Platform, system: System, compute: ComputeModel
) -> Iteration:
    """Execute *graph* on *platform*.

    Raises:
        InfeasibleError: A parallel group does not tile the network's dimensions.
        SimulationError: The stages wait for each other for ever.
    """
    dimensions = platform.dimensions
    memory_rate = platform.npu.memory_bandwidth_bytes_per_s
    placements = place_groups(graph.groups, dimensions)
    timer = CollectiveTimer(dimensions, system, memory_rate)
    times: list[CollectiveTime | None] = [
        None if is_shared(graph, c.axis) else timer.time(c.kind, placements[c.axis], c.size_bytes)
        for c in graph.collectives
    ]
    operator_ns = operator_times_ns(graph, platform, compute)
    lowered = lower(graph, dimensions, operator_ns, times)
    if system.collective_end == "each" and _early_ns(times):
        shared = [axis for axis in graph.groups if is_shared(graph, axis)]
        inputs = expand(graph, platform, system, operator_ns, placements, shared)
        execution = execute_each(graph, lowered, inputs)
    else:
        execution = Executor(graph, dimensions, system, memory_rate).execute(lowered)
    return Iteration(
        graph=graph,
        lowered=lowered,
        execution=execution,
        collective_times=tuple(times),
        sent_bytes=_sent_bytes(graph, dimensions, times),
        notes=tuple(_notes(graph, system, placements, times)),
    )


def _early_ns(times: Sequence[CollectiveTime | None]) -> int:
    """By how much a member ends a collective before the last one does, at most."""
    return max((time.duration_ns - time.earliest_ns for time in times if time), default=0)


def operator_times_ns(
    graph: TrainingGraph, platform: Platform, compute: ComputeModel
) -> NDArray[np.int64]:
    """(O,) int64: how long one NPU works on each operator, kernel after kernel."""
    precision, npu = graph.workload.precision, platform.npu
    known: dict[object, int] = {}
    total = []
    for operator in graph.operators:
        time = 0
        for kernel in operator.kernels:
            shape = (kernel.kind, kernel.flop, kernel.bytes, kernel.m, kernel.n, kernel.k)
            if shape not in known:
                known[shape] = compute.kernel_time_ns(kernel, npu, precision)
            time += known[shape]
        total.append(time)
    return np.array(total, np.int64)


def _sent_bytes(
    graph: TrainingGraph,
    dimensions: Sequence[Dimension],
    times: Sequence[CollectiveTime | None],
) -> tuple[float, ...]:
    """Bytes that one NPU sends in each dimension, mean over the stages."""
    sent = np.zeros(len(dimensions))
    stride = graph.plan.npus_per_stage
    for stage in graph.stages:
        items = stage.item[stage.kind == NodeKind.COLLECTIVE]
        for item, count in Counter(items.tolist()).items():
            time = times[item]
            if time is not None:
                sent += count * np.array(time.sent_bytes)
        sends = stage.kind == NodeKind.SEND
        for peer in np.unique(stage.peer_stage[sends]).tolist():
            index, _ = p2p_hop(dimensions, stage.stage * stride, peer * stride)
            sent[index] += float(stage.size_bytes[sends & (stage.peer_stage == peer)].sum())
    return tuple((sent / len(graph.stages)).tolist())


def _notes(
    graph: TrainingGraph,
    system: System,
    placements: Mapping[Axis, Placement],
    times: Sequence[CollectiveTime | None],
) -> list[str]:
    """What the reader should know about how collectives were run."""
    notes = []
    for operation, time in zip(graph.collectives, times, strict=True):
        if time is None:
            continue
        placement = placements[operation.axis]
        names = system.algorithms(operation.kind, len(placement.extent))
        for dimension, (name, members) in enumerate(zip(names, placement.extent, strict=True)):
            stand_in = runnable(name, operation.kind, members) if members > 1 else name
            if stand_in != name:
                notes.append(
                    f"{stand_in} stood in for {name} in {operation.kind.name.lower()} among "
                    f"{members} NPUs of dimension {dimension}"
                )
    early_ns = _early_ns(times)
    if early_ns and system.collective_end == "together":
        notes.append(
            "some members end a collective earlier than its last one, by up to "
            f"{early_ns} ns; all were held until then (collective_end: together)"
        )
    return list(dict.fromkeys(notes))
