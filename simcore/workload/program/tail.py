"""The end of an iteration on one stage: the sums of gradients that are left, and the optimizer.

Source: S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
Models", SC 2020, section 5 (stages 1 to 3); S. Li et al., "PyTorch Distributed", VLDB 2020, section
3.2 (buckets); V. Korthikanti et al., MLSys 2023 (norm gradients under sequence parallelism); M.
Shoeybi et al., arXiv:1909.08053 (tied token table).
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import ceil
from typing import NamedTuple, Self

from simcore.terms import CollectiveKind, LayerKind, NodeKind
from simcore.workload.graph import Axis, CollectiveOp, PassPhase
from simcore.workload.npu_share import NpuShare
from simcore.workload.plan import ParallelPlan
from simcore.workload.program import ends
from simcore.workload.program.gradients import Bucket, gradient_reductions, sharing
from simcore.workload.program.kernel_costs import elementwise
from simcore.workload.program.offloaded_step import OffloadedStep
from simcore.workload.program.piece import CHAIN, GATE, Piece, Section, SectionBuilder
from simcore.workload.program.servers import Server
from simcore.workload.program.stage_parameters import LayerParameters, StageParameters
from simcore.workload.program.units.pieces import Chunk, StageUnits
from simcore.workload.program.work import Entry, Means

_LAST, _SCATTERED, _COMPLETED = GATE - 1, GATE - 2, GATE - 3
"""Dependencies of a tail before it is known what comes before it: see ``TailPlace``; that on the
first node that completes something is ``_COMPLETED``, on the next one ``_COMPLETED`` - 1."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TailPlace:
    """Nodes that the tail of stages of a shape waits for, relative to where the sums begin.

    Attributes:
        chunks: Of the stage's layers.
        completed: Those that complete head, layers and token table, chunk after chunk.
        last: The last of those of chunk 0.
        scattered: Sums of gradients in the last backward unit of each chunk (ZeRO 2 and up).
    """

    chunks: tuple[Chunk, ...]
    completed: tuple[int, ...]
    last: int
    scattered: tuple[int, ...]

    @classmethod
    def of(cls, chunks: Sequence[Chunk], units: StageUnits, ends: Sequence[Sequence[int]]) -> Self:
        """The place after *units*.

        Args:
            chunks: Of the stage's layers.
            units: Of the stage; the backward unit of chunk 0 is its last one.
            ends: For each chunk, the pieces from its last unit on.
        """
        backward = [units.pieces[later[0]] for later in ends]
        starts = [-sum([units.pieces[which].nodes for which in later]) for later in ends]
        late = sum([piece.nodes for piece in units.late])
        completed = [
            _completed(chunk, piece, start - late, units)
            for chunk, piece, start in zip(chunks, backward, starts, strict=True)
        ]
        scattered = [
            position
            for piece, start in zip(backward, starts, strict=True)
            for position in _scattered(piece, start)
        ]
        return cls(
            chunks=tuple(chunks),
            completed=tuple([node for nodes in completed for node in nodes]),
            last=max(completed[0]),
            scattered=tuple(scattered),
        )

    def put(self, tail: Section, items: Sequence[int]) -> Section:
        """The section *tail* here, with these *items* in place of its own."""
        means = {_LAST: (self.last,), _SCATTERED: self.scattered}
        means |= {_COMPLETED - at: (node,) for at, node in enumerate(self.completed)}
        dep_count, dep, at = list[int](), list[int](), 0
        for count in tail.dep_count:
            own = [node for mark in tail.dep[at : at + count] for node in means.get(mark, (mark,))]
            dep += own
            dep_count.append(len(own))
            at += count
        return replace(
            tail,
            item=tuple([items[item] for item in tail.item]),
            dep_count=tuple(dep_count),
            dep=tuple(dep),
            exits=tuple([node for mark in tail.exits for node in means.get(mark, (mark,))]),
        )


def _completed(chunk: Chunk, backward: Piece, start: int, units: StageUnits) -> list[int]:
    """The nodes that complete head, layers and token table of a chunk.

    Where the schedule cuts backward passes, weight gradients complete the sums of the layers: the
    end of the last backward unit, or the last of those in the tail.
    """
    positions = _last_computes(backward, start)
    if units.weights is None:
        missing = len(chunk.layers) + chunk.has_head + chunk.has_table - len(positions)
        return positions[:1] * missing + positions  # the head's are there before the layers'
    end = 0 if units.late else start + backward.nodes
    own = _last_computes(units.weights, end - units.weights.nodes)
    return positions[:1] + own if chunk.has_head else own


def _last_computes(backward: Piece, start: int) -> list[int]:
    """Positions of the last compute node of each section, where the piece begins at *start*."""
    positions: list[int] = []
    for section, layers in backward.runs:
        end = start + section.nodes * len(layers)
        if section.last_compute != CHAIN:
            positions += range(start + section.last_compute, end, section.nodes)
        start = end
    return positions


def _scattered(backward: Piece, start: int) -> Iterator[int]:
    """Positions of the sums of gradients."""
    for section, layers in backward.runs:
        end = start + section.nodes * len(layers)
        if section.sums:
            begins = range(start, end, section.nodes)
            yield from [begin + at for begin in begins for at in section.sums]
        start = end


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WrittenTail:
    """The end of an iteration from the sums on, wherever that is.

    Attributes:
        section: It, before it is placed; its items are positions in *entries*.
        entries: Work of its nodes.
    """

    section: Section
    entries: tuple[Entry, ...]

    def is_like(self, other: "WrittenTail") -> bool:
        """True if *other* differs in what its entries amount to alone."""
        one, two = self.section, other.section
        return self is other or (one.is_like(two) and one.item == two.item)

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
    """Tails of the stages of a plan that differ; None: there are no backward passes."""

    tails: tuple[WrittenTail | None, ...]

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
    layers: LayerParameters
    chunks: Sequence[Chunk]

    def write(self) -> WrittenTail:
        section = self._section()
        return WrittenTail(section=section, entries=self.means.catalog.entries)

    def _section(self) -> Section:
        """The sums and the step."""
        plan, gradient_bytes = self.means.plan, self.means.share.gradient_bytes
        builder = SectionBuilder()
        if plan.scatters_passes or plan.stores_passes:
            buckets = [_SCATTERED]
        else:
            buckets = self._reduce_buckets(builder)
        summed = (_LAST, *buckets)
        if plan.splits_sequence:
            whole = self.parameters.whole * gradient_bytes
            operation = self._all_reduce("gradients of whole weights", Axis.TP, whole)
            summed += (builder.add(NodeKind.COLLECTIVE, operation, summed),)
        if self.parameters.shared_table:
            table = self.parameters.shared_table * gradient_bytes
            operation = self._all_reduce("tied token table", Axis.EMBEDDING, table)
            summed += (builder.add(NodeKind.COLLECTIVE, operation, (_LAST, *buckets)),)
        if plan.average_loss and self.parameters.is_last and plan.gradient_replicas > 1:
            operation = self._all_reduce("loss", Axis.DP, NUMBER_BYTES)
            summed += (builder.add(NodeKind.COLLECTIVE, operation, (_LAST,)),)
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
            after = ready if plan.overlap_gradients else _LAST
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
            ready = range(_COMPLETED - end + size, _COMPLETED - end, -1)
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


NUMBER_BYTES = 4
"""Bytes of a number that all agree on: the gradient norm, a loss, a flag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owned:
    """Weights of one kind that an NPU updates, and the NPUs that share the work."""

    axis: Axis
    sharers: int
    parameters: int


_OUTSIDE_TAIL = frozenset(
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
"""Fields of a plan that decide nothing in a tail but what ``tail_key`` tells apart by itself."""


def tail_key(layers: LayerParameters, plan: ParallelPlan, share: NpuShare) -> Hashable:
    """All that decides the tails of a plan, but for its model and stages.

    Args:
        layers: Of each kind of layer.
        plan: The plan.
        share: Number formats and the table are all that tails ask of it.
    """
    chosen = [value for name, value in plan.__dict__.items() if name not in _OUTSIDE_TAIL]
    spread = plan.tp > 1, plan.pp > 1, plan.ep > 1, plan.gradient_replicas, plan.expert_replicas
    held = tuple(layers.of_kind.values()), share.table_parameters, plan.last_stage
    return *held, share.formats, *spread, *chosen


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OptimizerStep:
    """Writes the step after all gradients are summed."""

    means: Means
    parameters: StageParameters

    def write(self, builder: SectionBuilder) -> None:
        """Append the step to what *builder* waits for."""
        owned = list(self._owned())
        total = sum(part.parameters for part in owned)
        catalog, share = self.means.catalog, self.means.share
        axes = list(self._norm_axes(owned[0]))
        if self.means.plan.scale_loss:
            unscaling = ends.unscaling(total, share)
            item = catalog.operator("gradient unscaling", PassPhase.OPTIMIZER, unscaling)
            builder.then(NodeKind.COMPUTE, item)
            self._agree(builder, "overflow flag", axes)
        norm = ends.gradient_norm(total, share)
        builder.then(NodeKind.COMPUTE, catalog.operator("gradient norm", PassPhase.OPTIMIZER, norm))
        self._agree(builder, "gradient norm", axes)
        if self.means.plan.updates.serves:
            self._serve(builder)
            return
        step = catalog.operator("optimizer", PassPhase.OPTIMIZER, ends.optimizer(total, share))
        OffloadedStep(share=share, plan=self.means.plan, catalog=catalog).write(
            builder, step, total
        )
        if self.means.plan.zero_stage < 3 and not self.means.plan.overlap_weights:
            for part in owned:
                if part.sharers > 1 and part.parameters:
                    builder.then(NodeKind.COLLECTIVE, self._gathering(part))
        if self.means.plan.updates.is_local:
            self._average(builder)
        if self.means.plan.updates.gossips:
            self._meet(builder)

    def _agree(self, builder: SectionBuilder, what: str, axes: Sequence[Axis]) -> None:
        """One number of *what*, which all NPUs come to have."""
        for axis in axes:
            number = CollectiveOp(
                name=f"{what} over {axis}",
                kind=CollectiveKind.ALL_REDUCE,
                axis=axis,
                size_bytes=NUMBER_BYTES,
                phase=PassPhase.GRADIENTS,
            )
            builder.then(NodeKind.COLLECTIVE, self.means.catalog.collective(number))

    def _serve(self, builder: SectionBuilder) -> None:
        """New weights from the servers, unless they travel beside the next passes."""
        plan = self.means.plan
        server = Server(means=self.means, parameters=self.parameters.total)
        if plan.updates.runs_beside and plan.gradient_replicas > 1:
            return
        builder.then(NodeKind.COMPUTE, server.update())
        if plan.gradient_replicas > 1:
            builder.then(NodeKind.COLLECTIVE, server.pull())

    def _average(self, builder: SectionBuilder) -> None:
        """The sum of what every replica changed, and the step that it is the gradient of."""
        plan, share, total = self.means.plan, self.means.share, self.parameters.total
        if plan.updates.every == 0 or plan.gradient_replicas == 1:
            return
        change = CollectiveOp(
            name="changes of weights",
            kind=CollectiveKind.ALL_REDUCE,
            axis=Axis.DP,
            size_bytes=share.gradient_bytes * total,
            phase=PassPhase.OPTIMIZER,
        )
        builder.then(NodeKind.COLLECTIVE, self.means.catalog.collective(change))
        step = ends.optimizer(total, replace(share, moments=1, moment_bytes=4))  # Nesterov momentum
        item = self.means.catalog.operator("outer optimizer", PassPhase.OPTIMIZER, step)
        builder.then(NodeKind.COMPUTE, item)

    def _meet(self, builder: SectionBuilder) -> None:
        """The weights of the partner, and the mean of both."""
        share, total, catalog = self.means.share, self.parameters.total, self.means.catalog
        if self.means.plan.gradient_replicas == 1:
            return
        partner = CollectiveOp(
            name="weights of the partner",
            kind=CollectiveKind.ALL_GATHER,
            axis=Axis.PARTNER,
            size_bytes=share.gradient_bytes * total,
            phase=PassPhase.OPTIMIZER,
        )
        builder.then(NodeKind.COLLECTIVE, catalog.collective(partner))
        mean = elementwise("mean of weights", 2 * total, 3 * share.gradient_bytes * total)
        builder.then(NodeKind.COMPUTE, catalog.operator("partners", PassPhase.OPTIMIZER, [mean]))

    def _owned(self) -> Iterator[_Owned]:
        """Dense weights, and expert weights, that the NPU updates."""
        plan = self.means.plan
        counts = {Axis.DP: self.parameters.outside, Axis.EDP: self.parameters.experts}
        for axis, count in counts.items():
            shared, sharers = sharing(axis, plan) if plan.zero_stage else (axis, 1)
            yield _Owned(axis=shared, sharers=sharers, parameters=-(-count // sharers))

    def _norm_axes(self, dense: _Owned) -> Iterator[Axis]:
        """Axes along which gradients differ; dense weights that are shared over dp comprise ep."""
        plan = self.means.plan
        if plan.tp > 1:
            yield Axis.TP
        if dense.sharers > 1:
            yield dense.axis
        elif self.parameters.experts and plan.ep > 1:
            yield Axis.EP
        if plan.pp > 1:
            yield Axis.PP

    def _gathering(self, part: _Owned) -> int:
        operation = CollectiveOp(
            name="expert weights" if part.axis is Axis.EDP else "weights",
            kind=CollectiveKind.ALL_GATHER,
            axis=part.axis,
            size_bytes=ceil(self.means.share.weight_bytes * part.parameters),
            phase=PassPhase.OPTIMIZER,
        )
        return self.means.catalog.collective(operation)
