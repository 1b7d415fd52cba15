"""Writes what every stage does: its units in order, and the pieces that they are made of."""

from dataclasses import dataclass

from simcore.memo import Key, Memo
from simcore.workload.base import Workload, microbatches
from simcore.workload.graph import (
    Axis,
    CollectiveOp,
    GroupLayout,
    Operator,
    TrainingGraph,
    TransferOp,
)
from simcore.workload.groups import group_layouts
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.layout import (
    Layouts,
    ProgramLayout,
    StagePieces,
    layout_key,
    units_key,
)
from simcore.workload.program.piece_table import PieceTable
from simcore.workload.program.stage_writer import StageWriter
from simcore.workload.program.tail.tail import tail_key
from simcore.workload.program.units.orders import (
    OrderEnds,
    PipelineKey,
    StageOrders,
    UnitOrder,
    pipeline_key,
    unit_orders,
)
from simcore.workload.program.units.pieces import UnitWriter
from simcore.workload.program.units.templates import Templates, assemble
from simcore.workload.program.units.writers import section_writer, unit_writer
from simcore.workload.schedules import Units
from simcore.workload.spans import chunk_spans


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageProgram:
    """Work of one stage.

    Attributes:
        spans: Layers of each of its chunks.
        units: Its units, in order.
        pieces: What they are made of.
    """

    stage: int
    spans: tuple[range, ...]
    units: Units
    pieces: StagePieces


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingProgram:
    """One training iteration, each piece once: a program per stage and the table of its pieces.

    Attributes:
        whole: The workload, of all micro-batches of the plan.
        batches: Micro-batches of the program.
        orders: Of the units of each stage.
        layout: What it has in common with programs of other sizes.
        table: That of the layout, with what its own nodes do.
        message_bytes: Size of the messages between each stage and the next one around.
    """

    whole: Workload
    plan: ParallelPlan
    batches: int
    orders: tuple[UnitOrder, ...]
    layout: ProgramLayout
    table: PieceTable
    groups: dict[Axis, GroupLayout]
    message_bytes: tuple[int, ...]

    @property
    def workload(self) -> Workload:
        """The workload, of as many micro-batches as the program has."""
        batch = self.batches * self.plan.dp * self.plan.micro_batch
        return self.whole if batch == self.whole.global_batch else self.whole.with_batch(batch)

    @property
    def pipeline(self) -> PipelineKey:
        """Key of the order of the units."""
        return pipeline_key(self.plan, self.batches)

    @property
    def stages(self) -> tuple[StageProgram, ...]:
        """Work of each stage."""
        layout = self.layout
        return tuple(
            [
                StageProgram(stage=stage, spans=spans, units=order.units, pieces=shape.pieces)
                for stage, (spans, order, shape) in enumerate(
                    zip(layout.spans, self.orders, layout.shape_of_stages, strict=True)
                )
            ]
        )

    @property
    def operators(self) -> tuple[Operator, ...]:
        """Work of compute nodes."""
        return self.table.operators

    @property
    def collectives(self) -> tuple[CollectiveOp, ...]:
        """Work of collective nodes."""
        return self.table.collectives

    @property
    def transfers(self) -> tuple[TransferOp, ...]:
        """Work of nodes that move data into and out of tiers of memory."""
        return self.table.transfers


def write_program(
    workload: Workload, plan: ParallelPlan, memo: Memo | None = None
) -> TrainingProgram:
    """The program of one training iteration.

    Args:
        workload: The model and its batch.
        plan: How it is spread.
        memo: What is known of other plans; None: nothing.

    Raises:
        InfeasibleError: The plan does not fit the workload.
    """
    writer = ProgramWriter(workload, plan, Memo() if memo is None else memo)
    return writer.program(microbatches(workload, plan))


class ProgramWriter:
    """Writes programs of one plan that differ in their number of micro-batches.

    Args:
        workload, plan: What is to be done.
        memo: What is known of other plans.

    Raises:
        InfeasibleError: The plan does not fit the workload.
    """

    def __init__(self, workload: Workload, plan: ParallelPlan, memo: Memo) -> None:
        self._workload, self._plan, self._memo = workload, plan, memo
        sections = section_writer(workload, plan, memo)
        self._stages = StageWriter(
            model=workload.model,
            plan=plan,
            sections=sections,
            tail_key=tail_key(sections.layers, plan),
            memo=memo,
        )
        self._groups = group_layouts(workload, plan)
        self._message_bytes = workload.message_bytes(plan, sections.layers.share)
        self._found: tuple[OrderEnds, ProgramLayout, PieceTable] | None = None

    def program(self, batches: int) -> TrainingProgram:
        """An iteration with *batches* micro-batches."""
        orders = unit_orders(self._plan, batches, self._memo)
        if self._found is None or self._found[0] is not orders.ends:
            self._found = orders.ends, *self._laid_out(orders)
        _, layout, table = self._found
        return TrainingProgram(
            whole=self._workload,
            plan=self._plan,
            batches=batches,
            orders=orders.stages,
            layout=layout,
            table=table,
            groups=self._groups,
            message_bytes=self._message_bytes,
        )

    def _laid_out(self, orders: StageOrders) -> tuple[ProgramLayout, PieceTable]:
        """The layout, known or written now, and the table with what this plan's nodes do."""
        units = units_key(self._workload, self._plan)
        key = layout_key(units, self._plan, orders.ends)
        known = self._memo.of("layouts", key, Layouts)
        for layout in known.layouts:
            table = self._stages.table_in(layout)
            if table is not None:
                return layout, table
        layout, table = self._written(units, orders)
        if layout.is_shared:
            self._memo.put("layouts", key, known.joined(layout))
        return layout, table

    def _written(self, key: Key, orders: StageOrders) -> tuple[ProgramLayout, PieceTable]:
        """A layout that is written with the units of like plans, or else with those of this one."""
        stages, spans = self._stages, chunk_spans(self._workload, self._plan)
        writer = unit_writer(key, self._plan, stages.sections, self._memo)
        layout = stages.layout(spans, orders.stages, writer)
        if writer.sections is stages.sections:
            return layout, layout.table
        table = stages.table_in(layout) if layout.is_shared else None
        if table is None:
            own = UnitWriter(sections=stages.sections, plan=self._plan)
            layout = stages.layout(spans, orders.stages, own)
            table = layout.table
        return layout, table


def build_graph(workload: Workload, plan: ParallelPlan, memo: Memo | None = None) -> TrainingGraph:
    """The graph of one training iteration; arguments as for ``write_program``.

    Raises:
        InfeasibleError: The plan does not fit the workload.
    """
    return expand_program(write_program(workload, plan, memo))


def expand_program(program: TrainingProgram) -> TrainingGraph:
    """The graph of *program*: every node of every unit."""
    known: dict[StagePieces, Templates] = {}
    message_bytes = program.message_bytes
    stages = []
    for stage in program.stages:
        if stage.pieces not in known:
            known[stage.pieces] = Templates.of(
                program.table,
                program.table.numbers(stage.pieces.pieces),
                stages=program.plan.pp,
                chunks=stage.pieces.chunks,
                mirrors=program.plan.mirrors,
            )
        templates = known[stage.pieces]
        stages.append(assemble(templates, stage.units, stage.stage, stage.spans, message_bytes))
    return TrainingGraph(
        workload=program.workload,
        plan=program.plan,
        stages=tuple(stages),
        operators=program.operators,
        collectives=program.collectives,
        groups=program.groups,
        transfers=program.transfers,
    )
