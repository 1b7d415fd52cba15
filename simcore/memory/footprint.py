"""Bytes that one NPU of each pipeline stage needs.

Source: V. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models",
MLSys 2023, sections 4.1-4.3 and 5 (activations); S. Rajbhandari et al., "ZeRO", SC 2020, section 3
(weights, gradients and optimizer state in mixed precision).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import ceil

from simcore.terms import LayerKind
from simcore.workload.base import Workload, microbatches
from simcore.workload.npu_share import NpuShare
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.gradients import served
from simcore.workload.program.layer import blocks_of
from simcore.workload.program.stage_parameters import LayerParameters, StageParameters
from simcore.workload.rules import check_splits
from simcore.workload.schedules import SCHEDULES
from simcore.workload.spans import chunk_spans, stage_spans

_MOMENT_BYTES = 4
_MASTER_BYTES = 4
_LOGIT_BYTES = 4
_OUTER_BYTES = 8
"""fp32 weights of the last average, and the momentum of their step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFootprint:
    """Bytes on one NPU of one stage, at the moment when most micro-batches are alive.

    Attributes:
        weights_bytes: Weights in the format that the layers read.
        gradients_bytes: The fp32 sums of the gradients.
        optimizer_bytes: fp32 master weights (below fp32) and moments, two with Adam.
        activations_bytes: What the layers keep for the backward pass.
        logits_bytes: Logits and the inputs of the final norm and the head, last stage.
        cache_bytes: Keys and values of earlier tokens, in inference.
    """

    stage: int
    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int
    activations_bytes: int
    logits_bytes: int
    cache_bytes: int = 0

    def beside(self, other: "StageFootprint") -> "StageFootprint":
        """Sum with what *other* keeps on the NPU; of what both need while they work, the larger.

        Raises:
            AssertionError: The other one trains.
        """
        if other.gradients_bytes or other.optimizer_bytes:
            raise AssertionError("what lies beside a workload does not train")
        return replace(
            self,
            weights_bytes=self.weights_bytes + other.weights_bytes,
            cache_bytes=self.cache_bytes + other.cache_bytes,
            activations_bytes=max(self.activations_bytes, other.activations_bytes),
            logits_bytes=max(self.logits_bytes, other.logits_bytes),
        )

    @property
    def total_bytes(self) -> int:
        model_bytes = self.weights_bytes + self.gradients_bytes + self.optimizer_bytes
        return model_bytes + self.activations_bytes + self.logits_bytes + self.cache_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """Footprints of all stages.

    Attributes:
        host_bytes: What each NPU keeps in the memory of the host.
    """

    stages: tuple[StageFootprint, ...]
    host_bytes: int = 0

    @property
    def fullest(self) -> StageFootprint:
        return max(self.stages, key=lambda stage: stage.total_bytes)

    @property
    def total_bytes(self) -> int:
        """Bytes on the fullest NPU."""
        return self.fullest.total_bytes

    def components(self) -> dict[str, int]:
        """Bytes on the fullest NPU by what they hold; they add up to ``total_bytes``."""
        stage = self.fullest
        return {
            "weights": stage.weights_bytes,
            "gradients": stage.gradients_bytes,
            "optimizer": stage.optimizer_bytes,
            "activations": stage.activations_bytes,
            "logits": stage.logits_bytes,
            "kv cache": stage.cache_bytes,
        }


def footprint(workload: Workload, plan: ParallelPlan) -> Footprint:
    """The memory that *plan* needs; buffers of kernels and communication are left out.

    Raises:
        InfeasibleError: The plan does not fit the workload.
    """
    check_splits(workload, plan)
    schedule, batches = SCHEDULES[plan.schedule](), microbatches(workload, plan)
    kinds, spans = workload.model.layer_kinds, chunk_spans(workload, plan)
    sizes = _Sizes.of(workload, plan)
    known: dict[tuple[object, ...], _Shape] = {}
    stages = []
    for stage in range(plan.pp):
        chunks = tuple(kinds[span.start : span.stop] for span in stage_spans(spans, plan, stage))
        key = (stage == 0, stage == plan.pp - 1, chunks)
        if key not in known:
            known[key] = sizes.shape(stage, chunks, schedule.alive_losses(batches))
        shape, chunks_group = known[key], (plan.interleave, plan.chunk_group)
        held = schedule.held_units(stage, plan.pp, batches, *chunks_group)
        most = max(alive * shape.kept_bytes + late * shape.late_bytes for alive, late in held)
        stages.append(
            StageFootprint(
                stage=stage,
                weights_bytes=shape.weights_bytes,
                gradients_bytes=shape.gradients_bytes,
                optimizer_bytes=shape.optimizer_bytes,
                activations_bytes=-(-most // plan.interleave) + shape.working_bytes,
                logits_bytes=shape.logits_bytes,
                cache_bytes=shape.cache_bytes,
            )
        )
    if other := workload.beside(plan):
        others = footprint(*other).stages
        stages = [one.beside(two) for one, two in zip(stages, others, strict=True)]
    host_bytes = workload.table_memory(plan).host_bytes
    return Footprint(stages=tuple(stages), host_bytes=host_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerActivations:
    """Bytes that one layer keeps of each micro-batch for its backward pass.

    With h hidden, s x b tokens and a heads, a GPT layer in 2-byte precision keeps
    s b h (10 + 24 / t + 5 a s / (h t)), where sequence parallelism divides the 10 by t too, and
    flash attention or selective recompute drop the last term. A layer that is repeated keeps its
    input alone, 2 s b h, and needs all of it while it is computed again.

    Attributes:
        whole_bytes: If it is not repeated.
        input_bytes: If it is.
        parts_bytes: Of parts that are repeated by themselves, while they are needed.
    """

    whole_bytes: int
    input_bytes: int
    parts_bytes: int

    @property
    def all_bytes(self) -> int:
        """Bytes without repeats."""
        return self.whole_bytes + self.parts_bytes

    @classmethod
    def of(cls, kind: LayerKind, plan: ParallelPlan, share: NpuShare) -> "LayerActivations":
        blocks = blocks_of(kind, share, plan)
        whole, parts = sum(block.kept_bytes for block in blocks), 0
        if plan.recompute_parts:
            every = blocks_of(kind, share, plan.model_copy(update={"recompute_parts": ()}))
            parts = sum(block.kept_bytes for block in every) - whole
        return cls(whole_bytes=whole, input_bytes=blocks[0].input_bytes, parts_bytes=parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """Bytes on one NPU of each stage with the same layers and ends.

    Attributes:
        kept_bytes: Of the activations of one micro-batch in all chunks.
        late_bytes: Likewise with what is repeated in the backward pass.
        working_bytes: Of the layers that are computed again; without training, of the one at work.
    """

    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int
    kept_bytes: int
    late_bytes: int
    working_bytes: int
    logits_bytes: int
    cache_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    """Sizes that the footprints of all stages are made of."""

    workload: Workload
    plan: ParallelPlan
    share: NpuShare
    layers: LayerParameters
    kept: Mapping[LayerKind, LayerActivations]

    @classmethod
    def of(cls, workload: Workload, plan: ParallelPlan) -> "_Sizes":
        share = workload.share(plan)
        layers = LayerParameters.of(workload.model, plan, share)
        kept = {kind: LayerActivations.of(kind, plan, share) for kind in layers.of_kind}
        return cls(workload=workload, plan=plan, share=share, layers=layers, kept=kept)

    def shape(self, stage: int, chunks: Sequence[Sequence[LayerKind]], losses: int) -> _Shape:
        """Shape of all stages like *stage*; *losses*: micro-batches whose logits are held."""
        workload, plan, share = self.workload, self.plan, self.share
        kinds = [kind for chunk in chunks for kind in chunk]
        held = self.layers.total(kinds)
        counts = StageParameters.of(workload.model, plan, share, stage=stage, layers=held)
        in_use = _in_use(kinds, self.layers, counts, plan)
        largest = max(self.kept[kind].whole_bytes for kind in set(kinds)) * plan.recompute_every
        parts = max(self.kept[kind].parts_bytes for kind in set(kinds))
        tables = workload.table_memory(plan)
        weights_bytes = ceil(_weights_bytes(workload, plan, counts, in_use))
        return _Shape(
            weights_bytes=weights_bytes + tables.weights_bytes,
            gradients_bytes=workload.gradient_bytes * _gradients(plan, counts, in_use),
            optimizer_bytes=_optimizer_bytes(workload, plan, counts) + tables.state_bytes,
            kept_bytes=sum(self._kept_bytes(chunk) for chunk in chunks),
            late_bytes=sum(self.kept[kind].all_bytes for kind in kinds),
            working_bytes=largest if plan.recompute == "full" or not workload.trains else parts,
            logits_bytes=losses * _head_bytes(share.exit) if counts.has_head else 0,
            cache_bytes=workload.cache_bytes(plan, kinds),
        )

    def _kept_bytes(self, chunk: Sequence[LayerKind]) -> int:
        """Bytes of one micro-batch that a chunk keeps."""
        redone = self.plan.redone_layers(len(chunk))
        inputs = chunk[: redone : self.plan.recompute_every]
        whole = Counter(chunk[redone:])
        kept = sum(self.kept[kind].input_bytes for kind in inputs)
        return kept + sum(self.kept[kind].whole_bytes * n for kind, n in whole.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class _InUse:
    """Parameters that are whole for a moment where ZeRO keeps shards.

    Attributes:
        layer: Of the largest layer.
        neighbours: Of the layer at work and those gathered ahead, and of head or table.
    """

    layer: int
    neighbours: int


def _in_use(
    kinds: Sequence[LayerKind],
    layers: LayerParameters,
    counts: StageParameters,
    plan: ParallelPlan,
) -> _InUse:
    if plan.zero_stage < 2:
        return _InUse(layer=0, neighbours=0)
    of_kind = {kind: parameters.total for kind, parameters in layers.of_kind.items()}
    sizes = [of_kind[kind] for kind in kinds]
    sums = list(accumulate(sizes, initial=0))
    together = min(1 + plan.prefetch, len(sizes))
    most = max([later - before for before, later in zip(sums, sums[together:], strict=False)])
    ends = max(counts.head + counts.final_norm, counts.table)
    return _InUse(layer=max(sizes), neighbours=most + ends)


def _shard(plan: ParallelPlan, counts: StageParameters) -> int:
    """Parameters of which one NPU owns the optimizer state where it is sharded."""
    dense = -(-counts.outside // plan.shard_npus)
    return dense + (-(-counts.experts // plan.expert_replicas) if counts.experts else 0)


def _weights_bytes(
    workload: Workload, plan: ParallelPlan, counts: StageParameters, in_use: _InUse
) -> float:
    """Bytes of weights, where experts and ends may be stored in formats of their own."""
    formats = workload.weight_bytes, workload.expert_weight_bytes, workload.end_weight_bytes
    if len(set(formats)) == 1:
        return workload.weight_bytes * _weights(plan, counts, in_use)
    dense, experts, ends = formats
    outer = counts.table + counts.head
    return dense * (counts.outside - outer) + experts * counts.experts + ends * outer


def _weights(plan: ParallelPlan, counts: StageParameters, in_use: _InUse) -> int:
    """With ZeRO 3 a shard of all, and whole: two layers and the larger of head and table."""
    if plan.gathers_again:
        return min(counts.total, _shard(plan, counts) + in_use.neighbours)
    return counts.total


def _gradients(plan: ParallelPlan, counts: StageParameters, in_use: _InUse) -> int:
    """A shard of all, and whole those of the layer that is summed, where each pass scatters them.

    Where gradients travel beside the next passes, there are two sets of them.
    """
    if plan.updates.runs_beside:
        return 2 * counts.total
    if plan.scatters_passes:
        return min(counts.total, _shard(plan, counts) + in_use.layer)
    return counts.total


def _optimizer_bytes(workload: Workload, plan: ParallelPlan, counts: StageParameters) -> int:
    if not workload.trains:
        return 0
    owned = _shard(plan, counts) if plan.zero_stage >= 1 else served(counts.total, plan)
    outer = _OUTER_BYTES * counts.total if plan.updates.is_local else 0
    master = 0 if workload.weight_bytes == _MASTER_BYTES else _MASTER_BYTES
    return (_MOMENT_BYTES * workload.moments + master) * owned + outer


def _head_bytes(share: NpuShare) -> int:
    """Inputs of the final norm and of the head, and the fp32 logits, of one micro-batch."""
    return 2 * share.thin_bytes + _LOGIT_BYTES * share.rows * share.vocabulary
