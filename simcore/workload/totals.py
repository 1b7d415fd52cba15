"""Sums over a workload and over a graph."""

import numpy as np
from numpy.typing import NDArray

from simcore.terms import NodeKind
from simcore.units import plain_sum
from simcore.workload.base import Workload
from simcore.workload.graph import StageGraph, TrainingGraph


def total_model_flop(workload: Workload) -> float:
    """FLOP of one iteration that the net itself asks for: what MFU counts."""
    return workload.model_flop


def flop_by_stage(graph: TrainingGraph, kind: str | None = None) -> NDArray[np.float64]:
    """(stages,) float64: FLOP that one NPU of each stage executes, of one kernel *kind* or all."""
    flop_of = np.array(
        [
            plain_sum(kernel.flop for kernel in operator.kernels if kind in (None, kernel.kind))
            for operator in graph.operators
        ]
    )
    return np.array([float(_counts(stage, flop_of.size) @ flop_of) for stage in graph.stages])


def _counts(stage: StageGraph, operators: int) -> NDArray[np.int64]:
    """Runs of each operator on one NPU of *stage*."""
    items = stage.item[stage.kind == NodeKind.COMPUTE]
    return np.bincount(items, minlength=operators)
