"""What a residual block of a layer decides: its kernels, its traffic and what it keeps."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from simcore.workload.npu_share import NpuShare
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.kernel_costs import norm
from simcore.workload.program.work import Work
from simcore.workload.share import Share


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

    def times(self, layers: int) -> "BlockParameters":
        return BlockParameters(
            split=layers * self.split, whole=layers * self.whole, experts=layers * self.experts
        )

    def plus(self, other: "BlockParameters") -> "BlockParameters":
        return BlockParameters(
            split=self.split + other.split,
            whole=self.whole + other.whole,
            experts=self.experts + other.experts,
        )


class LayerWork(ABC):
    """What one NPU does for a layer or a part of it."""

    __slots__ = ()

    @property
    @abstractmethod
    def parameters(self) -> BlockParameters:
        """What one NPU holds."""

    @abstractmethod
    def forward(self, work: Work) -> None:
        """Write the forward pass."""

    @abstractmethod
    def backward(self, work: Work) -> None:
        """Write the backward pass."""

    @property
    @abstractmethod
    def kept_bytes(self) -> int:
        """What the forward pass of a micro-batch keeps for the backward pass."""

    @property
    @abstractmethod
    def input_bytes(self) -> int:
        """What it must keep to be repeated."""


class LayerRow(ABC):
    """A row of a table of layers, equal to others that mean the same work."""

    __slots__ = ()

    @abstractmethod
    def work(self, share: NpuShare, plan: ParallelPlan) -> LayerWork:
        """What one NPU does for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(LayerWork):
    """A norm, what follows it, and the sum with the residual stream, as one NPU holds them.

    The norm's parameters are the block's. The sum is counted with the norm that follows it, so
    that of the last layer is in the final norm; the backward pass of a block starts with the norm
    that follows it.
    """

    share: Share
    plan: ParallelPlan

    @property
    def input_bytes(self) -> int:
        return self.share.thin_bytes

    @property
    def keeps_scores(self) -> bool:
        """The attention scores are written to memory and kept."""
        return not self.share.flash and self.plan.recompute != "selective"

    @property
    def entry_bytes(self) -> int:
        """What every block keeps: the inputs of its norm and of the product after it, its mask."""
        share, tensors = self.share, 1 if self.repeats("norms") else 2
        return share.thin_rows * share.hidden * (tensors * share.element_bytes + share.mask_bytes)

    @property
    def inner_tensors(self) -> int:
        """Tensors of the inner width of an MLP that are kept: what it activates, and the result."""
        return self.share.mlp_inputs + (0 if self.repeats("activations") else 1)

    def repeats(self, part: str) -> bool:
        """The forward pass of *part*, one of ``recompute_parts``, is repeated."""
        return part in self.plan.recompute_parts

    def repeat_norm(self, work: Work, name: str) -> None:
        """The norm of the block once more, where its output was not kept."""
        if self.repeats("norms"):
            work.compute(name, norm(self.share, f"{name} again")[1:])
