"""Writes what every stage does: its units in order, and the pieces that they are made of."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from simcore.memo import Memo
from simcore.terms import LayerKind
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
from simcore.workload.program.layer import BlockParameters
from simcore.workload.program.piece import Piece, nothing
from simcore.workload.program.piece_table import PieceTable
from simcore.workload.program.stage_parameters import LayerParameters, StageParameters
from simcore.workload.program.tail import Tail
from simcore.workload.program.units.orders import PipelineKey, UnitOrder, pipeline_key, unit_orders
from simcore.workload.program.units.pieces import (
    Chunk,
    UnitWriter,
    cut_units,
    forward_units,
    separate_units,
    whole_units,
)
from simcore.workload.program.units.templates import Templates, assemble
from simcore.workload.program.units.writers import unit_writer
from simcore.workload.program.work import Means
from simcore.workload.rules import check_splits
from simcore.workload.schedules import SCHEDULES, Units
from simcore.workload.spans import chunk_spans, stage_spans


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StagePieces:
    """The pieces of all stages of one shape.

    Attributes:
        pieces: With v chunks: the first unit, the forward unit of each chunk, the backward unit of
            each chunk, where the schedule cuts backward passes those without weight gradients,
            where it has these as units of their own those too, and the tail of the iteration.
        chunks: v.
        runs: (once, per_batch) of each piece: m micro-batches run it once + m x per_batch times.
        finale: Pieces of the units from the first of the chunks' last backward units on.
    """

    pieces: tuple[Piece, ...]
    chunks: int
    runs: tuple[tuple[int, int], ...]
    finale: tuple[int, ...]

    @property
    def in_order(self) -> tuple[Piece, ...]:
        """The pieces as they are listed in the table: what waits for nothing after what waits."""
        first, *others, tail = self.pieces
        return (*others, first, tail)


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
        message_bytes: Size of the messages between each stage and the next one around.
    """

    workload: Workload
    plan: ParallelPlan
    stages: tuple[StageProgram, ...]
    table: PieceTable
    groups: dict[Axis, GroupLayout]
    message_bytes: tuple[int, ...]

    @property
    def pipeline(self) -> PipelineKey:
        """Key of the order of the units."""
        return pipeline_key(self.plan, self.stages[0].units.batches)

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
        check_splits(workload, plan)
        self._workload, self._plan, self._memo = workload, plan, memo
        writer = unit_writer(workload, plan, memo)
        self._means = replace(writer.passes.means, plan=plan)
        self._groups = group_layouts(workload, plan)
        self._message_bytes = workload.message_bytes(plan, self._means.share)
        self._stages = _StageWriter(
            workload=workload,
            plan=plan,
            means=self._means,
            layers=writer.parameters,
            spans=chunk_spans(workload, plan),
            writer=writer,
        )

    def program(self, batches: int) -> TrainingProgram:
        """An iteration with *batches* micro-batches."""
        share = self._plan.dp * self._plan.micro_batch
        workload = self._workload
        if batches * share != workload.global_batch:
            workload = workload.with_batch(batches * share)
        orders = unit_orders(self._plan, batches, self._memo)
        stages = [self._stages.stage(stage, order) for stage, order in enumerate(orders)]
        shapes = dict.fromkeys([stage.pieces for stage in stages])
        pieces = dict.fromkeys([piece for shape in shapes for piece in shape.in_order])
        return TrainingProgram(
            workload=workload,
            plan=self._plan,
            stages=tuple(stages),
            table=PieceTable(tuple(pieces), self._means.catalog, self._plan),
            groups=self._groups,
            message_bytes=self._message_bytes,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _StageWriter:
    """Writes the programs of the stages, which share most of their pieces.

    Attributes:
        layers: Parameters of its kinds of layers.
        spans: Layers of each chunk of the model.
    """

    workload: Workload
    plan: ParallelPlan
    means: Means
    layers: LayerParameters
    spans: tuple[range, ...]
    writer: UnitWriter
    known: dict[tuple[object, ...], StagePieces] = field(default_factory=dict)
    parameters: dict[tuple[LayerKind, ...], BlockParameters] = field(default_factory=dict)

    def stage(self, stage: int, order: UnitOrder) -> StageProgram:
        spans, last = stage_spans(self.spans, self.plan, stage), self.plan.pp - 1
        kinds = self.workload.model.layer_kinds
        held = tuple([kinds[span.start : span.stop] for span in spans])
        # whole units lie between a chunk's last backward unit and the end
        ends = order.ends, order.late, order.all_late, order.cut
        key = (stage == 0, stage == last, held, *ends)
        if key not in self.known:
            counts = StageParameters.of(
                self.workload.model,
                self.plan,
                self.means.share,
                stage=stage,
                layers=self._held(tuple(kind for chunk in held for kind in chunk)),
            )
            turns = self.plan.mirrors and stage == last
            chunks = self._chunks(counts, spans, turns=turns)
            self.known[key] = self._pieces(counts, chunks, order)
        return StageProgram(stage=stage, spans=spans, units=order.units, pieces=self.known[key])

    def _held(self, kinds: tuple[LayerKind, ...]) -> BlockParameters:
        """Parameters of layers, which most stages have alike."""
        if kinds not in self.parameters:
            self.parameters[kinds] = self.layers.total(kinds)
        return self.parameters[kinds]

    def _chunks(
        self, counts: StageParameters, spans: Sequence[range], *, turns: bool
    ) -> tuple[Chunk, ...]:
        last, kinds = len(spans) - 1, self.workload.model.layer_kinds
        return tuple(
            Chunk(
                layers=kinds[span.start : span.stop],
                is_first=(counts.is_first and index == 0) or (turns and index == last),
                is_last=(counts.is_last and index == last) or (turns and index == 0),
                has_table=counts.has_table and index == 0,
                has_head=counts.has_head and index == last,
                turns=turns,
            )
            for index, span in enumerate(spans)
        )

    def _pieces(
        self,
        counts: StageParameters,
        chunks: Sequence[Chunk],
        order: UnitOrder,
    ) -> StagePieces:
        schedule = SCHEDULES[self.plan.schedule]
        if not schedule.trains:
            return self._forward_pieces(chunks, order)
        if schedule.mirrors:
            units = separate_units(self.writer, chunks, order.cut)
        elif schedule.splits_backward:
            units = cut_units(self.writer, chunks[0], order.late, none_in_time=order.all_late)
        else:
            units = whole_units(self.writer, chunks)
        tail = Tail(
            means=self.means,
            parameters=counts,
            layers=self.layers,
            chunks=chunks,
            backward=[units.pieces[later[0]] for later in order.ends],
            starts=[-sum(units.pieces[which].nodes for which in later) for later in order.ends],
            weights=units.weights,
            late=units.late,
        ).piece()
        return StagePieces(
            pieces=(*units.pieces, tail),
            chunks=len(chunks),
            runs=(*units.runs, (1, 0)),
            finale=max(order.ends, key=len),
        )

    def _forward_pieces(self, chunks: Sequence[Chunk], order: UnitOrder) -> StagePieces:
        units = forward_units(self.writer, chunks)
        return StagePieces(
            pieces=(*units.pieces, nothing()),
            chunks=len(chunks),
            runs=(*units.runs, (1, 0)),
            finale=max(order.ends, key=len),
        )


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
