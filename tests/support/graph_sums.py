"""Sums over a graph, against which formulas are held."""

import numpy as np
from numpy.typing import NDArray

from simcore.terms import NodeKind
from simcore.workload import Axis, TrainingGraph, flop_by_stage


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
