"""The two ends of a vision transformer: patches in, classes out."""

from simcore.terms import CollectiveKind
from simcore.workload.graph import Axis
from simcore.workload.kinds.transformer.blocks.base import ResidualBlock
from simcore.workload.kinds.transformer.share import VisionShare
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

_LOSS_BYTES = 4  # logits and what they are summed to are fp32


class Patches(ResidualBlock):
    """The product that makes a token of each patch; whole on every NPU, for its own tokens.

    Nothing asks for the gradient of the pixels.

    Source: A. Dosovitskiy et al., "An Image is Worth 16x16 Words", ICLR 2021, equation 1.
    """

    __slots__ = ()

    @property
    def parameters(self) -> BlockParameters:
        return BlockParameters(whole=_vision(self).pixels * self.share.hidden)

    def forward(self, work: PassWriter) -> None:
        work.compute("patches", [gemm("patches", *self._sizes, self.share)])

    def backward(self, work: PassWriter) -> None:
        work.compute("patches", [], [weight_gradient("patches", *self._sizes, self.share)])

    @property
    def kept_bytes(self) -> int:
        return self.input_bytes

    @property
    def input_bytes(self) -> int:
        return self.share.element_bytes * self.share.thin_rows * _vision(self).pixels

    @property
    def _sizes(self) -> tuple[int, int, int]:
        return self.share.thin_rows, self.share.hidden, _vision(self).pixels


class ClassHead(ResidualBlock):
    """Norm, mean over the tokens, and the product with the classes, which are split over tp.

    Source: A. Dosovitskiy et al., "An Image is Worth 16x16 Words", ICLR 2021, equation 4; mean in
    the place of the class token.
    """

    __slots__ = ()

    @property
    def parameters(self) -> BlockParameters:
        matrix = self.share.hidden * _vision(self).classes
        return BlockParameters(split=matrix, whole=self.share.norm_parameters)

    def forward(self, work: PassWriter) -> None:
        share, images = self.share, self.plan.micro_batch
        elements = share.thin_rows * share.hidden
        work.compute("classes", norm(share, "final"))
        work.compute("classes", [elementwise("mean of tokens", elements, share.thin_bytes)])
        if self.plan.splits_sequence:
            size = share.element_bytes * images * share.hidden
            work.collective("mean of tokens", CollectiveKind.ALL_REDUCE, Axis.TP, size)
        work.compute("classes", [gemm("classes", *self._sizes, share)])
        for name in ("largest logit", "logit of the label", "sum of exponentials"):
            work.collective(name, CollectiveKind.ALL_REDUCE, Axis.TP, _LOSS_BYTES * images)
        logits = images * _vision(self).classes
        work.compute("loss", [elementwise("cross entropy", 5 * logits, 2 * _LOSS_BYTES * logits)])

    def backward(self, work: PassWriter) -> None:
        share, images = self.share, self.plan.micro_batch
        inputs = input_gradient("classes", *self._sizes, share)
        weights = weight_gradient("classes", *self._sizes, share)
        work.compute("classes", [inputs], [weights])
        size = share.element_bytes * images * share.hidden
        work.collective("classes input gradient", CollectiveKind.ALL_REDUCE, Axis.TP, size)
        work.compute("classes", norm_gradient(share, "final"))

    @property
    def kept_bytes(self) -> int:
        """Input of the norm, mean, and logits."""
        share, images = self.share, self.plan.micro_batch
        means = share.element_bytes * images * share.hidden
        return share.thin_bytes + means + _LOSS_BYTES * images * _vision(self).classes

    @property
    def _sizes(self) -> tuple[int, int, int]:
        return self.plan.micro_batch, _vision(self).classes, self.share.hidden


def _vision(block: ResidualBlock) -> VisionShare:
    if block.share.vision is None:
        raise AssertionError("a model with patches has a share of them")
    return block.share.vision
