"""How many bytes one NPU of each pipeline stage needs.

Source: V. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models",
MLSys 2023, sections 4.1-4.3 and 5 (activations); S. Rajbhandari et al., "ZeRO", SC 2020, section 3
(weights, gradients and optimizer state in mixed precision).
"""

from dataclasses import dataclass

from simcore.workload.plan import ParallelPlan
from simcore.workload.schedules import SCHEDULES
from simcore.workload.share import Share
from simcore.workload.stage_parameters import StageParameters
from simcore.workload.workload import (
    TrainingWorkload,
    check_splits,
    microbatches,
    stage_layers,
)

_GRADIENT_BYTES = 4
_MOMENTS_BYTES = 8
_MASTER_BYTES = 4
_LOGIT_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFootprint:
    """Bytes on one NPU of one stage, at the moment when most micro-batches are alive.

    Attributes:
        weights_bytes: Weights in the format that the layers read.
        gradients_bytes: The fp32 sums of the gradients.
        optimizer_bytes: fp32 master weights (below fp32) and Adam's two moments.
        activations_bytes: What the layers keep for the backward pass.
        logits_bytes: Logits and the inputs of the final norm and the head, last stage.
    """

    stage: int
    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int
    activations_bytes: int
    logits_bytes: int

    @property
    def total_bytes(self) -> int:
        model_bytes = self.weights_bytes + self.gradients_bytes + self.optimizer_bytes
        return model_bytes + self.activations_bytes + self.logits_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """Footprints of all stages."""

    stages: tuple[StageFootprint, ...]

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
        }


def footprint(workload: TrainingWorkload, plan: ParallelPlan) -> Footprint:
    """The memory that *plan* needs; buffers of kernels and communication are left out.

    Raises:
        InfeasibleError: The plan does not fit the workload.
    """
    check_splits(workload, plan)
    model, share = workload.model, Share.of(workload, plan)
    schedule = SCHEDULES[plan.schedule]()
    batches = microbatches(workload, plan)
    kept, working = layer_activation_bytes(plan, share)
    logits_bytes = schedule.alive_losses(batches) * _head_bytes(share)
    chunks = plan.interleave
    spans = stage_layers(model.layers, plan.pp * chunks)
    known: dict[tuple[bool, bool, int], StageParameters] = {}
    stages = []
    for stage in range(plan.pp):
        layers = sum(map(len, spans[stage :: plan.pp]))
        shape = (stage == 0, stage == plan.pp - 1, layers)
        if shape not in known:
            known[shape] = StageParameters.of(model, plan, share, stage=stage, layers=layers)
        counts = known[shape]
        alive = schedule.alive_units(stage, plan.pp, batches, chunks)
        stages.append(
            StageFootprint(
                stage=stage,
                weights_bytes=_weights_bytes(workload, plan, counts),
                gradients_bytes=_gradients_bytes(plan, counts),
                optimizer_bytes=_optimizer_bytes(workload, plan, counts.total),
                activations_bytes=-(-alive * layers // chunks) * kept + working,
                logits_bytes=logits_bytes if counts.has_head else 0,
            )
        )
    return Footprint(stages=tuple(stages))


def layer_activation_bytes(plan: ParallelPlan, share: Share) -> tuple[int, int]:
    """Bytes that one layer keeps of each micro-batch, and bytes needed once while it is redone.

    With h hidden, s x b tokens and a heads, a GPT layer in 2-byte precision keeps
    s b h (10 + 24 / t + 5 a s / (h t)), where sequence parallelism divides the 10 by t too, and
    flash attention or selective recompute drop the last term. Full recompute keeps the layer's
    input alone, 2 s b h, and needs all of one layer while it is computed again.
    """
    w = share.element_bytes
    # inputs of two norms and of the two products after them, and two dropout masks
    thin = share.thin_rows * share.hidden * (4 * w + 2 * share.mask_bytes)
    attention = 2 * (share.query_width + share.kv_width)
    split = w * share.rows * (attention + share.ffn * (1 + share.mlp_inputs))
    whole = thin + split
    if not share.flash and plan.recompute != "selective":
        whole += share.scores * (2 * w + 1 if share.mask_bytes else w)
    if plan.recompute == "full":
        return share.thin_bytes, whole
    return whole, 0


def _weights_bytes(workload: TrainingWorkload, plan: ParallelPlan, counts: StageParameters) -> int:
    """With ZeRO 3 a shard of all, and whole: two layers and the larger of head and table."""
    held = counts.total
    if plan.zero_stage >= 3 and plan.gradient_replicas > 1:
        ends = max(counts.head + counts.final_norm, counts.table)
        whole = min(2, counts.layers) * counts.layer + ends
        held = min(held, -(-held // plan.gradient_replicas) + whole)
    return workload.element_bytes * held


def _gradients_bytes(plan: ParallelPlan, counts: StageParameters) -> int:
    """From ZeRO 2 on a shard of all, and whole those of the layer that is summed."""
    held = counts.total
    if plan.zero_stage >= 2:
        held = min(held, -(-held // plan.gradient_replicas) + counts.layer)
    return _GRADIENT_BYTES * held


def _optimizer_bytes(workload: TrainingWorkload, plan: ParallelPlan, parameters: int) -> int:
    replicas = plan.gradient_replicas if plan.zero_stage >= 1 else 1
    master = 0 if workload.element_bytes == _MASTER_BYTES else _MASTER_BYTES
    return (_MOMENTS_BYTES + master) * -(-parameters // replicas)


def _head_bytes(share: Share) -> int:
    """Inputs of the final norm and of the head, and the fp32 logits, of one micro-batch."""
    return 2 * share.thin_bytes + _LOGIT_BYTES * share.rows * share.vocabulary
