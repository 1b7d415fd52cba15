"""The end of an iteration on one stage: the sums of gradients that are left, and the optimizer.

Source: S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
Models", SC 2020, section 5 (stages 1 to 3); S. Li et al., "PyTorch Distributed", VLDB 2020, section
3.2 (buckets); V. Korthikanti et al., MLSys 2023 (norm gradients under sequence parallelism); M.
Shoeybi et al., arXiv:1909.08053 (tied token table).
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, Self

from simcore.memo import Key, Memo
from simcore.terms import CollectiveKind, LayerKind, NodeKind
from simcore.workload.graph import Axis, CollectiveOp, PassPhase
from simcore.workload.plan import ParallelPlan, fields_but
from simcore.workload.program.gradients import Bucket, gradient_reductions
from simcore.workload.program.node_work import NodeWork
from simcore.workload.program.npu_layers import NpuLayers
from simcore.workload.program.piece import Section, SectionBuilder
from simcore.workload.program.stage_parameters import StageParameters
from simcore.workload.program.tail.optimizer_step import NUMBER_BYTES, OptimizerStep
from simcore.workload.program.tail.place import COMPLETED, LAST, SCATTERED
from simcore.workload.program.units.pieces import Chunk
from simcore.workload.program.work import Entry, Means


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WrittenTail:
    """The end of an iteration from the sums on, wherever that is.

    Attributes:
        section: It, before it is placed; its items are positions in *entries*.
        entries: Work of its nodes.
    """

    section: Section
    entries: tuple[Entry, ...]

    @property
    def form(self) -> Key:
        """All but what its entries amount to."""
        return Key(self.section.form, self.section.item)

    @property
    def size_bytes(self) -> int:
        """Estimate of the memory that it takes."""
        return 64 * len(self.section.dep) + 512 * len(self.entries)


class StageEnd(NamedTuple):
    """All that tails depend on of a stage and its layers, whatever these amount to."""

    stage: int
    layers: tuple[tuple[LayerKind, int], ...]
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True, eq=False)
class StageEnds:
    """Ends of the stages of a layout, one object for all layouts with the same ones."""

    ends: tuple[StageEnd, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Tails:
    """Tails of the stages of a plan that differ.

    Attributes:
        tails: None: there are no backward passes.
        work: Of their nodes.
    """

    tails: tuple[WrittenTail | None, ...]
    work: NodeWork

    @classmethod
    def of(cls, tails: tuple[WrittenTail | None, ...], memo: Memo) -> Self:
        entries = [entry for tail in tails if tail is not None for entry in tail.entries]
        forms = tuple([None if tail is None else tail.form for tail in tails])
        return cls(tails, NodeWork.of(forms, entries, memo))

    @property
    def size_bytes(self) -> int:
        """Estimate of the memory that they take."""
        return 256 + sum([tail.size_bytes for tail in self.tails if tail is not None])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tail:
    """Writes the tail of one stage, from the sums on.

    Attributes:
        means: With a catalog of its own.
        parameters: Of the stage.
        layers: Of each kind of layer.
        chunks: Of the stage's layers.
    """

    means: Means
    parameters: StageParameters
    layers: NpuLayers
    chunks: Sequence[Chunk]

    def write(self) -> WrittenTail:
        section = self._section()
        return WrittenTail(section=section, entries=self.means.catalog.entries)

    def _section(self) -> Section:
        """The sums and the step."""
        plan, gradient_bytes = self.means.plan, self.means.share.gradient_bytes
        builder = SectionBuilder()
        if plan.scatters_passes or plan.stores_passes:
            buckets = [SCATTERED]
        else:
            buckets = self._reduce_buckets(builder)
        summed = (LAST, *buckets)
        if plan.splits_sequence:
            whole = self.parameters.whole * gradient_bytes
            operation = self._all_reduce("gradients of whole weights", Axis.TP, whole)
            summed += (builder.add(NodeKind.COLLECTIVE, operation, summed),)
        if self.parameters.shared_table:
            table = self.parameters.shared_table * gradient_bytes
            operation = self._all_reduce("tied token table", Axis.EMBEDDING, table)
            summed += (builder.add(NodeKind.COLLECTIVE, operation, (LAST, *buckets)),)
        if plan.average_loss and self.parameters.is_last and plan.gradient_replicas > 1:
            operation = self._all_reduce("loss", Axis.DP, NUMBER_BYTES)
            summed += (builder.add(NodeKind.COLLECTIVE, operation, (LAST,)),)
        builder.frontier = summed
        OptimizerStep(means=self.means, parameters=self.parameters).write(builder)
        return builder.section()

    def _reduce_buckets(self, builder: SectionBuilder) -> list[int]:
        """The sum of each bucket, ready with its last gradient or with the last of all."""
        plan, element_bytes = self.means.plan, self.means.share.gradient_bytes
        known: dict[Bucket, list[int]] = {}
        positions = []
        before, items = None, list[int]()
        for bucket, ready in self._filled_buckets():
            if bucket is not before:  # those of most layers are one
                if bucket not in known:
                    steps = gradient_reductions(bucket, plan, element_bytes)
                    known[bucket] = [self.means.catalog.collective(step) for step in steps]
                before, items = bucket, known[bucket]
            after = ready if plan.overlap_gradients else LAST
            for item in items:
                after = builder.add(NodeKind.COLLECTIVE, item, (after,))
            positions += [after] if items else []
        return positions

    def _filled_buckets(self) -> Iterator[tuple[Bucket, int]]:
        """Buckets of at least the size that the plan asks for, and the node that completes each."""
        wanted_bytes = self.means.plan.bucket_bytes or 0
        sizes = [len(chunk.layers) + chunk.has_head + chunk.has_table for chunk in self.chunks]
        ends = list(accumulate(sizes))
        for chunk, size, end in zip(self.chunks[::-1], sizes[::-1], ends[::-1], strict=True):
            ready = range(COMPLETED - end + size, COMPLETED - end, -1)
            if wanted_bytes == 0:  # each is enough by itself
                for buckets, position in zip(self._buckets(chunk), ready, strict=True):
                    yield from [(bucket, position) for bucket in buckets]
                continue
            waiting: dict[Axis, Bucket] = {}
            for buckets, position in zip(self._buckets(chunk), ready, strict=True):
                for bucket in buckets:
                    filled = waiting.pop(bucket.axis, None)
                    filled = filled.joined(bucket) if filled else bucket
                    if filled.parameters * self.means.share.gradient_bytes < wanted_bytes:
                        waiting[bucket.axis] = filled
                    else:
                        yield filled, position
            yield from ((bucket, ready[-1]) for bucket in waiting.values())

    def _buckets(self, chunk: Chunk) -> Iterator[tuple[Bucket, ...]]:
        """Gradient buckets in the order of the backward pass, those that are ready together."""
        if chunk.has_head:
            yield (self.parameters.head_bucket,)
        known = {kind: self.layers.buckets(kind) for kind in dict.fromkeys(chunk.layers)}
        for kind in reversed(chunk.layers):
            yield known[kind]
        if chunk.has_table:
            yield (self.parameters.table_bucket,)

    def _all_reduce(self, name: str, axis: Axis, size_bytes: int) -> int:
        operation = CollectiveOp(
            name=name,
            kind=CollectiveKind.ALL_REDUCE,
            axis=axis,
            size_bytes=size_bytes,
            phase=PassPhase.GRADIENTS,
        )
        return self.means.catalog.collective(operation)


_of_tail = fields_but(
    {
        "tp",
        "cp",
        "pp",
        "dp",
        "ep",
        "etp",
        "micro_batch",
        "cp_kind",
        "dispatch_group",
        "interleave",
        "interleave_group",
        "chunk_layers",
        "schedule",
        "order",
        "reshard",
        "prefetch",
        "overlap_tensor",
        "recompute",
        "recompute_layers",
        "recompute_every",
        "recompute_parts",
        "flash_attention",
        "fused_loss",
        "fused_gradients",
    }
)
"""Fields of a plan that decide something in a tail, beside what ``tail_key`` names itself."""


def tail_key(layers: NpuLayers, plan: ParallelPlan) -> Hashable:
    """All that decides the tails of a plan, but for its model and stages.

    Args:
        layers: Of the plan; number formats and the table are all that tails ask of their share.
        plan: The plan.
    """
    share = layers.share
    spread = plan.tp > 1, plan.pp > 1, plan.ep > 1, plan.gradient_replicas, plan.expert_replicas
    held = tuple(layers.of_kind.values()), share.table_parameters, plan.last_stage
    stored = share.element_bytes, share.weight_bytes, share.gradient_bytes
    kept = share.moments, share.moment_bytes, share.product_format, share.kept_number_bytes
    return Key(*held, *stored, *kept, *spread, _of_tail(plan))
