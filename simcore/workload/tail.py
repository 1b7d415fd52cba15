"""The end of an iteration on one stage: gradient reduction, gradient norm and optimizer step.

Source: S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
Models", SC 2020, section 5 (stages 1 to 3); V. Korthikanti et al., MLSys 2023 (norm gradients under
sequence parallelism); M. Shoeybi et al., arXiv:1909.08053 (tied token table).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.terms import CollectiveKind, NodeKind
from simcore.workload import parts
from simcore.workload.catalog import Catalog
from simcore.workload.gradients import GRADIENT_BYTES, gradient_reduction
from simcore.workload.graph import Axis, CollectiveOp, Phase
from simcore.workload.piece import Piece, PieceBuilder
from simcore.workload.plan import ParallelPlan
from simcore.workload.stage_parameters import StageParameters

_NORM_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tail:
    """Writes the tail of one stage.

    Attributes:
        backward: The backward unit of each chunk; that of chunk 0 is the last unit of the stage.
        starts: For each chunk, where its last backward unit starts, relative to the tail.
    """

    plan: ParallelPlan
    parameters: StageParameters
    element_bytes: int
    catalog: Catalog
    backward: Sequence[Piece]
    starts: Sequence[int]

    def piece(self) -> Piece:
        builder = PieceBuilder(())
        last = self.backward[0].last_compute + self.starts[0]
        buckets = self._reduce_buckets(builder)
        summed = (last, *buckets)
        if self.plan.splits_sequence:
            norms = self.parameters.norms * GRADIENT_BYTES
            operation = self._all_reduce("norm gradients", Axis.TP, norms)
            summed += (builder.add(NodeKind.COLLECTIVE, operation, summed),)
        if self.parameters.shared_table:
            table = self.parameters.shared_table * GRADIENT_BYTES
            operation = self._all_reduce("tied token table", Axis.EMBEDDING, table)
            summed += (builder.add(NodeKind.COLLECTIVE, operation, (last, *buckets)),)
        builder.frontier = summed
        self._step(builder)
        return builder.piece()

    def _reduce_buckets(self, builder: PieceBuilder) -> list[int]:
        """One collective per layer, head and table, each ready with its last gradient.

        From ZeRO 2 on they are part of the backward passes, and only looked up here.
        """
        if self.plan.gradient_replicas == 1:
            return []
        if self.plan.zero_stage >= 2:
            return self._scattered()
        positions = []
        ready = [
            position + start
            for piece, start in zip(self.backward[::-1], self.starts[::-1], strict=True)
            for position in _last_compute_by_bucket(piece).tolist()
        ]
        for (name, count), position in zip(self.parameters.buckets, ready, strict=True):
            if count > 0:
                item = self.catalog.collective(gradient_reduction(name, count, self.plan))
                positions.append(builder.add(NodeKind.COLLECTIVE, item, (position,)))
        return positions

    def _scattered(self) -> list[int]:
        """The gradient reductions of the last backward unit of each chunk."""
        reductions = [
            index
            for index, operation in enumerate(self.catalog.collectives)
            if operation.phase is Phase.GRADIENTS and operation.axis is Axis.DP
        ]
        positions: list[int] = []
        for piece, start in zip(self.backward, self.starts, strict=True):
            scatters = (piece.kind == NodeKind.COLLECTIVE) & np.isin(piece.item, reductions)
            positions += (np.flatnonzero(scatters) + start).tolist()
        return positions

    def _step(self, builder: PieceBuilder) -> None:
        """Gradient norm, Adam, and with ZeRO 1 and 2 the new weights to everyone.

        The square of the norm is summed over each axis along which gradients differ.
        """
        replicas = self.plan.gradient_replicas if self.plan.zero_stage >= 1 else 1
        owned = -(-self.parameters.total // replicas)
        norm = parts.gradient_norm(owned)
        builder.then(
            NodeKind.COMPUTE, self.catalog.operator("gradient norm", Phase.OPTIMIZER, norm)
        )
        for axis, size in ((Axis.TP, self.plan.tp), (Axis.DP, replicas), (Axis.PP, self.plan.pp)):
            if size > 1:
                operation = self._all_reduce(f"gradient norm over {axis}", axis, _NORM_BYTES)
                builder.then(NodeKind.COLLECTIVE, operation)
        adam = parts.optimizer(owned, self.element_bytes)
        builder.then(NodeKind.COMPUTE, self.catalog.operator("optimizer", Phase.OPTIMIZER, adam))
        if replicas > 1 and self.plan.zero_stage < 3:
            weights = CollectiveOp(
                name="weights",
                kind=CollectiveKind.ALL_GATHER,
                axis=Axis.DP,
                size_bytes=self.element_bytes * owned,
                phase=Phase.OPTIMIZER,
            )
            builder.then(NodeKind.COLLECTIVE, self.catalog.collective(weights))

    def _all_reduce(self, name: str, axis: Axis, size_bytes: int) -> int:
        operation = CollectiveOp(
            name=name,
            kind=CollectiveKind.ALL_REDUCE,
            axis=axis,
            size_bytes=size_bytes,
            phase=Phase.GRADIENTS,
        )
        return self.catalog.collective(operation)


def _last_compute_by_bucket(backward: Piece) -> NDArray[np.int64]:
    """Positions of the last compute node of the head, each layer and the token table."""
    computing = np.flatnonzero(backward.kind == NodeKind.COMPUTE)
    layer = backward.layer[computing]
    ends = np.append(np.flatnonzero(layer[1:] != layer[:-1]), layer.size - 1)
    return computing.take(ends)
