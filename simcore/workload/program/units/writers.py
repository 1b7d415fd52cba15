"""Writers of units, shared by plans whose units are the same."""

from collections.abc import Mapping
from dataclasses import replace

from simcore.memo import Key, Memo, key_of, key_of_one
from simcore.terms import LayerKind
from simcore.workload.base import Net, Workload
from simcore.workload.npu_share import NpuShare
from simcore.workload.offload import OWN
from simcore.workload.plan import ParallelPlan, fields_but
from simcore.workload.program.gradients import movers
from simcore.workload.program.layer import BlockParameters
from simcore.workload.program.passes import LayerMeans, Passes
from simcore.workload.program.stage_parameters import LayerParameters, StageParameters
from simcore.workload.program.units.pieces import UnitWriter
from simcore.workload.program.units.sections import SectionWriter
from simcore.workload.program.work import Catalog, Means
from simcore.workload.rules import checked_share

_MOST_ENTRIES = 4096
"""A catalog of more operators and collectives, to which each plan adds its own, is let go."""

_of_sections = fields_but(
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


def unit_writer(workload: Workload, plan: ParallelPlan, memo: Memo) -> UnitWriter:
    """The writer of the units of *plan*.

    Raises:
        InfeasibleError: It does not fit the workload.
    """
    sections = _section_writer(workload, plan, memo)
    key = sections, plan.recompute == "full", plan.recompute_layers
    return memo.of("writers of units", key, lambda: UnitWriter(sections=sections, plan=plan))


def layer_parameters(workload: Workload, plan: ParallelPlan, memo: Memo) -> LayerParameters:
    """Parameters of each kind of layer on one NPU.

    Raises:
        InfeasibleError: The plan does not fit the workload.
    """
    share, key = checked_share(workload, plan, memo), layer_key(workload, plan, memo)
    return memo.of("layers", key, lambda: LayerParameters.of(workload.model, plan, share))


def _section_writer(workload: Workload, plan: ParallelPlan, memo: Memo) -> SectionWriter:
    """The writer of the sections of *plan*."""
    share = checked_share(workload, plan, memo)
    cached: dict[LayerKind, tuple[int, int]] = {}
    if plan.offload.cache != OWN:
        kinds = dict.fromkeys(workload.model.layer_kinds)
        cached = {kind: workload.cache_moves(plan, kind) for kind in kinds}
    key = layer_key(workload, plan, memo), tuple(cached.values())

    def new() -> SectionWriter:
        layers = layer_parameters(workload, plan, memo)
        return _writer(workload.model, plan, share, layers, cached)

    writer = memo.of("writers of sections", key, new)
    if len(writer.passes.means.catalog) > _MOST_ENTRIES:
        writer = memo.put("writers of sections", key, new())
    return writer


def layer_key(workload: Workload, plan: ParallelPlan, memo: Memo) -> Key:
    """All that decides what an NPU holds of layers, and the sections of layers, ends and messages.

    The number of replicas is of no concern where they do not meet within units, in the layers or
    beside them, and next to none where units move weights and gradients; that of the stages only
    where a tied table may have its two uses on one.
    """
    return memo.of("layer key", key_of(workload, plan), lambda: _layer_key(workload, plan, memo))


def _layer_key(workload: Workload, plan: ParallelPlan, memo: Memo) -> Key:
    share, met = checked_share(workload, plan, memo), None
    if workload.joins_replicas or plan.updates.runs_beside or plan.updates.serves:
        met = Key(plan.dp)
    elif plan.zero_stage >= 2 or plan.overlap_weights:
        met = Key(movers(plan))
    return Key(
        key_of_one(workload.model),
        share,
        met,
        plan.last_stage == 0,
        plan.repeats_scores,
        _of_sections(plan),
    )


def _writer(
    model: Net,
    plan: ParallelPlan,
    share: NpuShare,
    layers: LayerParameters,
    cached: Mapping[LayerKind, tuple[int, int]],
) -> SectionWriter:
    first, last = (
        StageParameters.of(model, plan, share, stage=stage, layers=BlockParameters())
        for stage in (0, plan.last_stage)
    )
    means = Means(plan=plan, share=share, catalog=Catalog())
    passes = Passes(
        means=means,
        layers={
            kind: LayerMeans(
                means=replace(means, share=share.of_layer(kind)),
                blocks=blocks,
                buckets=layers.buckets(kind),
                cache_bytes=cached.get(kind, (0, 0)),
            )
            for kind, blocks in layers.blocks.items()
        },
        head=last.head_bucket,
        table=first.table_bucket,
    )
    return SectionWriter(passes=passes, parameters=layers)
