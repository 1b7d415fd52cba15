"""Writes what the stages of one plan do."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from simcore.memo import Memo
from simcore.workload.base import Net
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.layout import ProgramLayout, StagePieces, StageShape, origins_of
from simcore.workload.program.piece import SectionRun, join, nothing, piece_of
from simcore.workload.program.piece_table import PieceTable
from simcore.workload.program.stage_parameters import StageParameters
from simcore.workload.program.tail.place import TailPlace
from simcore.workload.program.tail.tail import StageEnd, StageEnds, Tail, Tails, WrittenTail
from simcore.workload.program.units.orders import UnitOrder
from simcore.workload.program.units.pieces import (
    Chunk,
    StageUnits,
    UnitWriter,
    cut_units,
    forward_units,
    separate_units,
    whole_units,
)
from simcore.workload.program.units.sections import SectionWriter
from simcore.workload.program.work import Catalog, Means, under
from simcore.workload.schedules import SCHEDULES
from simcore.workload.spans import stage_spans


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageWriter:
    """Writes the programs of the stages, which share most of their pieces.

    Attributes:
        sections: Writes those of units.
        tail_key: Of the tails.
        memo: What is known of other plans.
    """

    model: Net
    plan: ParallelPlan
    sections: SectionWriter
    tail_key: Hashable
    memo: Memo

    def layout(
        self, spans: tuple[range, ...], orders: Sequence[UnitOrder], writer: UnitWriter
    ) -> ProgramLayout:
        """The layout of all stages.

        Args:
            spans: Layers of each chunk of the model.
            orders: Of the units of each stage.
            writer: Of the units.
        """
        numbers: dict[object, int] = {}
        ends, their_orders, of_stage = list[StageEnd](), list[UnitOrder](), list[int]()
        own = tuple([stage_spans(spans, self.plan, stage) for stage in range(self.plan.pp)])
        for stage, order in enumerate(orders):
            chunks = self._chunks(stage, own[stage])
            # whole units lie between a chunk's last backward unit and the end
            end = order.ends, order.late, order.all_late, order.cut
            key = (stage == 0, stage == self.plan.pp - 1, chunks, *end)
            if key not in numbers:
                numbers[key] = len(ends)
                layers = Counter(kind for chunk in chunks for kind in chunk.layers)
                ends.append(StageEnd(stage, tuple(layers.items()), chunks))
                their_orders.append(order)
            of_stage.append(numbers[key])
        every = tuple(ends)
        known = self.memo.of("ends of stages", (self.model, every), lambda: StageEnds(every))
        tails = self._tails(known)
        pairs = zip(known.ends, their_orders, tails.tails, strict=True)
        shapes = [self._shape(*one, writer) for one in pairs]
        pieces = dict.fromkeys([piece for shape in shapes for piece in shape.pieces.in_order])
        catalog = writer.passes.means.catalog
        table = PieceTable(tuple(pieces), catalog, self.plan)
        origins, is_shared = origins_of(shapes)
        return ProgramLayout(
            ends=known,
            shapes=tuple(shapes),
            of_stage=tuple(of_stage),
            spans=own,
            table=table,
            origins=origins,
            work=(writer.sections.node_work(origins, self.memo), tails.work),
            used=tuple(catalog.named(table.used)),
            is_shared=is_shared,
        )

    def table_in(self, layout: ProgramLayout) -> PieceTable | None:
        """The table of *layout* with what this plan's nodes do; None: its nodes are others."""
        units = self.sections.node_work(layout.origins, self.memo)
        entries = layout.entries_of(units, self._tails(layout.ends).work)
        return None if entries is None else layout.table.of_plan(under(self.plan, entries))

    def _chunks(self, stage: int, spans: Sequence[range]) -> tuple[Chunk, ...]:
        model, end, last = self.model, self.plan.last_stage, len(spans) - 1
        turns = self.plan.mirrors and stage == self.plan.pp - 1
        has_ends = model.vocabulary > 0
        return tuple(
            Chunk(
                layers=model.layer_kinds[span.start : span.stop],
                is_first=(stage == 0 and index == 0) or (turns and index == last),
                is_last=(stage == end and index == last) or (turns and index == 0),
                has_table=stage == 0 and index == 0 and has_ends,
                has_head=stage == end and index == last and has_ends,
                turns=turns,
            )
            for index, span in enumerate(spans)
        )

    def _shape(
        self, end: StageEnd, order: UnitOrder, tail: WrittenTail | None, writer: UnitWriter
    ) -> StageShape:
        units = self._units(end.chunks, order, writer)
        last = nothing()
        if tail is not None:
            items = writer.passes.means.catalog.numbers(tail.entries)
            placed = TailPlace.of(end.chunks, units, order.ends).put(tail.section, items)
            last = join([*units.late, piece_of([SectionRun(placed)])])
        pieces = StagePieces(
            pieces=(*units.pieces, last),
            chunks=len(end.chunks),
            runs=(*units.runs, (1, 0)),
            finale=max(order.ends, key=len),
        )
        return StageShape(pieces=pieces, has_tail=tail is not None)

    def _units(self, chunks: Sequence[Chunk], order: UnitOrder, writer: UnitWriter) -> StageUnits:
        schedule = SCHEDULES[self.plan.schedule]
        if not schedule.trains:
            return forward_units(writer, chunks)
        if schedule.mirrors:
            return separate_units(writer, chunks, order.cut)
        if schedule.splits_backward:
            return cut_units(writer, chunks[0], order.late, none_in_time=order.all_late)
        return whole_units(writer, chunks)

    def _tails(self, ends: StageEnds) -> Tails:
        """The tail of each of the *ends*."""
        if not SCHEDULES[self.plan.schedule].trains:
            return Tails.of((None,) * len(ends.ends), self.memo)

        def write() -> Tails:
            return Tails.of(tuple([self._tail(end) for end in ends.ends]), self.memo)

        return self.memo.of("tails", (ends, self.tail_key), write)

    def _tail(self, end: StageEnd) -> WrittenTail:
        own = self.sections.layers
        parameters = StageParameters.of(
            self.model,
            self.plan,
            own.share,
            stage=end.stage,
            layers=own.of_counts(end.layers),
        )
        means = Means(plan=self.plan, share=own.share, catalog=Catalog())
        return Tail(means=means, parameters=parameters, layers=own, chunks=end.chunks).write()
