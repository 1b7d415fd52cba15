"""Builds the workload graph from a workload and a plan."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from simcore.workload.assemble import assemble, last_backward_units
from simcore.workload.catalog import Catalog
from simcore.workload.graph import Axis, GroupLayout, StageGraph, TrainingGraph
from simcore.workload.passes import Passes
from simcore.workload.piece import CHAIN
from simcore.workload.plan import ParallelPlan
from simcore.workload.schedules import SCHEDULES
from simcore.workload.share import Share
from simcore.workload.stage_parameters import HEAD, TABLE, StageParameters
from simcore.workload.tail import Tail
from simcore.workload.templates import Templates
from simcore.workload.unit_pieces import Chunk, UnitWriter
from simcore.workload.work import Means
from simcore.workload.workload import (
    TrainingWorkload,
    check_splits,
    microbatches,
    stage_layers,
)


def build_graph(workload: TrainingWorkload, plan: ParallelPlan) -> TrainingGraph:
    """The graph of one training iteration.

    Raises:
        InfeasibleError: The plan does not fit the workload.
    """
    check_splits(workload, plan)
    catalog, share = Catalog(), Share.of(workload, plan)
    parameters = _bucket_parameters(workload, plan, share)
    means = Means(plan=plan, share=share, catalog=catalog, parameters=parameters)
    writer = _StageWriter(
        workload=workload,
        plan=plan,
        means=means,
        spans=stage_layers(workload.model.layers, plan.pp * plan.interleave),
        writer=UnitWriter(passes=Passes(means=means)),
    )
    stages = tuple(writer.stage(stage) for stage in range(plan.pp))
    return TrainingGraph(
        workload=workload,
        plan=plan,
        stages=stages,
        operators=catalog.operators,
        collectives=catalog.collectives,
        groups=group_layouts(workload, plan),
    )


def group_layouts(workload: TrainingWorkload, plan: ParallelPlan) -> dict[Axis, GroupLayout]:
    """The groups with at least 2 NPUs; gradients are summed over dp and cp together."""
    per_stage = plan.npus_per_stage
    layouts = [
        GroupLayout(axis=Axis.TP, stride=1, size=plan.tp),
        GroupLayout(axis=Axis.CP, stride=plan.tp, size=plan.cp),
        GroupLayout(axis=Axis.DP, stride=plan.tp, size=plan.gradient_replicas),
        GroupLayout(axis=Axis.PP, stride=per_stage, size=plan.pp),
    ]
    if workload.model.tied_embeddings and plan.pp > 1:
        ends = GroupLayout(axis=Axis.EMBEDDING, stride=per_stage * (plan.pp - 1), size=2)
        layouts.append(ends)
    return {layout.axis: layout for layout in layouts if layout.size > 1}


def _bucket_parameters(
    workload: TrainingWorkload, plan: ParallelPlan, share: Share
) -> dict[str, int]:
    buckets = {HEAD: 0, TABLE: 0}
    for stage in {0, plan.pp - 1}:
        ends = StageParameters.of(workload.model, plan, share, stage=stage, layers=1)
        buckets.update(ends.buckets)
    return buckets


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _StageWriter:
    """Writes the graphs of the stages, which share most of their pieces.

    Attributes:
        spans: Layers of each chunk of the model; stage r holds the chunks r, r + pp, ...
    """

    workload: TrainingWorkload
    plan: ParallelPlan
    means: Means
    spans: tuple[range, ...]
    writer: UnitWriter
    known: dict[tuple[object, ...], Templates] = field(default_factory=dict)

    def stage(self, stage: int) -> StageGraph:
        plan, spans = self.plan, self.spans[stage :: self.plan.pp]
        layers = sum(len(span) for span in spans)
        counts = StageParameters.of(
            self.workload.model, plan, self.means.share, stage=stage, layers=layers
        )
        batches = microbatches(self.workload, plan)
        schedule = SCHEDULES[plan.schedule]()
        units = schedule.units(stage, plan.pp, batches, plan.interleave)
        chunks = self._chunks(counts, spans)
        # whole units lie between a chunk's last backward unit and the end
        ends = tuple(last_backward_units(units, plan.interleave))
        key = (counts, chunks, ends)
        if key not in self.known:
            self.known[key] = self._templates(counts, chunks, ends)
        return assemble(self.known[key], units, stage, spans)

    def _chunks(self, counts: StageParameters, spans: Sequence[range]) -> tuple[Chunk, ...]:
        last = len(spans) - 1
        return tuple(
            Chunk(
                layers=len(span),
                is_first=counts.is_first and index == 0,
                is_last=counts.is_last and index == last,
                has_table=counts.has_table and index == 0,
                has_head=counts.has_head and index == last,
            )
            for index, span in enumerate(spans)
        )

    def _templates(
        self,
        counts: StageParameters,
        chunks: Sequence[Chunk],
        ends: Sequence[tuple[int, ...]],
    ) -> Templates:
        first = self.writer.forward(chunks[0], chain=())
        forward = [self.writer.forward(chunk, chain=(CHAIN,)) for chunk in chunks]
        backward = [
            self.writer.backward(chunk, piece) for chunk, piece in zip(chunks, forward, strict=True)
        ]
        pieces = [first, *forward, *backward]
        tail = Tail(
            plan=self.plan,
            parameters=counts,
            element_bytes=self.workload.element_bytes,
            catalog=self.means.catalog,
            backward=backward,
            starts=[-sum(pieces[which].nodes for which in later) for later in ends],
        ).piece()
        return Templates.of(
            [*pieces, tail],
            stages=self.plan.pp,
            collectives=self.means.catalog.collectives,
            p2p_bytes=self.means.share.thin_bytes,
        )
