"""Layers as one NPU holds them, worked out once for all plans with the same ones."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Self

from simcore.memo import Key, Memo, key_of, key_of_one
from simcore.terms import LayerKind
from simcore.workload.base import Net, Workload
from simcore.workload.graph import Axis
from simcore.workload.npu_share import NpuShare
from simcore.workload.plan import ParallelPlan, fields_but
from simcore.workload.program.gradients import Bucket, movers
from simcore.workload.program.layer import BlockParameters, LayerWork, blocks_of
from simcore.workload.rules import check_splits

_of_shares = fields_but(
    {
        "pp",
        "interleave",
        "interleave_group",
        "chunk_layers",
        "schedule",
        "order",
        "zero_stage",
        "scatter_each",
        "shard",
        "reshard",
        "prefetch",
        "bucket_bytes",
        "overlap_tensor",
        "overlap_gradients",
        "overlap_weights",
        "recompute",
        "recompute_layers",
        "recompute_every",
        "recompute_parts",
        "average_loss",
        "scale_loss",
        "updates",
        "offload",
    }
)
"""Fields of a plan on which ``Workload.share`` may depend."""

_of_layers = fields_but(
    {
        "recompute",  # of which ``repeats_scores`` is named by itself
        "recompute_layers",
        "recompute_every",
        "micro_batch",  # decides the share, which is told apart as a whole
        "pp",
        "dp",
        "interleave",
        "interleave_group",
        "chunk_layers",
        "schedule",
        "order",
        "bucket_bytes",
        "overlap_gradients",
        "average_loss",
        "scale_loss",
    }
)
"""Fields of a plan that decide something within a layer or an end of the model; the others decide
how many units there are, of how many layers and in which order, which of these are repeated as a
whole, and what follows the units."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NpuLayers:
    """Layers of a model as one NPU holds them: one object for all plans with the same ones.

    Attributes:
        share: Of a micro-batch.
        of_kind: Parameters of a layer of each kind.
        blocks: Its parts.
    """

    share: NpuShare
    of_kind: Mapping[LayerKind, BlockParameters]
    blocks: Mapping[LayerKind, tuple[LayerWork, ...]]

    @classmethod
    def of(cls, model: Net, plan: ParallelPlan, share: NpuShare) -> Self:
        kinds = dict.fromkeys(model.layer_kinds)
        blocks = {kind: blocks_of(kind, share, plan) for kind in kinds}
        return cls(
            share=share,
            of_kind={kind: _added([one.parameters for one in own]) for kind, own in blocks.items()},
            blocks=blocks,
        )

    def of_counts(self, counts: Iterable[tuple[LayerKind, int]]) -> BlockParameters:
        """Parameters of so many layers of each kind together."""
        split = whole = experts = 0
        for kind, n in counts:
            own = self.of_kind[kind]
            split, whole = split + n * own.split, whole + n * own.whole
            experts += n * own.experts
        return BlockParameters(split=split, whole=whole, experts=experts)

    def buckets(self, kind: LayerKind) -> tuple[Bucket, ...]:
        """The gradient buckets of a layer."""
        layer = self.of_kind[kind]
        dense = Bucket(name="layer", axis=Axis.DP, parameters=layer.split + layer.whole)
        if not layer.experts:
            return (dense,)
        return dense, Bucket(name="experts", axis=Axis.EDP, parameters=layer.experts)


def npu_layers(workload: Workload, plan: ParallelPlan, memo: Memo) -> NpuLayers:
    """The layers of *plan*, once it is known to split *workload*.

    Raises:
        InfeasibleError: The first rule that is broken, with its name.
    """
    return memo.of("layers of plans", key_of(workload, plan), lambda: _found(workload, plan, memo))


def _found(workload: Workload, plan: ParallelPlan, memo: Memo) -> NpuLayers:
    check_splits(workload, plan)
    if not vars(type(workload)).get("shares_layers"):  # a promise that is not inherited
        return NpuLayers.of(workload.model, plan, workload.share(plan))

    def new_share() -> NpuShare:
        own = workload.share(plan)
        return memo.of("equal shares", own, lambda: own)  # one object is soon compared

    of_share = Key(key_of_one(workload), _of_shares(plan))
    share = memo.of("shares", of_share, new_share)
    key = _key(workload, plan, share)
    return memo.of("layers", key, lambda: NpuLayers.of(workload.model, plan, share))


def _key(workload: Workload, plan: ParallelPlan, share: NpuShare) -> Key:
    """All that decides what an NPU holds of layers, and the sections of layers, ends and messages.

    The number of replicas is of no concern where they do not meet within units, in the layers or
    beside them, and next to none where units move weights and gradients; that of the stages only
    where a tied table may have its two uses on one.
    """
    met = None
    if workload.joins_replicas or plan.updates.runs_beside or plan.updates.serves:
        met = Key(plan.dp)
    elif plan.zero_stage >= 2 or plan.overlap_weights:
        met = Key(movers(plan))
    choices = plan.last_stage == 0, plan.repeats_scores, _of_layers(plan)
    return Key(key_of_one(workload.model), share, met, *choices)


def _added(parameters: Iterable[BlockParameters]) -> BlockParameters:
    return reduce(BlockParameters.plus, parameters, BlockParameters())
