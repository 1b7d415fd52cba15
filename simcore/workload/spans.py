"""Layers of each chunk of the model, and chunks of each stage."""

from collections.abc import Sequence
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
    return layer_spans(workload.model.layers, plan.pp * plan.interleave, plan.chunk_layers)


def layer_spans(layers: int, chunks: int, given: Sequence[int]) -> tuple[range, ...]:
    """*layers* in *chunks*, as many in each as *given*; as equal as possible if that is empty."""
    if not given:
        return stage_layers(layers, chunks)
    ends = list(accumulate(given, initial=0))
    return tuple(range(start, end) for start, end in pairwise(ends))


def stage_spans(spans: tuple[range, ...], plan: ParallelPlan, stage: int) -> tuple[range, ...]:
    """Spans that *stage* holds: every pp-th one, or one from each end of the model."""
    return spans_of_stage(spans, stage, plan.pp, mirrors=plan.mirrors)


def spans_of_stage(
    spans: tuple[range, ...], stage: int, stages: int, *, mirrors: bool
) -> tuple[range, ...]:
    """``stage_spans`` by the number of *stages*; *mirrors*: one from each end of the model."""
    return (spans[stage], spans[-1 - stage]) if mirrors else spans[stage::stages]
