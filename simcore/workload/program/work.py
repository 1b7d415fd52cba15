"""Turns a pass through a layer into nodes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from simcore.terms import CollectiveKind, NodeKind
from simcore.workload.graph import (
    Axis,
    CollectiveOp,
    Kernel,
    Operator,
    PassPhase,
    TransferOp,
    Way,
)
from simcore.workload.groups import group_size
from simcore.workload.npu_share import NpuShare
from simcore.workload.offload import OWN
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.gradients import (
    Bucket,
    BucketTransfer,
    WeightGathering,
    gradient_reductions,
    sharing,
)
from simcore.workload.program.kernel_costs import gradient_sum
from simcore.workload.program.piece import GATE, Section, SectionBuilder

Item = Operator | CollectiveOp | TransferOp
"""Work of a node."""

_SIZED = WeightGathering, BucketTransfer

Entry = Item | WeightGathering | BucketTransfer
"""Work of a node, or something that tells it for each plan."""


def under(plan: ParallelPlan, entries: Iterable[Entry]) -> list[Item]:
    """Work of nodes under *plan*."""
    return [one.under(plan) if isinstance(one, _SIZED) else one for one in entries]


class Catalog:
    """Collects operators, collectives and transfers while pieces are written, and numbers them."""

    def __init__(self) -> None:
        self._numbers: dict[Entry, int] = {}
        self._entries: list[Entry] = []

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All of them."""
        return tuple(self._entries)

    def numbers(self, entries: Sequence[Entry]) -> list[int]:
        """Numbers of these *entries*; lists those that are new."""
        known = [self._numbers.get(entry) for entry in entries]
        pairs = zip(entries, known, strict=True)
        return [self._number(entry) if number is None else number for entry, number in pairs]

    def named(self, numbers: Iterable[int]) -> list[Entry]:
        """The entries with these *numbers*."""
        return [self._entries[number] for number in numbers]

    def operator(self, name: str, phase: PassPhase, kernels: Sequence[Kernel]) -> int:
        """Number of this operator; lists it when it is new."""
        return self._number(Operator(name=name, phase=phase, kernels=tuple(kernels)))

    def collective(self, operation: CollectiveOp | WeightGathering) -> int:
        """Number of this collective; lists it when it is new."""
        return self._number(operation)

    def transfer(self, operation: TransferOp | BucketTransfer) -> int:
        """Number of this transfer; lists it when it is new."""
        return self._number(operation)

    def _number(self, entry: Entry) -> int:
        number = self._numbers.setdefault(entry, len(self._entries))
        if number == len(self._entries):
            self._entries.append(entry)
        return number


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Means:
    """Means to write any pass."""

    plan: ParallelPlan
    share: NpuShare
    catalog: Catalog


class PassPart(Enum):
    """The part of a pass that is written: a backward pass may be cut in two."""

    WHOLE = auto()
    INPUT_GRADIENTS = auto()
    WEIGHT_GRADIENTS = auto()


class PassWriter:
    """Turns a pass into nodes: kernels pile up until a communication ends the compute node.

    Of a backward pass that is cut in two, the part with the weight gradients has no communication
    but the gathering of saved inputs.
    """

    def __init__(
        self,
        means: Means,
        *,
        in_layer: bool = False,
        part: PassPart = PassPart.WHOLE,
    ) -> None:
        self._part = part
        self._plan, self._share, self._catalog = means.plan, means.share, means.catalog
        self._builder = SectionBuilder(in_layer=in_layer)
        self._phase = PassPhase.FORWARD
        self._names: list[str] = []
        self._kernels: list[Kernel] = []
        self._weights: tuple[int, ...] = ()
        self._before: tuple[int, ...] = ()  # what the last compute node waited for
        self._beside: tuple[int, ...] = ()  # collectives that end with the next compute node

    def phase(self, phase: PassPhase) -> None:
        self._flush()
        self._phase = phase

    def compute(
        self, name: str, kernels: list[Kernel], weight_gradients: Sequence[Kernel] = ()
    ) -> None:
        """Kernels for the next compute node; those of weight gradients are named apart."""
        chosen = [
            *(kernels if self._part is not PassPart.WEIGHT_GRADIENTS else ()),
            *(self._summed(weight_gradients) if self._part is not PassPart.INPUT_GRADIENTS else ()),
        ]
        if chosen:
            self._names.append(name)
            self._kernels.extend(chosen)

    def collective(self, name: str, kind: CollectiveKind, axis: Axis, size_bytes: int) -> None:
        """A collective of all that was computed; nothing where the group is one NPU."""
        if self._part is PassPart.WEIGHT_GRADIENTS:
            return
        if group_size(axis, self._plan) > 1 and size_bytes > 0:
            self._flush()
            self._builder.then(NodeKind.COLLECTIVE, self._collective(name, kind, axis, size_bytes))

    def fork(self) -> tuple[int, ...]:
        """Dependencies of a next node: a place to ``resume`` from."""
        if self._part is not PassPart.WEIGHT_GRADIENTS:
            self._flush()
        return self._builder.frontier

    def resume(self, after: Sequence[int]) -> None:
        """Let the next node wait for *after*."""
        if self._part is not PassPart.WEIGHT_GRADIENTS:
            self._flush()
            self._builder.frontier = tuple(dict.fromkeys(after))

    @property
    def last_compute(self) -> tuple[int, ...]:
        """The last compute node; nothing where weight gradients pile up."""
        if self._part is PassPart.WEIGHT_GRADIENTS:
            return ()
        self._flush()
        return (self._builder.last_compute,)

    def gather(self, name: str, size_bytes: int | None = None) -> None:
        """All-gather over tp of what sequence parallelism has split: by default the stream."""
        size = self._share.thin_bytes if size_bytes is None else size_bytes
        if not self._plan.splits_sequence or size == 0 or self._part is PassPart.WEIGHT_GRADIENTS:
            return
        if not self._plan.overlap_tensor:
            self.collective(name, CollectiveKind.ALL_GATHER, Axis.TP, size)
            return
        self._flush()
        item = self._collective(name, CollectiveKind.ALL_GATHER, Axis.TP, size)
        self._beside += (self._builder.add(NodeKind.COLLECTIVE, item, self._builder.frontier),)

    def regather(self, name: str, size_bytes: int | None = None) -> tuple[int, ...]:
        """All-gather of a saved input for a weight gradient; nothing but that waits for it."""
        size = self._share.thin_bytes if size_bytes is None else size_bytes
        if not self._plan.splits_sequence or size == 0 or self._part is PassPart.INPUT_GRADIENTS:
            return ()
        item = self._collective(f"{name} again", CollectiveKind.ALL_GATHER, Axis.TP, size)
        if self._part is PassPart.WEIGHT_GRADIENTS:
            before = self._builder.frontier
            self._weights += (self._builder.add(NodeKind.COLLECTIVE, item, before),)
            return ()
        self._flush()
        return (self._builder.add(NodeKind.COLLECTIVE, item, self._builder.frontier),)

    def reduce(self, name: str) -> None:
        """Sum over tp: a reduce-scatter with sequence parallelism, else an all-reduce."""
        size = self._share.stream_bytes
        if not self._plan.overlap_tensor or self._plan.tp == 1:
            self.collective(name, self._summing(), Axis.TP, size)
        elif self._part is not PassPart.WEIGHT_GRADIENTS:
            self._flush()
            item = self._collective(name, self._summing(), Axis.TP, size)
            self._builder.frontier += (self._builder.add(NodeKind.COLLECTIVE, item, self._before),)

    def reduce_scalars(self, name: str) -> None:
        """All-reduce over tp of one fp32 number per token."""
        self.collective(name, CollectiveKind.ALL_REDUCE, Axis.TP, 4 * self._share.rows)

    def gather_weights(self, buckets: Sequence[Bucket]) -> None:
        """Loads and all-gathers of the weights that the next compute node needs."""
        self._flush()
        plan = self._plan
        again = self._phase is PassPhase.BACKWARD
        gathers = plan.gathers_again if again else plan.zero_stage >= 3 or plan.overlap_weights
        for bucket in [bucket for bucket in buckets if bucket.parameters > 0]:
            _, sharers = sharing(bucket.axis, plan)
            after: int | None = None
            if plan.offload.weights != OWN:
                after = self._load(bucket)
            if sharers > 1 and gathers:
                gathering = WeightGathering(
                    bucket=bucket, weight_bytes=self._share.weight_bytes, phase=self._phase
                )
                item = self._catalog.collective(gathering)
                before = GATE if after is None else after
                after = self._builder.add(NodeKind.COLLECTIVE, item, (before,))
            if after is not None:
                self._weights += (after,)

    def _load(self, bucket: Bucket) -> int:
        """The load of weights from their tier."""
        plan = self._plan
        transfer = BucketTransfer(
            what="weights",
            bucket=bucket,
            element_bytes=self._share.weight_bytes,
            tier=plan.offload.weights,
            way=Way.LOAD,
            phase=self._phase,
            sharded=plan.zero_stage >= 3,
            merged=bucket.axis is Axis.DP and plan.zero_stage < 3,
        )
        item = self._catalog.transfer(transfer)
        return self._builder.add(NodeKind.MEM_LOAD, item, (GATE,))

    def wait_for_room(self) -> None:
        """Let the next node wait until what left the NPU some layers before is out."""
        self._flush()
        self._builder.frontier += (GATE,)

    def store(self, name: str, tier: str, size_bytes: int) -> None:
        """Store what was just computed; what needs its room waits for it."""
        if size_bytes == 0:
            return
        self._flush()
        self._builder.stored = self._move(name, tier, Way.STORE, size_bytes, self._builder.frontier)

    def load(self, name: str, tier: str, size_bytes: int) -> None:
        """Load what the next compute node needs."""
        if size_bytes == 0:
            return
        self._flush()
        self._weights += (self._move(name, tier, Way.LOAD, size_bytes, (GATE,)),)

    def _move(self, name: str, tier: str, way: Way, size_bytes: int, after: Sequence[int]) -> int:
        transfer = TransferOp(
            name=name, tier=tier, way=way, size_bytes=size_bytes, phase=self._phase
        )
        kind = NodeKind.MEM_LOAD if way is Way.LOAD else NodeKind.MEM_STORE
        return self._builder.add(kind, self._catalog.transfer(transfer), after)

    def scatter_gradients(self, buckets: Sequence[Bucket]) -> None:
        """From ZeRO 2 on, sums the gradients just computed, and stores them in their tier.

        No pass waits for it.
        """
        plan = self._plan
        if not plan.scatters_passes and not plan.stores_passes:
            return
        self._flush()
        for bucket in buckets:
            after = self._builder.last_compute
            for step in gradient_reductions(bucket, plan, self._share.gradient_bytes):
                item = self._catalog.collective(step)
                after = self._builder.add(NodeKind.COLLECTIVE, item, (after,))
                self._builder.sums.append(after)
            if plan.stores_passes and bucket.parameters > 0:
                self._builder.sums.append(self._store_gradients(bucket, after))

    def _store_gradients(self, bucket: Bucket, after: int) -> int:
        """The store of summed gradients in their tier."""
        plan = self._plan
        transfer = BucketTransfer(
            what="gradients",
            bucket=bucket,
            element_bytes=self._share.gradient_bytes,
            tier=plan.offload.gradients,
            way=Way.STORE,
            phase=PassPhase.GRADIENTS,
            sharded=plan.zero_stage >= 2,
            merged=plan.offload.merges and bucket.axis is Axis.DP,
        )
        return self._builder.add(NodeKind.MEM_STORE, self._catalog.transfer(transfer), (after,))

    def input_gradient(
        self,
        name: str,
        weight_kernels: list[Kernel],
        regathered: tuple[int, ...],
        size_bytes: int | None = None,
    ) -> None:
        """Sums the input gradient over tp; the weight gradient is computed beside it or after it.

        Args:
            name: Of the product.
            weight_kernels: The weight gradient.
            regathered: What else it waits for.
            size_bytes: Of the whole input gradient; by default as the residual stream.
        """
        size = self._share.stream_bytes if size_bytes is None else size_bytes
        beside = self._plan.tp > 1 and self._plan.fused_gradients and self._part is PassPart.WHOLE
        if not beside:
            self.collective(f"{name} input gradient", self._summing(), Axis.TP, size)
            self._weights += regathered
            self.compute(f"{name} weight gradient", [], weight_kernels)
            return
        self._flush()
        before = self._builder.frontier
        item = self._collective(f"{name} input gradient", self._summing(), Axis.TP, size)
        reduced = self._builder.add(NodeKind.COLLECTIVE, item, before)
        kernels = self._summed(weight_kernels)
        item = self._catalog.operator(f"{name} weight gradient", self._phase, kernels)
        weights = self._builder.add(NodeKind.COMPUTE, item, (*before, *regathered))
        self._builder.frontier = (reduced, weights)

    def section(self) -> Section:
        self._flush()
        return self._builder.section()

    def _flush(self) -> None:
        if self._kernels:
            name = " to ".join(dict.fromkeys([self._names[0], self._names[-1]]))
            item = self._catalog.operator(name, self._phase, self._kernels)
            self._builder.frontier += self._weights
            self._before = self._builder.frontier
            self._builder.then(NodeKind.COMPUTE, item)
            self._builder.frontier += self._beside
            self._names, self._kernels, self._weights, self._beside = [], [], (), ()

    def _collective(self, name: str, kind: CollectiveKind, axis: Axis, size_bytes: int) -> int:
        operation = CollectiveOp(
            name=name, kind=kind, axis=axis, size_bytes=size_bytes, phase=self._phase
        )
        return self._catalog.collective(operation)

    def _summed(self, weight_gradients: Sequence[Kernel]) -> list[Kernel]:
        """Weight gradients, each with what adds it to its sum."""
        share = self._share
        return [k for one in weight_gradients for k in (one, *gradient_sum(one, share))]

    def _summing(self) -> CollectiveKind:
        thin = self._plan.splits_sequence
        return CollectiveKind.REDUCE_SCATTER if thin else CollectiveKind.ALL_REDUCE
