"""Contract of a residual block of a layer: its kernels, its traffic and what it keeps."""

from dataclasses import dataclass

from simcore.workload.kinds.transformer.share import Share
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.kernel_costs import norm
from simcore.workload.program.layer import LayerWork
from simcore.workload.program.work import PassWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualBlock(LayerWork):
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
        """Bytes kept by every block: inputs of its norm and of the product after it, its mask."""
        share, tensors = self.share, 1 if self.repeats("norms") else 2
        return share.thin_rows * share.hidden * (tensors * share.element_bytes + share.mask_bytes)

    @property
    def inner_tensors(self) -> int:
        """Tensors of the inner width of an MLP that are kept: what it activates, and the result."""
        return self.share.mlp_inputs + (0 if self.repeats("activations") else 1)

    def repeats(self, part: str) -> bool:
        """The forward pass of *part*, one of ``recompute_parts``, is repeated."""
        return part in self.plan.recompute_parts

    def repeat_norm(self, work: PassWriter, name: str) -> None:
        """The norm of the block once more, where its output was not kept."""
        if self.repeats("norms"):
            work.compute(name, norm(self.share, f"{name} again")[1:])
