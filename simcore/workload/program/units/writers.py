"""Writers of sections and units, shared by plans for which these are the same or alike."""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import partial

from simcore.memo import Memo
from simcore.terms import LayerKind
from simcore.workload.base import Net, Workload
from simcore.workload.offload import OWN
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.layer import BlockParameters
from simcore.workload.program.npu_layers import NpuLayers, npu_layers
from simcore.workload.program.passes import LayerMeans, Passes
from simcore.workload.program.stage_parameters import StageParameters
from simcore.workload.program.units.pieces import UnitWriter, has_parts_of_its_own
from simcore.workload.program.units.sections import SectionWriter
from simcore.workload.program.work import Catalog, Means

_MOST_ENTRIES = 4096
"""A catalog of more operators and collectives, to which each layout adds its own, is let go."""


def section_writer(workload: Workload, plan: ParallelPlan, memo: Memo) -> SectionWriter:
    """The writer of the sections of *plan*.

    Raises:
        InfeasibleError: It does not fit the workload.
    """
    layers = npu_layers(workload, plan, memo)
    cached: dict[LayerKind, tuple[int, int]] = {}
    if plan.offload.cache != OWN:
        kinds = dict.fromkeys(workload.model.layer_kinds)
        cached = {kind: workload.cache_moves(plan, kind) for kind in kinds}
    key = layers, tuple(cached.values())
    make = partial(_writer, workload.model, plan, layers, cached)
    return memo.of("writers of sections", key, make)


def unit_writer(key: Hashable, plan: ParallelPlan, own: SectionWriter, memo: Memo) -> UnitWriter:
    """A writer of units that are like those of *plan*, or are its own.

    Args:
        key: All that decides which sections units have, and mostly what these are.
        plan: How the work is spread.
        own: Sections of *plan*.
        memo: What is known of other plans.
    """
    if has_parts_of_its_own(plan):
        return UnitWriter(sections=own, plan=plan)
    writer = memo.of("writers of units", key, lambda: UnitWriter(sections=own, plan=plan))
    if len(writer.passes.means.catalog) > _MOST_ENTRIES:
        writer = memo.put("writers of units", key, UnitWriter(sections=own, plan=plan))
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
