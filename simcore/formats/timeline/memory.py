"""Bytes that one NPU of each stage holds from moment to moment of an executed iteration.

A forward unit of the pipeline schedule takes its activations when it begins; its backward unit
gives them back when it ends, or its weight gradients do where they are computed later. All else of
the footprint is held throughout, so no moment holds more than the footprint says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simcore.engines.classes.run import NodeTimes
from simcore.engines.events.input import Ints
from simcore.memory.footprint import StageFootprint, footprint
from simcore.terms import NodeKind
from simcore.workload.base import microbatches
from simcore.workload.graph import StageGraph, TrainingGraph
from simcore.workload.schedules import SCHEDULES, PipelineSchedule, Units


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageMemory:
    """Memory of one stage; M moments.

    Attributes:
        held_bytes: By what it is for, of all that is held throughout.
        time_ns: (M,) int64, ascending; the first is 0.
        activations_bytes: (M,) int64, activations from each moment on.
    """

    held_bytes: Mapping[str, int]
    time_ns: Ints
    activations_bytes: Ints

    @property
    def peak_bytes(self) -> int:
        """Most that is held at once."""
        return sum(self.held_bytes.values()) + int(self.activations_bytes.max())


def memory_of(nodes: NodeTimes) -> list[StageMemory]:
    """Memory of every stage of an executed iteration."""
    graph, found, first = nodes.graph, [], 0
    needed = footprint(graph.workload, graph.plan)
    for stage, of_stage in zip(graph.stages, needed.stages, strict=True):
        own = slice(first, first + stage.nodes)
        times = nodes.execution.start_ns[own], nodes.execution.end_ns[own]
        found.append(_stage_memory(graph, stage, of_stage, times))
        first += stage.nodes
    return found


def _stage_memory(
    graph: TrainingGraph, stage: StageGraph, needed: StageFootprint, times: tuple[Ints, Ints]
) -> StageMemory:
    plan, batches = graph.plan, microbatches(graph.workload, graph.plan)
    schedule, chunks = SCHEDULES[plan.schedule](), (plan.interleave, plan.chunk_group)

    def kept(alive: Ints, late: Ints) -> Ints:
        return -(-(alive * needed.kept_bytes + late * needed.late_bytes) // plan.interleave)

    held = np.array(schedule.held_units(stage.stage, plan.pp, batches, *chunks), np.int64)
    at_work = needed.activations_bytes - int(kept(held[:, 0], held[:, 1]).max())
    units = schedule.units(stage.stage, plan.pp, batches, *chunks)
    time_ns, alive, late = _held(schedule, units, *_unit_times(stage, *times), times[1])
    return StageMemory(
        held_bytes={
            "weights": needed.weights_bytes,
            "gradients": needed.gradients_bytes,
            "optimizer": needed.optimizer_bytes,
            "logits": needed.logits_bytes,
            "kv cache": needed.cache_bytes,
        },
        time_ns=time_ns,
        activations_bytes=at_work + kept(alive, late),
    )


def _unit_times(stage: StageGraph, start_ns: Ints, end_ns: Ints) -> tuple[Ints, Ints]:
    """(U,) int64 each: when the compute nodes of each unit begin and end."""
    first, last = stage.unit_start[:-1], stage.unit_start[1:]
    computes = stage.kind == NodeKind.COMPUTE
    begin, end = np.zeros(first.size, np.int64), np.zeros(first.size, np.int64)
    for unit, (low, high) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        chosen = computes[low:high]
        if chosen.any():
            begin[unit] = start_ns[low:high][chosen].min()
            end[unit] = end_ns[low:high][chosen].max()
    return begin, end


def _held(
    schedule: PipelineSchedule, units: Units, begin: Ints, end: Ints, end_ns: Ints
) -> tuple[Ints, Ints, Ints]:
    """Moments, units whose activations are held from each on, and those that are late."""
    if not schedule.trains:
        return (np.zeros(1, np.int64),) * 3
    forward, changes = ~units.backward, [(0, 0, 0)]
    none = np.zeros(units.backward.size, np.bool_)
    cut = none if units.without_weights is None else units.without_weights
    only = none if units.weights is None else units.weights
    changes += [(at, 1, 0) for at in begin[forward].tolist()]
    if units.weights is None:  # what is late stays whole until its weight gradients are done
        done = units.backward & ~cut
        changes += [(at, -1, 0) for at in end[done].tolist()]
        changes += [(int(end_ns.max()), -1, 0)] * int(cut.sum())
    else:
        changes += [(at, -1, 0) for at in end[units.backward & ~only].tolist()]
        changes += [(at, 0, 1) for at in end[cut].tolist()]
        changes += [(at, 0, -1) for at in end[only].tolist()]
    return _summed(changes)


def _summed(changes: Sequence[tuple[int, int, int]]) -> tuple[Ints, Ints, Ints]:
    """Sums of *changes* from moment to moment; what is given back goes first."""
    rows = np.array(sorted(changes), np.int64)
    time_ns, last = np.unique(rows[::-1, 0], return_index=True)
    at = len(rows) - 1 - last
    return time_ns, np.cumsum(rows[:, 1])[at], np.cumsum(rows[:, 2])[at]
