"""Contract of a residual block of a layer: its kernels, its traffic and what it keeps."""

from dataclasses import dataclass
from typing import ClassVar

from simcore.workload.graph import Kernel, PassPhase
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

    part: ClassVar[str] = ""
    """Its name among ``recompute_parts``, where all that follows its norm may be repeated."""

    share: Share
    plan: ParallelPlan

    @property
    def input_bytes(self) -> int:
        return self.share.thin_bytes

    @property
    def keeps_scores(self) -> bool:
        """The attention scores are written to memory and kept."""
        return not self.share.flash and not self.plan.repeats_scores

    @property
    def entry_bytes(self) -> int:
        """Bytes kept by every block: inputs of its norm and of the product after it, its mask."""
        share, elements = self.share, self.share.thin_rows * self.share.hidden
        outputs = 0 if self.repeats("norms") else elements
        return share.kept(elements + outputs, outputs) + share.mask_bytes * elements

    def inner_bytes(self, elements: int) -> int:
        """Bytes kept within an MLP: what it activates, and the result, of *elements* each."""
        results = 0 if self.repeats("activations") else elements
        return self.share.kept(self.share.mlp_inputs * elements + results, results)

    def output_bytes(self, elements: int) -> int:
        """Bytes kept of the *elements* that leave an attention core, which its product reads too.

        The core keeps them as they are; where products keep their inputs in another format, that
        is a second copy.
        """
        copied = elements if self.share.copies_inputs else 0
        return self.share.kept(elements + copied, copied)

    def repeats(self, part: str) -> bool:
        """The forward pass of *part*, one of ``recompute_parts``, is repeated by itself."""
        return part in self.plan.recompute_parts and (part == "norms" or not self.is_repeated)

    @property
    def is_repeated(self) -> bool:
        """All that follows the norm is repeated; its input alone is kept."""
        return self.part in self.plan.recompute_parts

    @property
    def repeated_bytes(self) -> int:
        """Bytes kept where all that follows the norm is repeated, which then reads 16 bits."""
        share, tensors = self.share, 1 if self.repeats("norms") else 2
        return tensors * share.thin_bytes + share.mask_bytes * share.thin_rows * share.hidden

    def after_norm(self, work: PassWriter, before: list[Kernel]) -> None:
        """Write the forward pass but for the norm, whose kernels are *before*.

        Blocks with a *part* have it.
        """
        raise AssertionError(f"{type(self).__name__} is not repeated by itself")

    def repeat_norm(self, work: PassWriter, name: str) -> None:
        """The norm of the block once more, where its output was not kept, and what follows it."""
        if self.repeats("norms"):
            work.compute(name, norm(self.share, f"{name} again")[1:])
        if self.is_repeated:
            work.phase(PassPhase.RECOMPUTE)
            self.after_norm(work, [])
            work.phase(PassPhase.BACKWARD)
