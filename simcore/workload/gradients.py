"""The collective that adds up one bucket of gradients."""

from simcore.terms import CollectiveKind
from simcore.workload.graph import Axis, CollectiveOp, Phase
from simcore.workload.plan import ParallelPlan

GRADIENT_BYTES = 4
"""Gradients are summed in fp32."""


def gradient_reduction(bucket: str, parameters: int, plan: ParallelPlan) -> CollectiveOp:
    """All-reduce over dp and cp; a reduce-scatter where someone owns the sum (ZeRO 1 and up)."""
    kind = CollectiveKind.REDUCE_SCATTER if plan.zero_stage else CollectiveKind.ALL_REDUCE
    return CollectiveOp(
        name=f"{bucket} gradients",
        kind=kind,
        axis=Axis.DP,
        size_bytes=GRADIENT_BYTES * parameters,
        phase=Phase.GRADIENTS,
    )
