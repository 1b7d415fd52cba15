"""Bytes of weights, gradients and optimizer state on one NPU of a stage.

Source: S. Rajbhandari et al., "ZeRO", SC 2020, section 3 (what is sharded); Megatron-LM,
``theoretical_memory_usage.py`` (18 bytes per parameter with Adam in 16 bits: weight 2, sum of
gradients 4, main copy 4, moments 8); Z. Liu et al., "Scalable Training of Mixture-of-Experts Models
with Megatron Core", arXiv:2603.07685 (moments below fp32).
"""

from dataclasses import dataclass
from math import ceil
from typing import Self

from simcore.memo import Key, key_of_one
from simcore.memory.stage_layers import StageLayers
from simcore.units import plain_sum
from simcore.workload.base import Workload
from simcore.workload.offload import OWN
from simcore.workload.plan import ParallelPlan, fields_but
from simcore.workload.program.gradients import served
from simcore.workload.program.npu_layers import NpuLayers
from simcore.workload.program.stage_parameters import StageParameters
from simcore.workload.program.tail.offloaded_step import MAIN_BYTES

_OUTER_BYTES = 8
"""fp32 weights of the last average, and the momentum of their step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredParameters:
    """Parameters that are whole for a moment where ZeRO keeps shards.

    Attributes:
        layer: Of the largest layer.
        neighbours: Of the layer at work and those gathered ahead, and of head or table.
        end: Of head or table, whichever is larger.
    """

    layer: int
    neighbours: int
    end: int

    @classmethod
    def of(
        cls,
        stage: StageLayers,
        layers: NpuLayers,
        counts: StageParameters,
        plan: ParallelPlan,
    ) -> "GatheredParameters":
        if plan.zero_stage < 2 and not plan.offload.places:
            return _NOTHING
        sizes = {kind: layers.of_kind[kind].total for kind, _ in stage.of_kind}
        together = [
            plain_sum([sizes[kind] * n for kind, n in counted])
            for counted in stage.neighbours(1 + plan.prefetch)
        ]
        ends = max(counts.head + counts.final_norm, counts.table)
        return cls(layer=max(sizes.values()), neighbours=max(together) + ends, end=ends)


_NOTHING = GatheredParameters(layer=0, neighbours=0, end=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TierBytes:
    """Bytes of one NPU in a tier of memory.

    Attributes:
        what: Weights, gradients, optimizer, activations or cache.
        copies: NPUs whose data there is the same, so that it lies there once.
    """

    tier: str
    what: str
    size_bytes: int
    copies: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StageStates:
    """Bytes of what parameters take on one NPU of each stage with the same layers.

    Attributes:
        weights_bytes: Weights in the format that the layers read.
        gradients_bytes: The sums of the gradients.
        main_bytes: Main copies of the weights, with what local training keeps beside them.
        moments_bytes: Of the optimizer.
        has_head: The stages run the output head.
        outside: Weights, gradients and optimizer state in tiers of memory.
    """

    weights_bytes: int
    gradients_bytes: int
    main_bytes: int
    moments_bytes: int
    has_head: bool
    outside: tuple[TierBytes, ...]

    @classmethod
    def of(
        cls,
        workload: Workload,
        plan: ParallelPlan,
        parts: NpuLayers,
        layers: StageLayers,
    ) -> Self:
        """The states of the stages with these *layers*, whose *parts* an NPU holds."""
        held, share = parts.of_counts(layers.of_kind), parts.share
        counts = StageParameters.of(workload.model, plan, share, stage=layers.stage, layers=held)
        whole = GatheredParameters.of(layers, parts, counts, plan)
        main_bytes, moments_bytes = optimizer_bytes(workload, plan, counts)
        return cls(
            weights_bytes=ceil(weights_bytes(workload, plan, counts, whole)),
            gradients_bytes=workload.gradient_bytes * gradients(plan, counts, whole),
            main_bytes=main_bytes,
            moments_bytes=moments_bytes,
            has_head=counts.has_head,
            outside=outside(workload, plan, counts),
        )


_of_states = fields_but(
    {
        "tp",
        "cp",
        "cp_kind",
        "pp",
        "dp",
        "ep",
        "etp",
        "dispatch_group",
        "micro_batch",
        "interleave",
        "interleave_group",
        "chunk_layers",
        "schedule",
        "order",
        "sequence_parallel",
        "recompute",
        "recompute_layers",
        "recompute_every",
        "recompute_parts",
        "bucket_bytes",
        "overlap_tensor",
        "overlap_gradients",
        "average_loss",
        "scale_loss",
        "logits",
        "flash_attention",
        "fused_loss",
        "fused_gradients",
    }
)
"""Fields of a plan that decide something in its states, beside what ``states_key`` names itself."""


def states_key(workload: Workload, plan: ParallelPlan, parts: NpuLayers) -> Key:
    """All that decides what parameters take on the stages of a plan, but for their layers.

    Args:
        workload: What runs.
        plan: How it is spread.
        parts: Of its layers; the token table is all that states ask of their share.
    """
    held = tuple(parts.of_kind.values()), parts.share.table_parameters
    spread = plan.last_stage, plan.gradient_replicas, plan.expert_replicas
    return Key(key_of_one(workload), *held, *spread, _of_states(plan))


def outside(
    workload: Workload, plan: ParallelPlan, counts: StageParameters
) -> tuple[TierBytes, ...]:
    """Weights, gradients and optimizer state of one NPU that lie in tiers of memory."""
    places = plan.offload.places
    if not places:
        return ()
    copies = plan.gradient_replicas if plan.offload.merges else 1
    shard = _shard(plan, counts)
    held = {
        "weights": ceil(
            _stored(workload, counts) if plan.zero_stage < 3 else workload.weight_bytes * shard
        ),
        "gradients": workload.gradient_bytes * (shard if plan.zero_stage >= 2 else counts.total),
        "optimizer": plain_sum(_state_bytes(workload, plan, counts)) if workload.trains else 0,
    }
    return tuple(
        [
            TierBytes(tier=places[what], what=what, size_bytes=size, copies=copies)
            for what, size in held.items()
            if what in places
        ]
    )


def _stored(workload: Workload, counts: StageParameters) -> float:
    """Bytes of all weights of a stage in the formats in which they are stored."""
    outer = counts.table + counts.head
    dense = workload.weight_bytes * (counts.outside - outer)
    experts = workload.expert_weight_bytes * counts.experts
    return dense + experts + workload.end_weight_bytes * outer


def weights_bytes(
    workload: Workload, plan: ParallelPlan, counts: StageParameters, whole: GatheredParameters
) -> float:
    """Bytes of weights, where experts and ends may be stored in formats of their own."""
    formats = workload.weight_bytes, workload.expert_weight_bytes, workload.end_weight_bytes
    if len(set(formats)) == 1 or plan.offload.weights != OWN:
        return workload.weight_bytes * _weights(plan, counts, whole)
    dense, experts, ends = formats
    outer = counts.table + counts.head
    return dense * (counts.outside - outer) + experts * counts.experts + ends * outer


def gradients(plan: ParallelPlan, counts: StageParameters, whole: GatheredParameters) -> int:
    """Gradients: a shard of all, and whole those of the layer that is summed, where passes scatter.

    Where gradients travel beside the next passes, there are two sets of them.
    """
    if plan.updates.runs_beside:
        return 2 * counts.total
    if plan.stores_passes:
        return min(counts.total, max(whole.layer, whole.end))
    if plan.scatters_passes:
        return min(counts.total, _shard(plan, counts) + whole.layer)
    return counts.total


def optimizer_bytes(
    workload: Workload, plan: ParallelPlan, counts: StageParameters
) -> tuple[int, int]:
    """Bytes of the main copies, with what local training keeps beside them, and of the moments."""
    if not workload.trains:
        return 0, 0
    main, moments = _state_bytes(workload, plan, counts)
    if plan.offload.optimizer == OWN:
        return main, moments
    return _streamed(plan, counts, main), _streamed(plan, counts, moments)


def _streamed(plan: ParallelPlan, counts: StageParameters, size_bytes: int) -> int:
    """State in the NPU of all that streams through it: two groups, or none."""
    if plan.offload.in_tier:
        return 0
    owned = max(_owned(plan, counts), 1)
    return min(size_bytes, size_bytes * 2 * plan.offload.group // owned)


def _owned(plan: ParallelPlan, counts: StageParameters) -> int:
    """Parameters that one NPU updates."""
    return _shard(plan, counts) if plan.zero_stage >= 1 else served(counts.total, plan)


def _state_bytes(
    workload: Workload, plan: ParallelPlan, counts: StageParameters
) -> tuple[int, int]:
    owned = _owned(plan, counts)
    outer = _OUTER_BYTES * counts.total if plan.updates.is_local else 0
    main = 0 if workload.weight_bytes == MAIN_BYTES else MAIN_BYTES
    return main * owned + outer, workload.moment_bytes * workload.moments * owned


def _shard(plan: ParallelPlan, counts: StageParameters) -> int:
    """Parameters of which one NPU owns the optimizer state where it is sharded."""
    dense = -(-counts.outside // plan.shard_npus)
    return dense + (-(-counts.experts // plan.expert_replicas) if counts.experts else 0)


def _weights(plan: ParallelPlan, counts: StageParameters, whole: GatheredParameters) -> int:
    """With ZeRO 3 a shard of all, and whole: two layers and the larger of head and table."""
    if plan.offload.weights != OWN:
        return min(counts.total, whole.neighbours)
    if plan.gathers_again:
        return min(counts.total, _shard(plan, counts) + whole.neighbours)
    return counts.total
