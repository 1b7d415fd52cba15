"""Contract of a layer: what one NPU holds of it, keeps of it, and does in its passes."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from simcore.terms import LayerKind
from simcore.workload.npu_share import NpuShare
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.work import PassWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockParameters:
    """Parameters of a block on one NPU.

    Attributes:
        split: Of matrices that are split over tp.
        whole: That every NPU of a tp group holds: norms, router. With sequence parallelism their
            gradients are summed over tp.
        experts: Of routed experts, which have replicas of their own.
    """

    split: int = 0
    whole: int = 0
    experts: int = 0

    @property
    def total(self) -> int:
        return self.split + self.whole + self.experts

    def plus(self, other: "BlockParameters") -> "BlockParameters":
        return BlockParameters(
            split=self.split + other.split,
            whole=self.whole + other.whole,
            experts=self.experts + other.experts,
        )


class LayerWork(ABC):
    """Work of one NPU for a layer or a part of it."""

    __slots__ = ()

    @property
    @abstractmethod
    def parameters(self) -> BlockParameters:
        """Parameters per NPU."""

    @abstractmethod
    def forward(self, work: PassWriter) -> None:
        """Write the forward pass."""

    @abstractmethod
    def backward(self, work: PassWriter) -> None:
        """Write the backward pass."""

    @property
    @abstractmethod
    def kept_bytes(self) -> int:
        """Bytes kept of a micro-batch's forward pass for the backward pass."""

    @property
    @abstractmethod
    def input_bytes(self) -> int:
        """Bytes kept to repeat it."""


class LayerRow(ABC):
    """A row of a table of layers, equal to others that mean the same work."""

    __slots__ = ()

    @abstractmethod
    def work(self, share: NpuShare, plan: ParallelPlan) -> LayerWork:
        """Work of one NPU for it.

        Of kinds of workloads with ``shares_layers`` plans with the same layers have it in common.
        Of what is repeated it may then ask for the plan's ``recompute_parts`` and
        ``repeats_scores`` alone; not for its batches, stages and schedule.
        """


def blocks_of(kind: LayerKind, share: NpuShare, plan: ParallelPlan) -> tuple[LayerWork, ...]:
    """Work of one NPU for a layer, part by part.

    A part is a ``LayerRow``, or a name that the *share* of its kind of workload knows.
    """
    return tuple(
        [
            part.work(share, plan) if isinstance(part, LayerRow) else share.named_work(part, plan)
            for part in kind
        ]
    )
