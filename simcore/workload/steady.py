"""The part of each stage's program that repeats itself, micro-batch after micro-batch."""

from dataclasses import dataclass

import numpy as np

from simcore.workload.graph import StageGraph, TrainingGraph
from simcore.workload.schedules import SCHEDULES


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatingPart:
    """Where a stage's program repeats.

    Attributes:
        begin: Position of its first node.
        end: Position after its last node.
        period: Nodes per period.
    """

    begin: int
    end: int
    period: int


def repeating_parts(graph: TrainingGraph) -> tuple[RepeatingPart, ...] | None:
    """The repeating part of each stage's program, or None where a stage has none."""
    plan = graph.plan
    microbatches = SCHEDULES[plan.schedule]().period(plan.pp, plan.interleave)
    if microbatches is None:
        return None
    units = 2 * microbatches * plan.interleave
    parts = [_part(stage, graph, units) for stage in graph.stages]
    return None if None in parts else tuple(part for part in parts if part)


def _part(stage: StageGraph, graph: TrainingGraph, units: int) -> RepeatingPart | None:
    plan, starts = graph.plan, stage.unit_start
    batches = (starts.size - 1) // (2 * plan.interleave)
    order = SCHEDULES[plan.schedule]().units(stage.stage, plan.pp, batches, plan.interleave)
    first_backward = int(np.flatnonzero(order.backward)[0])
    first = first_backward - 1
    pairs = order.backward.size // 2 - first
    last = first + 2 * pairs
    if last - first < 2 * units:
        return None
    period = int(starts[first + units] - starts[first])
    lengths = np.diff(starts[first : last + 1])
    if not np.array_equal(lengths[:-units], lengths[units:]):
        return None
    return RepeatingPart(begin=int(starts[first]), end=int(starts[last]), period=period)
