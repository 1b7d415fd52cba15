"""Buckets of weights: who shares them, and the collectives that add up their gradients."""

from collections.abc import Hashable
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from simcore.terms import CollectiveKind
from simcore.workload.graph import Axis, CollectiveOp, PassPhase, TransferOp, Way
from simcore.workload.plan import ParallelPlan


class Bucket(NamedTuple):
    """Weights on one NPU that are gathered, and whose gradients are summed, at once.

    Attributes:
        axis: The NPUs that hold the same weights: dp, or edp for routed experts.
        parameters: How many.
    """

    name: str
    axis: Axis
    parameters: int

    def joined(self, later: "Bucket") -> "Bucket":
        """This bucket and a *later* one of the same axis as one."""
        ends = [self.name.split(" to ")[0], later.name]
        return Bucket(
            name=" to ".join(dict.fromkeys(ends)),
            axis=self.axis,
            parameters=self.parameters + later.parameters,
        )


def replicas(axis: Axis, plan: ParallelPlan) -> int:
    """NPUs that hold the same weights of a bucket of *axis*."""
    return plan.expert_replicas if axis is Axis.EDP else plan.gradient_replicas


def sharing(axis: Axis, plan: ParallelPlan) -> tuple[Axis, int]:
    """The NPUs that share what ZeRO shards of a bucket of *axis*, and how many they are."""
    if axis is Axis.DP and plan.shard_copies > 1:
        return Axis.SHARD, plan.shard_npus
    return axis, replicas(axis, plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightGathering:
    """An all-gather of a bucket's weights, whatever the number of NPUs that share them.

    Attributes:
        weight_bytes: Of each weight.
    """

    bucket: Bucket
    weight_bytes: float
    phase: PassPhase

    def under(self, plan: ParallelPlan) -> CollectiveOp:
        """The collective that it is under *plan*."""
        axis, sharers = sharing(self.bucket.axis, plan)
        return CollectiveOp(
            name=f"{self.bucket.name} weights",
            kind=CollectiveKind.ALL_GATHER,
            axis=axis,
            size_bytes=ceil(self.weight_bytes * -(-self.bucket.parameters // sharers)),
            phase=self.phase,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketTransfer:
    """A transfer of a bucket's weights or gradients, whatever the number of NPUs that share them.

    Attributes:
        element_bytes: Of each.
        sharded: An NPU moves what it owns of them.
        merged: See ``TransferOp``.
    """

    what: str
    bucket: Bucket
    element_bytes: float
    tier: str
    way: Way
    phase: PassPhase
    sharded: bool
    merged: bool

    def under(self, plan: ParallelPlan) -> TransferOp:
        """The transfer that it is under *plan*."""
        _, sharers = sharing(self.bucket.axis, plan)
        parts = sharers if self.sharded else 1
        return TransferOp(
            name=f"{self.bucket.name} {self.what}",
            tier=self.tier,
            way=self.way,
            size_bytes=ceil(self.element_bytes * -(-self.bucket.parameters // parts)),
            phase=self.phase,
            merged=self.merged,
        )


def movers(plan: ParallelPlan) -> Hashable:
    """All that decides which collectives move weights and gradients, but for gathered sizes."""
    dense, sharers = sharing(Axis.DP, plan)
    copied = sharers if dense is Axis.SHARD else 0  # decides what is summed over the copies
    return copied, sharers > 1, plan.gradient_replicas > 1, plan.expert_replicas > 1


def gradient_reductions(
    bucket: Bucket, plan: ParallelPlan, element_bytes: float
) -> list[CollectiveOp]:
    """Collectives that add up the gradients of *bucket*, in order; none if it has one holder.

    An all-reduce over the replicas, or a push to parameter servers; where someone owns the sum
    (ZeRO 1 and up) a reduce-scatter within the shard group, and an all-reduce of the shard over the
    copies if there are any.
    """
    if bucket.parameters == 0 or replicas(bucket.axis, plan) == 1:
        return []
    updates = plan.updates
    if plan.offload.merges:
        return []
    if updates.is_local or updates.gossips or updates.runs_beside:
        return []
    if updates.serves:
        name = f"{bucket.name} gradients"
        return [served_exchange(name, bucket.parameters, plan, element_bytes)]
    size_bytes = ceil(element_bytes * bucket.parameters)
    if plan.zero_stage == 0:
        return [_reduction(bucket, CollectiveKind.ALL_REDUCE, bucket.axis, size_bytes)]
    axis, sharers = sharing(bucket.axis, plan)
    steps = []
    if sharers > 1:
        steps.append(_reduction(bucket, CollectiveKind.REDUCE_SCATTER, axis, size_bytes))
    if axis is Axis.SHARD:
        shard_bytes = ceil(element_bytes * -(-bucket.parameters // sharers))
        steps.append(_reduction(bucket, CollectiveKind.ALL_REDUCE, Axis.REPLICA, shard_bytes))
    return steps


def _reduction(bucket: Bucket, kind: CollectiveKind, axis: Axis, size_bytes: int) -> CollectiveOp:
    return CollectiveOp(
        name=f"{bucket.name} gradients",
        kind=kind,
        axis=axis,
        size_bytes=size_bytes,
        phase=PassPhase.GRADIENTS,
    )


def served(parameters: int, plan: ParallelPlan) -> int:
    """Parameters that one of the parameter servers keeps; all where there are none."""
    return -(-parameters // plan.updates.servers)


def served_exchange(
    name: str, parameters: int, plan: ParallelPlan, element_bytes: float
) -> CollectiveOp:
    """Exchange of *parameters* with servers, either way, as one collective.

    A server exchanges its part with each worker, and nothing is added up on the way. That loads its
    links as an all-to-all with a buffer of as many parts as there are workers does; the servers,
    whose links are the busiest, stand for all.
    """
    part = ceil(element_bytes * served(parameters, plan))
    return CollectiveOp(
        name=name,
        kind=CollectiveKind.ALL_TO_ALL,
        axis=Axis.DP,
        size_bytes=plan.gradient_replicas * part,
        phase=PassPhase.GRADIENTS,
    )
