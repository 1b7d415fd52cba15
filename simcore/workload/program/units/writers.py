"""Writers of units, shared by plans whose units are the same."""

from collections.abc import Mapping
from dataclasses import replace

from simcore.memo import Memo
from simcore.terms import LayerKind
from simcore.workload.base import Net, Workload
from simcore.workload.offload import OWN
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.layer import BlockParameters
from simcore.workload.program.npu_layers import NpuLayers, npu_layers
from simcore.workload.program.passes import LayerMeans, Passes
from simcore.workload.program.stage_parameters import StageParameters
from simcore.workload.program.units.pieces import UnitWriter
from simcore.workload.program.units.sections import SectionWriter
from simcore.workload.program.work import Catalog, Means

_MOST_ENTRIES = 4096
"""A catalog of more operators and collectives, to which each plan adds its own, is let go."""


def unit_writer(workload: Workload, plan: ParallelPlan, memo: Memo) -> UnitWriter:
    """The writer of the units of *plan*.

    Raises:
        InfeasibleError: It does not fit the workload.
    """
    sections = _section_writer(workload, plan, memo)
    key = sections, plan.recompute == "full", plan.recompute_layers
    return memo.of("writers of units", key, lambda: UnitWriter(sections=sections, plan=plan))


def _section_writer(workload: Workload, plan: ParallelPlan, memo: Memo) -> SectionWriter:
    """The writer of the sections of *plan*."""
    layers = npu_layers(workload, plan, memo)
    cached: dict[LayerKind, tuple[int, int]] = {}
    if plan.offload.cache != OWN:
        kinds = dict.fromkeys(workload.model.layer_kinds)
        cached = {kind: workload.cache_moves(plan, kind) for kind in kinds}
    key = layers, tuple(cached.values())

    def new() -> SectionWriter:
        return _writer(workload.model, plan, layers, cached)

    writer = memo.of("writers of sections", key, new)
    if len(writer.passes.means.catalog) > _MOST_ENTRIES:
        writer = memo.put("writers of sections", key, new())
    return writer


def _writer(
    model: Net,
    plan: ParallelPlan,
    layers: NpuLayers,
    cached: Mapping[LayerKind, tuple[int, int]],
) -> SectionWriter:
    share = layers.share
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
    return SectionWriter(passes=passes, layers=layers)
