"""Terms of the bound that follow from workload and plan, read from the graph of the simulator.

The graph of one micro-batch (interleaved: of as many as the schedule asks for) has every pass
once; longer iterations repeat the same passes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcore.bounds.plans.stage_content import UnitsRead, content_key
from simcore.bounds.plans.stage_paths import KnownShapes, Segment, StageReader
from simcore.bounds.plans.stage_sums import (
    Collective,
    PlanItems,
    Rooms,
    StageSummer,
    StageSums,
    has_own_first_unit,
    identity,
    overlaps,
)
from simcore.bounds.plans.term_rows import TermRows
from simcore.compute import ComputeModel
from simcore.engines.stages.code import KeyedProgram
from simcore.engines.stages.times import operator_times_ns
from simcore.machine import Npu
from simcore.memo import Key, Memo
from simcore.terms import NodeKind
from simcore.workload import ParallelPlan, Workload, microbatches
from simcore.workload.graph import Axis, GroupLayout, TrainingGraph
from simcore.workload.groups import group_layouts
from simcore.workload.program.write import TrainingProgram, expand_program, write_program
from simcore.workload.rules import check_splits
from simcore.workload.schedules import SCHEDULES


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanTerms:
    """One plan: its collectives, segments of its passes, and the sums of each stage over them.

    Attributes:
        npus: That the plan needs.
        groups: Those within a stage, and the one of the pipeline's stages.
        collectives: The distinct ones.
        rows: Segments, whose nodes point to collectives or hold their time, and sums of stages.
        node_ns: Per node, time of compute nodes, else 0.
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
    rows: TermRows
    node_ns: NDArray[np.float64]
    held: tuple[int, ...]
    batches: int
    interleave: int
    message_bytes: int
    rooms: tuple[tuple[tuple[int, ...], float], ...] = ()
    overlaps: bool = False

    @property
    def size_bytes(self) -> int:
        """Estimate of the memory that they take beside those of like programs."""
        return 4096 + self.node_ns.nbytes


def plan_terms(
    workload: Workload, plan: ParallelPlan, npu: Npu, compute: ComputeModel, memo: Memo
) -> PlanTerms:
    """Read the terms of *plan* on an accelerator; *memo* knows the programs of other plans.

    Raises:
        InfeasibleError: The plan does not fit the workload.
    """
    if why_unordered(workload, plan):
        return _nothing_known(workload, plan)
    plan = plan.between_averages  # which are shorter than the mean
    few = plan.pp if plan.interleave > 1 else 1
    few *= 2 if has_own_first_unit(plan) else 1
    short = workload.with_batch(plan.dp * plan.micro_batch * few)
    whole = microbatches(workload, plan)
    program = write_program(short if whole >= few else workload, plan, memo)
    operator_ns = operator_times_ns(program.operators, npu, workload.precision, compute).tolist()
    known = _program_terms(program, operator_ns, memo)
    alive = SCHEDULES[plan.schedule]().alive_units
    return PlanTerms(
        npus=plan.npus,
        groups=tuple(group for axis, group in program.groups.items() if axis is not Axis.EMBEDDING),
        collectives=tuple([identity(program.collectives[item]) for item in known.items]),
        rows=known.rows,
        node_ns=known.rows.node_ns(operator_ns),
        held=tuple(alive(stage, plan.pp, whole, plan.interleave) for stage in range(plan.pp)),
        batches=whole,
        interleave=plan.interleave,
        message_bytes=0 if known.message < 0 else program.message_bytes[known.message],
        rooms=known.rooms_with(operator_ns),
        overlaps=overlaps(plan),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProgramTerms:
    """Terms of all plans whose programs have one structure: all but times and sizes.

    Attributes:
        items: Of each collective of ``PlanTerms``, an item of the program that is it.
        rows: As in ``PlanTerms``.
        rooms: Of each stage that differs, those of ``PlanTerms`` with operators for what they take.
        message: Whose messages to the next stage are as large as the first one, -1: there are none.
    """

    items: tuple[int, ...]
    rows: TermRows
    rooms: tuple[Rooms, ...]
    message: int

    @property
    def size_bytes(self) -> int:
        """Estimate of the memory that they take."""
        return 4096 + self.rows.size_bytes

    def rooms_with(self, operator_ns: Sequence[float]) -> tuple[tuple[tuple[int, ...], float], ...]:
        """``PlanTerms.rooms`` where operators take *operator_ns*."""
        found: dict[tuple[tuple[int, ...], float], None] = {}
        for rooms in self.rooms:
            timed = {(beside, float(operator_ns[compute])) for beside, compute in rooms}
            found |= dict.fromkeys(sorted(timed))
        return tuple(found)


def _program_terms(
    program: TrainingProgram, operator_ns: Sequence[float], memo: Memo
) -> ProgramTerms:
    """The terms of *program*, read from its graph unless a program like it is known."""
    first: dict[Collective, int] = {}
    equals = tuple([first.setdefault(identity(one), len(first)) for one in program.collectives])

    def read() -> ProgramTerms:
        graph = expand_program(program)
        reader = _PlanReader(graph, operator_ns)
        stages = tuple([reader.stage(number) for number in range(program.plan.pp)])
        node_collectives = tuple(map(reader.node_collectives, reader.segments))  # numbers them too
        return ProgramTerms(
            items=tuple([equals.index(first[one]) for one in reader.collectives]),
            rows=TermRows.of([*reader.segments], node_collectives, stages, len(reader.collectives)),
            rooms=tuple(reader.rooms),
            message=_message(graph, program.message_bytes),
        )

    # what passes compute beside each other is summed up, and messages may differ in size
    if overlaps(program.plan) or len(set(program.message_bytes)) > 1:
        return read()
    structure = KeyedProgram.of(program).structure
    key = Key(structure, program.layout.spans, equals, has_own_first_unit(program.plan))
    return memo.of("terms of programs", key, read)


def _message(graph: TrainingGraph, message_bytes: Sequence[int]) -> int:
    """``ProgramTerms.message``; *message_bytes*: from each stage to the next one around."""
    first = graph.stages[0]
    sends = np.flatnonzero(first.kind == NodeKind.SEND)
    return message_bytes.index(int(first.size_bytes[sends[0]])) if sends.size else -1


def why_unordered(workload: Workload, plan: ParallelPlan) -> str:
    """Reason why the terms know no order of a stage's passes; empty: they follow each other.

    Those that run in pairs do so but for their computing, where a stage holds one chunk.
    """
    if not workload.trains:
        return "an inference workload"
    if plan.offload.tiers:
        return "offloading"
    if plan.interleave > 1 and overlaps(plan):
        return f"schedule {plan.schedule} with {plan.interleave} chunks a stage"
    if plan.interleave > 1 and plan.chunk_group != plan.pp:
        return f"chunks that take turns every {plan.chunk_group} micro-batches, not every {plan.pp}"
    return ""


def _nothing_known(workload: Workload, plan: ParallelPlan) -> PlanTerms:
    """A plan whose passes are in another order: that its groups have places, but no times."""
    check_splits(workload, plan)
    groups = group_layouts(workload, plan).values()
    return PlanTerms(
        npus=plan.npus,
        groups=tuple(group for group in groups if group.axis is not Axis.EMBEDDING),
        collectives=(),
        rows=TermRows.of((), (), [StageSums(terms={}, constants={})], 0),
        node_ns=np.zeros(0),
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
            read = UnitsRead.of(units, plan.interleave, has_own_first=has_own_first_unit(plan))
            content = content_key(stage, units, read)
            if content not in self.known:
                _SHAPES.trim()
                reader = StageReader(stage, _SHAPES)
                self.known[content] = StageSummer(self, reader, units, read).sums()
            self.known[key] = self.known[content]
        return self.known[key]
