"""The parts of a decoder that reads an encoder: its start, and cross attention."""

from dataclasses import replace

from simcore.workload.kinds.transformer.blocks.base import ResidualBlock
from simcore.workload.kinds.transformer.blocks.core import core, core_gradient, scores_bytes
from simcore.workload.kinds.transformer.share import Share
from simcore.workload.program import ends
from simcore.workload.program.kernel_costs import (
    gemm,
    input_gradient,
    norm,
    norm_gradient,
    weight_gradient,
)
from simcore.workload.program.layer import BlockParameters
from simcore.workload.program.work import PassWriter


class DecoderStart(ResidualBlock):
    """The lookup of the decoder's tokens, in the same table as the encoder's."""

    __slots__ = ()

    @property
    def parameters(self) -> BlockParameters:
        return BlockParameters()

    def forward(self, work: PassWriter) -> None:
        work.compute("decoder embedding", ends.embedding(self.share))
        work.reduce("decoder embedding")

    def backward(self, work: PassWriter) -> None:
        work.gather("decoder embedding gradient")
        kernels = ends.embedding_gradient(self.share, self.plan.tp)
        work.compute("decoder embedding", kernels)

    @property
    def kept_bytes(self) -> int:
        """Bytes of the encoder for all decoder layers."""
        return _encoder(self).thin_bytes


class CrossAttention(ResidualBlock):
    """Attention of the decoder's tokens to all of the encoder's; heads are split over tp.

    Every layer makes keys and values of its own from the encoder's output and adds to its
    gradient.

    Source: A. Vaswani et al., "Attention Is All You Need", NeurIPS 2017, section 3.2.3; split as
    in M. Shoeybi et al., arXiv:1909.08053, section 3.
    """

    __slots__ = ()

    @property
    def parameters(self) -> BlockParameters:
        share = self.share
        matrices = share.hidden * (share.attention_width + share.output_width)
        return BlockParameters(split=matrices, whole=share.norm_parameters)

    def forward(self, work: PassWriter) -> None:
        share, encoder = self.share, _encoder(self)
        work.gather("cross attention input")
        queries = gemm("cross queries", *self._queries, share)
        work.compute("cross attention input", [*norm(share, "cross attention"), queries])
        work.gather("encoder output", encoder.thin_bytes)
        work.compute("cross attention", [gemm("cross keys and values", *self._keys, share)])
        work.compute("cross attention", core(self._core))
        work.compute("cross attention", [gemm("cross attention output", *self._output, share)])
        work.reduce("cross attention output")

    def backward(self, work: PassWriter) -> None:
        share, encoder = self.share, _encoder(self)
        work.gather("cross attention gradient")
        self.repeat_norm(work, "cross attention input")
        regathered = work.regather("cross attention input")
        read = work.regather("encoder output", encoder.thin_bytes)
        inputs = input_gradient("cross attention output", *self._output, share)
        weights = weight_gradient("cross attention output", *self._output, share)
        work.compute("cross attention", [*norm_gradient(share, "next"), inputs], [weights])
        kernels = (core(self._core) if self.plan.repeats_scores else []) + core_gradient(self._core)
        kernels.append(input_gradient("cross keys and values", *self._keys, share))
        work.compute("cross attention", kernels)
        weights = weight_gradient("cross keys and values", *self._keys, share)
        work.input_gradient("cross keys and values", [weights], read, encoder.stream_bytes)
        work.compute("cross queries", [input_gradient("cross queries", *self._queries, share)])
        weights = weight_gradient("cross queries", *self._queries, share)
        work.input_gradient("cross queries", [weights], regathered)

    @property
    def kept_bytes(self) -> int:
        kept = self.entry_bytes + self.share.element_bytes * self._core.core_elements
        return kept + (scores_bytes(self._core) if self.keeps_scores else 0)

    @property
    def _core(self) -> Share:
        """The share as its core sees it: keys are the encoder's, and none is hidden."""
        share, encoder = self.share, _encoder(self)
        heads = share.query_width // share.head_width
        return replace(
            share,
            sequence=encoder.sequence,
            scores=share.rows * heads * encoder.sequence,
            visible=1.0,
            key_rows=encoder.rows,
        )

    @property
    def _queries(self) -> tuple[int, int, int]:
        return self.share.rows, self.share.query_width, self.share.hidden

    @property
    def _keys(self) -> tuple[int, int, int]:
        share = self.share
        return _encoder(self).rows, share.key_width + share.value_width, share.hidden

    @property
    def _output(self) -> tuple[int, int, int]:
        return self.share.rows, self.share.hidden, self.share.output_width


def _encoder(block: ResidualBlock) -> Share:
    if block.share.encoder is None:
        raise AssertionError("a model with an encoder has a share of it")
    return block.share.encoder
