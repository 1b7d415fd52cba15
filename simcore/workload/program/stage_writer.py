"""Writes what the stages of one plan do."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from simcore.memo import Memo
from simcore.terms import LayerKind
from simcore.workload.base import Net
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.layout import ProgramLayout, StagePieces, StageShape
from simcore.workload.program.piece import SectionRun, join, nothing, piece_of
from simcore.workload.program.stage_parameters import StageParameters
from simcore.workload.program.tail import Tail, TailPlace, WrittenTail
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
from simcore.workload.program.work import Catalog, Means
from simcore.workload.schedules import SCHEDULES
from simcore.workload.spans import stage_spans


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageWriter:
    """Writes the programs of the stages, which share most of their pieces.

    Attributes:
        writer: Of the units.
        tail_key: Of the tails.
        memo: What is known of other plans.
    """

    model: Net
    plan: ParallelPlan
    means: Means
    writer: UnitWriter
    tail_key: Hashable
    memo: Memo

    def layout(self, spans: tuple[range, ...], orders: Sequence[UnitOrder]) -> ProgramLayout:
        """The layout of all stages.

        Args:
            spans: Layers of each chunk of the model.
            orders: Of the units of each stage.
        """
        shapes: dict[object, int] = {}
        written, of_stage = list[StageShape](), list[int]()
        own = tuple([stage_spans(spans, self.plan, stage) for stage in range(self.plan.pp)])
        for stage, order in enumerate(orders):
            chunks = self._chunks(stage, own[stage])
            # whole units lie between a chunk's last backward unit and the end
            ends = order.ends, order.late, order.all_late, order.cut
            key = (stage == 0, stage == self.plan.pp - 1, chunks, *ends)
            if key not in shapes:
                shapes[key] = len(written)
                written.append(self._shape(stage, chunks, order))
            of_stage.append(shapes[key])
        return ProgramLayout.of(written, of_stage, own, writer=self.writer, plan=self.plan)

    def items_in(self, layout: ProgramLayout) -> list[int] | None:
        """Numbers of what the nodes of *layout* do in this plan; None: its nodes are others."""
        items = self.writer.like(layout.plain)
        if items is None:
            return None
        for shape in layout.shapes:
            if shape.tail is not None:
                own = self._tail(shape.stage, shape.layers, shape.chunks)
                if not own.is_like(shape.tail):
                    return None
                items += self.means.catalog.numbers(own.entries)
        return layout.items_for(items)

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

    def _shape(self, stage: int, chunks: tuple[Chunk, ...], order: UnitOrder) -> StageShape:
        units = self._units(chunks, order)
        layers = tuple(Counter(kind for chunk in chunks for kind in chunk.layers).items())
        tail, items, end = None, list[int](), nothing()
        if SCHEDULES[self.plan.schedule].trains:
            tail = self._tail(stage, layers, chunks)
            items = self.means.catalog.numbers(tail.entries)
            placed = TailPlace.of(chunks, units, order.ends).put(tail.section, items)
            end = join([*units.late, piece_of([SectionRun(placed)])])
        pieces = StagePieces(
            pieces=(*units.pieces, end),
            chunks=len(chunks),
            runs=(*units.runs, (1, 0)),
            finale=max(order.ends, key=len),
        )
        return StageShape(
            stage=stage, layers=layers, chunks=chunks, pieces=pieces, tail=tail, items=tuple(items)
        )

    def _units(self, chunks: Sequence[Chunk], order: UnitOrder) -> StageUnits:
        schedule = SCHEDULES[self.plan.schedule]
        if not schedule.trains:
            return forward_units(self.writer, chunks)
        if schedule.mirrors:
            return separate_units(self.writer, chunks, order.cut)
        if schedule.splits_backward:
            return cut_units(self.writer, chunks[0], order.late, none_in_time=order.all_late)
        return whole_units(self.writer, chunks)

    def _tail(
        self,
        stage: int,
        layers: tuple[tuple[LayerKind, int], ...],
        chunks: tuple[Chunk, ...],
    ) -> WrittenTail:
        own = self.writer.parameters
        parameters = StageParameters.of(
            self.model,
            self.plan,
            self.means.share,
            stage=stage,
            layers=own.of_counts(layers),
        )
        means = replace(self.means, catalog=Catalog())
        tail = Tail(means=means, parameters=parameters, layers=own, chunks=chunks)
        return self.memo.of("tails", (chunks, parameters, self.tail_key), tail.write)
