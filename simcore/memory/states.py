"""Bytes of weights, gradients and optimizer state on one NPU of a stage.

Source: S. Rajbhandari et al., "ZeRO", SC 2020, section 3 (what is sharded); Megatron-LM,
``theoretical_memory_usage.py`` (18 bytes per parameter with Adam in 16 bits: weight 2, sum of
gradients 4, main copy 4, moments 8); Z. Liu et al., "Scalable Training of Mixture-of-Experts Models
with Megatron Core", arXiv:2603.07685 (moments below fp32).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from simcore.terms import LayerKind
from simcore.workload.base import Workload
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.gradients import served
from simcore.workload.program.stage_parameters import LayerParameters, StageParameters

_MAIN_BYTES = 4
"""Size of a main copy: the fp32 weight that is updated, where weights are stored in less."""
_OUTER_BYTES = 8
"""fp32 weights of the last average, and the momentum of their step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredParameters:
    """Parameters that are whole for a moment where ZeRO keeps shards.

    Attributes:
        layer: Of the largest layer.
        neighbours: Of the layer at work and those gathered ahead, and of head or table.
    """

    layer: int
    neighbours: int

    @classmethod
    def of(
        cls,
        kinds: Sequence[LayerKind],
        layers: LayerParameters,
        counts: StageParameters,
        plan: ParallelPlan,
    ) -> "GatheredParameters":
        if plan.zero_stage < 2:
            return _NOTHING
        of_kind = {kind: parameters.total for kind, parameters in layers.of_kind.items()}
        sizes = [of_kind[kind] for kind in kinds]
        sums = list(accumulate(sizes, initial=0))
        together = min(1 + plan.prefetch, len(sizes))
        most = max([later - before for before, later in zip(sums, sums[together:], strict=False)])
        ends = max(counts.head + counts.final_norm, counts.table)
        return cls(layer=max(sizes), neighbours=most + ends)


_NOTHING = GatheredParameters(layer=0, neighbours=0)


def weights_bytes(
    workload: Workload, plan: ParallelPlan, counts: StageParameters, whole: GatheredParameters
) -> float:
    """Bytes of weights, where experts and ends may be stored in formats of their own."""
    formats = workload.weight_bytes, workload.expert_weight_bytes, workload.end_weight_bytes
    if len(set(formats)) == 1:
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
    if plan.scatters_passes:
        return min(counts.total, _shard(plan, counts) + whole.layer)
    return counts.total


def optimizer_bytes(
    workload: Workload, plan: ParallelPlan, counts: StageParameters
) -> tuple[int, int]:
    """Bytes of the main copies, with what local training keeps beside them, and of the moments."""
    if not workload.trains:
        return 0, 0
    owned = _shard(plan, counts) if plan.zero_stage >= 1 else served(counts.total, plan)
    outer = _OUTER_BYTES * counts.total if plan.updates.is_local else 0
    main = 0 if workload.weight_bytes == _MAIN_BYTES else _MAIN_BYTES
    return main * owned + outer, workload.moment_bytes * workload.moments * owned


def _shard(plan: ParallelPlan, counts: StageParameters) -> int:
    """Parameters of which one NPU owns the optimizer state where it is sharded."""
    dense = -(-counts.outside // plan.shard_npus)
    return dense + (-(-counts.experts // plan.expert_replicas) if counts.experts else 0)


def _weights(plan: ParallelPlan, counts: StageParameters, whole: GatheredParameters) -> int:
    """With ZeRO 3 a shard of all, and whole: two layers and the larger of head and table."""
    if plan.gathers_again:
        return min(counts.total, _shard(plan, counts) + whole.neighbours)
    return counts.total
