"""Activations of the fullest NPU by module."""

from simcore.memory.activations import AT_WORK, LayerActivations, kept_by_module
from simcore.memory.footprint import Footprint
from simcore.units import plain_sum
from simcore.workload.base import Workload, microbatches
from simcore.workload.offload import OWN
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.layer import blocks_of
from simcore.workload.schedules import SCHEDULES
from simcore.workload.spans import chunk_spans, stage_spans

BUFFERS = "work, and buffers of what is in a tier"
"""Name of the activations in an NPU whose others are outside it."""


def activations_by_module(
    workload: Workload, plan: ParallelPlan, needed: Footprint
) -> dict[str, int]:
    """Bytes of the activations on the fullest NPU by the module that keeps them.

    Args:
        workload: What runs.
        plan: How it is spread.
        needed: Its footprint.

    Returns:
        Bytes by name; they add up to ``activations_bytes`` of the fullest stage. What layers need
        only while they are at work (or repeated) has a name of its own.
    """
    fullest, share = needed.fullest, workload.share(plan)
    if plan.offload.activations != OWN:
        return {BUFFERS: fullest.activations_bytes}
    kinds, spans = workload.model.layer_kinds, chunk_spans(workload, plan)
    chunks = [kinds[span.start : span.stop] for span in stage_spans(spans, plan, fullest.stage)]
    layers = {
        kind: LayerActivations.of(kind, blocks_of(kind, share, plan), plan, share)
        for kind in dict.fromkeys([kind for chunk in chunks for kind in chunk])
    }
    kept = kept_by_module(chunks, plan, layers)
    late = plain_sum(layers[kind].all_bytes for chunk in chunks for kind in chunk)
    schedule, batches = SCHEDULES[plan.schedule](), microbatches(workload, plan)
    held = schedule.held_units(fullest.stage, plan.pp, batches, plan.interleave, plan.chunk_group)
    whole = plain_sum(kept.values())
    alive, _ = max(held, key=lambda units: units[0] * whole + units[1] * late)
    found = {name: alive * size // plan.interleave for name, size in kept.items()}
    rest = fullest.activations_bytes - plain_sum(found.values())
    return {name: size for name, size in {**found, AT_WORK: rest}.items() if size}
