"""Turns a pass through a layer into nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simcore.terms import CollectiveKind, NodeKind
from simcore.workload.catalog import Catalog
from simcore.workload.gradients import gradient_reduction
from simcore.workload.graph import Axis, CollectiveOp, Kernel, Phase
from simcore.workload.piece import Piece, PieceBuilder
from simcore.workload.plan import ParallelPlan
from simcore.workload.share import Share


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Means:
    """What every pass is written with.

    Attributes:
        parameters: Of each gradient bucket, by the names of ``StageParameters.buckets``.
    """

    plan: ParallelPlan
    share: Share
    catalog: Catalog
    parameters: Mapping[str, int]


class Work:
    """Turns a pass into nodes: kernels pile up until a communication ends the compute node."""

    def __init__(self, means: Means, entry: Sequence[int], *, layer: int = -1) -> None:
        self._plan, self._share = means.plan, means.share
        self._catalog, self._parameters = means.catalog, means.parameters
        self._builder = PieceBuilder(entry, layer=layer)
        self._phase = Phase.FORWARD
        self._names: list[str] = []
        self._kernels: list[Kernel] = []
        self._weights: tuple[int, ...] = ()

    def phase(self, phase: Phase) -> None:
        self._flush()
        self._phase = phase

    def compute(self, name: str, kernels: list[Kernel]) -> None:
        self._names.append(name)
        self._kernels.extend(kernels)

    def gather(self, name: str) -> None:
        """All-gather over tp of what sequence parallelism has split."""
        if self._plan.splits_sequence:
            self._then(name, CollectiveKind.ALL_GATHER, Axis.TP, self._share.thin_bytes)

    def regather(self, name: str) -> tuple[int, ...]:
        """All-gather of a saved input for a weight gradient; nothing but that waits for it."""
        if not self._plan.splits_sequence:
            return ()
        self._flush()
        size_bytes = self._share.thin_bytes
        item = self._collective(f"{name} again", CollectiveKind.ALL_GATHER, Axis.TP, size_bytes)
        return (self._builder.add(NodeKind.COLLECTIVE, item, self._builder.frontier),)

    def reduce(self, name: str) -> None:
        """Sum over tp: a reduce-scatter with sequence parallelism, else an all-reduce."""
        if self._plan.tp > 1:
            self._then(name, self._summing(), Axis.TP, self._share.stream_bytes)

    def reduce_scalars(self, name: str) -> None:
        """All-reduce over tp of one fp32 number per token."""
        if self._plan.tp > 1:
            self._then(name, CollectiveKind.ALL_REDUCE, Axis.TP, 4 * self._share.rows)

    def gather_keys(self, name: str) -> None:
        """All-gather of keys and values over cp."""
        if self._plan.cp > 1:
            self._then(name, CollectiveKind.ALL_GATHER, Axis.CP, self._share.kv_bytes)

    def scatter_keys(self, name: str) -> None:
        """Reduce-scatter over cp of the gradients of all keys and values."""
        if self._plan.cp > 1:
            size_bytes = self._share.kv_bytes * self._plan.cp
            self._then(name, CollectiveKind.REDUCE_SCATTER, Axis.CP, size_bytes)

    def gather_weights(self, bucket: str, gate: Sequence[int]) -> None:
        """With ZeRO 3, all-gather of the weights that the next compute node needs."""
        replicas, count = self._plan.gradient_replicas, self._parameters[bucket]
        if self._plan.zero_stage < 3 or replicas == 1 or count == 0:
            return
        self._flush()
        size_bytes = self._share.element_bytes * -(-count // replicas)
        item = self._collective(f"{bucket} weights", CollectiveKind.ALL_GATHER, Axis.DP, size_bytes)
        self._weights = (self._builder.add(NodeKind.COLLECTIVE, item, gate),)

    def scatter_gradients(self, bucket: str) -> None:
        """From ZeRO 2 on, reduce-scatter of the gradients just computed; no pass waits for it."""
        count = self._parameters[bucket]
        if self._plan.zero_stage < 2 or self._plan.gradient_replicas == 1 or count == 0:
            return
        self._flush()
        item = self._catalog.collective(gradient_reduction(bucket, count, self._plan))
        self._builder.add(NodeKind.COLLECTIVE, item, (self._builder.last_compute,))

    def input_gradient(
        self, name: str, weight_kernels: list[Kernel], regathered: tuple[int, ...]
    ) -> None:
        """Sums the input gradient over tp while the weight gradient is computed."""
        if self._plan.tp == 1:
            self.compute(f"{name} weight gradient", weight_kernels)
            return
        self._flush()
        before = self._builder.frontier
        size_bytes = self._share.stream_bytes
        item = self._collective(f"{name} input gradient", self._summing(), Axis.TP, size_bytes)
        reduced = self._builder.add(NodeKind.COLLECTIVE, item, before)
        item = self._catalog.operator(f"{name} weight gradient", self._phase, weight_kernels)
        weights = self._builder.add(NodeKind.COMPUTE, item, (*before, *regathered))
        self._builder.frontier = (reduced, weights)

    def piece(self) -> Piece:
        self._flush()
        return self._builder.piece()

    def _flush(self) -> None:
        if self._kernels:
            name = " to ".join(dict.fromkeys([self._names[0], self._names[-1]]))
            item = self._catalog.operator(name, self._phase, self._kernels)
            self._builder.frontier += self._weights
            self._builder.then(NodeKind.COMPUTE, item)
            self._names, self._kernels, self._weights = [], [], ()

    def _then(self, name: str, kind: CollectiveKind, axis: Axis, size_bytes: int) -> None:
        self._flush()
        self._builder.then(NodeKind.COLLECTIVE, self._collective(name, kind, axis, size_bytes))

    def _collective(self, name: str, kind: CollectiveKind, axis: Axis, size_bytes: int) -> int:
        operation = CollectiveOp(
            name=name, kind=kind, axis=axis, size_bytes=size_bytes, phase=self._phase
        )
        return self._catalog.collective(operation)

    def _summing(self) -> CollectiveKind:
        thin = self._plan.splits_sequence
        return CollectiveKind.REDUCE_SCATTER if thin else CollectiveKind.ALL_REDUCE
