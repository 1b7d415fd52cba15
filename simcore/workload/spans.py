"""Layers of each chunk of the model, and chunks of each stage."""

from itertools import accumulate, pairwise

from simcore.workload.base import Workload
from simcore.workload.plan import ParallelPlan


def stage_layers(layers: int, stages: int) -> tuple[range, ...]:
    """Layers of each stage; where *stages* does not divide *layers*, early ones hold one more."""
    share, more = divmod(layers, stages)
    starts = [stage * share + min(stage, more) for stage in range(stages + 1)]
    return tuple(range(starts[stage], starts[stage + 1]) for stage in range(stages))


def chunk_spans(workload: Workload, plan: ParallelPlan) -> tuple[range, ...]:
    """Layers of each chunk of the model; ``stage_spans`` are those of a stage."""
    if not plan.chunk_layers:
        return stage_layers(workload.model.layers, plan.pp * plan.interleave)
    ends = list(accumulate(plan.chunk_layers, initial=0))
    return tuple(range(start, end) for start, end in pairwise(ends))


def stage_spans(spans: tuple[range, ...], plan: ParallelPlan, stage: int) -> tuple[range, ...]:
    """Spans that *stage* holds: every pp-th one, or one from each end of the model."""
    return (spans[stage], spans[-1 - stage]) if plan.mirrors else spans[stage :: plan.pp]
