"""Sums over a workload and over a graph."""

import numpy as np
from numpy.typing import NDArray

from simcore.terms import NodeKind
from simcore.workload.base import Workload
from simcore.workload.graph import Axis, StageGraph, TrainingGraph


def total_model_flop(workload: Workload) -> float:
    """FLOP of one iteration that the net itself asks for: what MFU counts."""
    return workload.model_flop


def flop_by_stage(graph: TrainingGraph, kind: str | None = None) -> NDArray[np.float64]:
    """(stages,) float64: FLOP that one NPU of each stage executes, of one kernel *kind* or all."""
    flop_of = np.array(
        [
            sum(kernel.flop for kernel in operator.kernels if kind in (None, kernel.kind))
            for operator in graph.operators
        ]
    )
    return np.array([float(_counts(stage, flop_of.size) @ flop_of) for stage in graph.stages])


def total_flop(graph: TrainingGraph, kind: str | None = None) -> float:
    """FLOP that all NPUs together execute, of one kernel *kind* or all."""
    return float(flop_by_stage(graph, kind).sum()) * graph.plan.npus_per_stage


def bytes_by_axis(graph: TrainingGraph) -> dict[Axis, NDArray[np.int64]]:
    """Per group, (stages,) int64: buffer bytes that one NPU of each stage hands over.

    Collectives count ``CollectiveOp.size_bytes``, pipeline sends (axis pp) their message.
    """
    sums = {axis: np.zeros(len(graph.stages), np.int64) for axis in graph.groups}
    axes = [operation.axis for operation in graph.collectives]
    for index, stage in enumerate(graph.stages):
        for axis, sum_bytes in sums.items():
            of_axis = np.array([other is axis for other in axes] or [False])
            chosen = stage.kind == NodeKind.COLLECTIVE
            chosen[chosen] = of_axis[stage.item[chosen]]
            if axis is Axis.PP:
                chosen |= stage.kind == NodeKind.SEND
            sum_bytes[index] = stage.size_bytes[chosen].sum()
    return sums


def _counts(stage: StageGraph, operators: int) -> NDArray[np.int64]:
    """Runs of each operator on one NPU of *stage*."""
    items = stage.item[stage.kind == NodeKind.COMPUTE]
    return np.bincount(items, minlength=operators)
