"""Sums over a workload and over a graph."""

import numpy as np
from numpy.typing import NDArray

from simcore.terms import NodeKind
from simcore.workload.graph import Axis, StageGraph, TrainingGraph
from simcore.workload.model import Model
from simcore.workload.share import visible_share
from simcore.workload.workload import TrainingWorkload


def total_model_flop(workload: TrainingWorkload) -> float:
    """FLOP of one iteration that the model itself asks for: what MFU counts.

    6 T (N + V h) for the products, N being the matrix parameters of the layers that a token
    meets, T the tokens; 12 k L T s h for the attention core of L layers (h the width of all heads;
    where keys and values differ, their mean), k being 1/2 under a causal mask and 1 without, or
    w - w^2 / 2 where a query sees w of the sequence; three forward passes of the scan of Mamba
    layers. No recompute, no padding, no element-wise work.

    Source: D. Narayanan et al., SC 2021, appendix, with the masked half of the scores left out.
    """
    model = workload.model
    matrices = model.active_matrix_parameters
    layers = model.count("latent" if model.latent else "attention")
    window = min(1.0, model.window / workload.sequence)
    seen = layers * visible_share(model)
    seen += model.count("windowed") * visible_share(model, window=window)
    width = model.heads * (model.head_width + model.value_head_width)
    per_token = 6 * seen * workload.sequence * width
    per_token += 3 * _scan_flop(model)
    return workload.tokens * (6.0 * (matrices + model.embedding_parameters) + per_token)


def _scan_flop(model: Model) -> float:
    """FLOP of the scan of all Mamba layers per token, forward."""
    if model.mamba is None:
        return 0.0
    inner = model.mamba.heads * model.mamba.head_width
    mixed = model.mamba.groups * model.mamba.state
    within = 2.0 * model.mamba.chunk * (mixed + inner)
    return model.count("mamba") * (within + 4.0 * model.mamba.state * inner)


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
    """How often one NPU of *stage* runs each operator."""
    items = stage.item[stage.kind == NodeKind.COMPUTE]
    return np.bincount(items, minlength=operators)
