"""The plain MLP, and the kernels that expert MLPs share with it."""

from typing import ClassVar

from simcore.workload.graph import Kernel
from simcore.workload.kinds.transformer.blocks.base import ResidualBlock
from simcore.workload.kinds.transformer.share import Share
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


class Mlp(ResidualBlock):
    """Norm, product to the inner width, activation, product back; the inner width is split.

    Source: M. Shoeybi et al., "Megatron-LM", arXiv:1909.08053, section 3; N. Shazeer, "GLU
    Variants Improve Transformer", arXiv:2002.05202 (SwiGLU).
    """

    __slots__ = ()
    part: ClassVar[str] = "mlp"

    @property
    def parameters(self) -> BlockParameters:
        share = self.share
        matrices = (share.mlp_inputs + 1) * share.hidden * share.ffn
        whole = share.norm_parameters + share.vectors.mlp
        return BlockParameters(split=matrices, whole=whole)

    def forward(self, work: PassWriter) -> None:
        self.after_norm(work, norm(self.share, "mlp"))

    def after_norm(self, work: PassWriter, before: list[Kernel]) -> None:
        share = self.share
        work.gather("mlp input")
        work.compute("mlp", [*before, *products("mlp", share, share.ffn)])
        work.reduce("mlp output")

    def backward(self, work: PassWriter) -> None:
        share = self.share
        work.gather("mlp gradient")
        self.repeat_norm(work, "mlp")
        regathered = work.regather("mlp input")
        work.compute("mlp", norm_gradient(share, "next"))
        if self.repeats("activations"):
            work.compute("mlp", [activation_again("mlp", share, share.ffn)])
        product_gradients("mlp", share, share.ffn, work)
        weights = [up_weight_gradient("mlp", share, share.ffn)]
        work.input_gradient("mlp", weights, regathered)

    @property
    def kept_bytes(self) -> int:
        if self.is_repeated:
            return self.repeated_bytes
        return self.entry_bytes + self.inner_bytes(self.share.rows * self.share.ffn)


def products(name: str, share: Share, ffn: int) -> list[Kernel]:
    """Forward pass of an MLP of inner width *ffn*."""
    rows, inputs = share.rows, share.mlp_inputs
    return [
        gemm(f"{name} up", rows, inputs * ffn, share.hidden, share),
        _activation(f"{name} activation", share, ffn, moves=1 + inputs),
        gemm(f"{name} down", rows, share.hidden, ffn, share),
    ]


def product_gradients(name: str, share: Share, ffn: int, work: PassWriter) -> None:
    """Backward pass of an MLP but for the weight gradient of its first product."""
    rows, hidden, inputs = share.rows, share.hidden, share.mlp_inputs
    down = f"{name} down", rows, hidden, ffn
    work.compute(name, [input_gradient(*down, share)], [weight_gradient(*down, share)])
    activation = _activation(f"{name} activation gradient", share, ffn, moves=1 + 2 * inputs)
    up = input_gradient(f"{name} up", rows, inputs * ffn, hidden, share)
    work.compute(name, [activation, up])


def activation_again(name: str, share: Share, ffn: int) -> Kernel:
    """The activation of an MLP once more, where its result was not kept."""
    return _activation(f"{name} activation again", share, ffn, moves=1 + share.mlp_inputs)


def up_weight_gradient(name: str, share: Share, ffn: int) -> Kernel:
    """Weight gradient of the first product of an MLP."""
    return weight_gradient(f"{name} up", share.rows, share.mlp_inputs * ffn, share.hidden, share)


def _activation(name: str, share: Share, ffn: int, *, moves: int) -> Kernel:
    elements = share.rows * ffn
    return elementwise(name, 8 * elements, moves * share.element_bytes * elements)
