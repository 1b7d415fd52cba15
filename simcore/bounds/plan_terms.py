"""Terms of the bound that follow from workload and plan, read from the graph of the simulator.

The graph of one micro-batch (interleaved: of as many as the schedule asks for) has every pass
once; longer iterations repeat the same passes.
"""

from dataclasses import dataclass, field

import numpy as np

from simcore.bounds.stage_paths import KnownShapes, Segment, StageReader
from simcore.bounds.stage_sums import (
    Collective,
    PlanItems,
    StageSummer,
    StageSums,
    has_own_first_unit,
    overlaps,
)
from simcore.compute import ComputeModel
from simcore.engines.stages.times import operator_times_ns
from simcore.machine import Npu
from simcore.memo import Memo
from simcore.terms import NodeKind
from simcore.workload import ParallelPlan, Workload, build_graph, microbatches
from simcore.workload.graph import Axis, GroupLayout
from simcore.workload.groups import group_layouts
from simcore.workload.rules import check_splits
from simcore.workload.schedules import SCHEDULES


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanTerms:
    """One plan: its collectives, segments of its passes, and the sums of each stage over them.

    Attributes:
        npus: That the plan needs.
        groups: Those within a stage, and the one of the pipeline's stages.
        collectives: The distinct ones.
        segments: Likewise; nodes point to collectives, or hold their time.
        node_ns: Per segment and node, time of compute nodes, else 0.
        node_collectives: Per segment and node, number of the collective, else -1.
        stages: For each stage its sums, shared by stages that are alike.
        held: For each stage, micro-batches whose activations it may hold.
        message_bytes: What neighbouring stages send each other.
        rooms: Conditions of the ways through last passes: numbers of collectives, and what they
            take less than in all.
        overlaps: Passes of a stage run beside each other: only their computing adds up, where an
            NPU has one slot for it.
    """

    npus: int
    groups: tuple[GroupLayout, ...]
    collectives: tuple[Collective, ...]
    segments: tuple[Segment, ...]
    node_ns: tuple[tuple[float, ...], ...]
    node_collectives: tuple[tuple[int, ...], ...]
    stages: tuple[StageSums, ...]
    held: tuple[int, ...]
    batches: int
    interleave: int
    message_bytes: int
    rooms: tuple[tuple[tuple[int, ...], float], ...] = ()
    overlaps: bool = False


def plan_terms(
    workload: Workload, plan: ParallelPlan, npu: Npu, compute: ComputeModel, memo: Memo
) -> PlanTerms:
    """Read the terms of *plan* on an accelerator; *memo* knows the programs of other plans.

    Raises:
        InfeasibleError: The plan does not fit the workload.
    """
    if not _is_chain(workload, plan):
        return _nothing_known(workload, plan)
    plan = plan.between_averages  # which are shorter than the mean
    few = plan.pp if plan.interleave > 1 else 1
    few *= 2 if has_own_first_unit(plan) else 1
    short = workload.with_batch(plan.dp * plan.micro_batch * few)
    whole = microbatches(workload, plan)
    graph = build_graph(short if whole >= few else workload, plan, memo)
    operator_ns = operator_times_ns(graph.operators, npu, workload.precision, compute)
    reader = _PlanReader(graph, operator_ns.tolist())
    schedule = SCHEDULES[plan.schedule]()
    stages = tuple(reader.stage(number) for number in range(plan.pp))
    node_collectives = tuple(map(reader.node_collectives, reader.segments))  # numbers them too
    return PlanTerms(
        npus=plan.npus,
        groups=tuple(group for axis, group in graph.groups.items() if axis is not Axis.EMBEDDING),
        collectives=tuple(reader.collectives),
        segments=tuple(reader.segments),
        node_ns=tuple(map(reader.node_ns, reader.segments)),
        node_collectives=node_collectives,
        stages=stages,
        held=tuple(
            schedule.alive_units(stage, plan.pp, whole, plan.interleave) for stage in range(plan.pp)
        ),
        batches=whole,
        interleave=plan.interleave,
        message_bytes=reader.message_bytes(),
        rooms=tuple(reader.rooms),
        overlaps=overlaps(plan),
    )


def _is_chain(workload: Workload, plan: ParallelPlan) -> bool:
    """True if the passes of a stage follow each other in the order that the terms know.

    Those that run in pairs do so but for their computing, where a stage holds one chunk.
    """
    if plan.offload.tiers or (plan.interleave > 1 and plan.chunk_group != plan.pp):
        return False
    return workload.trains and not (overlaps(plan) and plan.interleave > 1)


def _nothing_known(workload: Workload, plan: ParallelPlan) -> PlanTerms:
    """A plan whose passes are in another order: that its groups have places, but no times."""
    check_splits(workload, plan)
    groups = group_layouts(workload, plan).values()
    return PlanTerms(
        npus=plan.npus,
        groups=tuple(group for group in groups if group.axis is not Axis.EMBEDDING),
        collectives=(),
        segments=(),
        node_ns=(),
        node_collectives=(),
        stages=(StageSums(terms={}, constants={}),),
        held=(1,),
        batches=microbatches(workload, plan),
        interleave=1,
        message_bytes=0,
    )


_SHAPES = KnownShapes()
"""Passes of this process: plans whose layers take the same steps have most of them in common."""


@dataclass(slots=True, eq=False)
class _PlanReader(PlanItems):
    """Collects segments and collectives while the stages of a graph are read."""

    known: dict[bytes, StageSums] = field(default_factory=dict)

    def message_bytes(self) -> int:
        first = self.graph.stages[0]
        sends = np.flatnonzero(first.kind == NodeKind.SEND)
        return int(first.size_bytes[sends[0]]) if sends.size else 0

    def node_ns(self, segment: Segment) -> tuple[float, ...]:
        return tuple(
            float(self.operator_ns[item]) if kind == NodeKind.COMPUTE else 0.0
            for kind, item in segment.nodes
        )

    def node_collectives(self, segment: Segment) -> tuple[int, ...]:
        return tuple(
            self.number(item) if kind == NodeKind.COLLECTIVE else -1 for kind, item in segment.nodes
        )

    def stage(self, number: int) -> StageSums:
        stage, plan = self.graph.stages[number], self.graph.plan
        batches = (stage.unit_start.size - 1) // (2 * plan.interleave)
        units = SCHEDULES[plan.schedule]().units(number, plan.pp, batches, plan.interleave)
        # what is of no layer, such as messages, is so in all stages
        layer = np.where(stage.layer < 0, -1, stage.layer - stage.layers[0])
        parts = (stage.kind, stage.item, stage.dep, stage.dep_start, layer, stage.unit_start)
        order = (units.backward, units.microbatch, units.chunk)
        key = b"".join(part.tobytes() for part in (*parts, *order))
        if key not in self.known:
            _SHAPES.trim()
            self.known[key] = StageSummer(self, StageReader(stage, _SHAPES), units).sums()
        return self.known[key]
