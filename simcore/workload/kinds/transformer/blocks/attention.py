"""Multi-head attention, with as many key-value heads as queries or fewer."""

from simcore.workload.graph import Kernel
from simcore.workload.kinds.transformer.blocks.base import ResidualBlock
from simcore.workload.kinds.transformer.blocks.context import context_parallel
from simcore.workload.kinds.transformer.blocks.core import scores_bytes
from simcore.workload.program.kernel_costs import (
    elementwise,
    gemm,
    input_gradient,
    norm,
    norm_gradient,
    weight_gradient,
)
from simcore.workload.program.layer import BlockParameters
from simcore.workload.program.work import PassWriter

_GATE_FLOP = 5


class Attention(ResidualBlock):
    """Norm, queries, keys and values, core, and the projection back; heads are split over tp.

    Source: M. Shoeybi et al., "Megatron-LM", arXiv:1909.08053, section 3; J. Ainslie et al.,
    "GQA", EMNLP 2023.
    """

    __slots__ = ()

    @property
    def parameters(self) -> BlockParameters:
        share = self.share
        matrices = share.hidden * (share.attention_width + share.output_width)
        whole = share.norm_parameters + share.vectors.attention
        return BlockParameters(split=matrices, whole=whole)

    def forward(self, work: PassWriter) -> None:
        share = self.share
        work.gather("attention input")
        work.compute("attention input", [*norm(share, "attention"), self._qkv("qkv")])
        context_parallel(share, self.plan).forward(work)
        output = gemm("attention output", *self._output, share)
        work.compute("attention", [*self._gate("attention gate", 3), output])
        work.reduce("attention output")

    def backward(self, work: PassWriter) -> None:
        share = self.share
        work.gather("attention gradient")
        self.repeat_norm(work, "attention input")
        regathered = work.regather("attention input")
        inputs = input_gradient("attention output", *self._output, share)
        weights = weight_gradient("attention output", *self._output, share)
        work.compute("attention output", [*norm_gradient(share, "next"), inputs], [weights])
        work.compute("attention output", self._gate("attention gate gradient", 5))
        context_parallel(share, self.plan).backward(work)
        sizes = share.rows, share.attention_width, share.hidden
        work.compute("attention input", [input_gradient("qkv", *sizes, share)])
        work.input_gradient("attention", [weight_gradient("qkv", *sizes, share)], regathered)

    @property
    def kept_bytes(self) -> int:
        share = self.share
        kept = self.entry_bytes + share.element_bytes * share.rows * share.attention_width
        kept += self.output_bytes(share.rows * share.output_width)
        return kept + (scores_bytes(share) if self.keeps_scores else 0)

    def _gate(self, name: str, moves: int) -> list[Kernel]:
        """Outputs times the sigmoid of their gates; nothing where there are none."""
        elements = self.share.rows * self.share.gate_width
        if not elements:
            return []
        return [
            elementwise(name, _GATE_FLOP * elements, moves * self.share.element_bytes * elements)
        ]

    def _qkv(self, name: str) -> Kernel:
        share = self.share
        return gemm(name, share.rows, share.attention_width, share.hidden, share)

    @property
    def _output(self) -> tuple[int, int, int]:
        return self.share.rows, self.share.hidden, self.share.output_width
