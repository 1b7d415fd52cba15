"""Multi-head latent attention."""

from simcore.workload.graph import Kernel
from simcore.workload.kinds.transformer.blocks.base import ResidualBlock
from simcore.workload.kinds.transformer.blocks.context import context_parallel
from simcore.workload.kinds.transformer.blocks.core import scores_bytes
from simcore.workload.kinds.transformer.share import LatentShare, Share
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

_NORM_FLOP = 5


class Latent(ResidualBlock):
    """Norm, latents, heads made from the latents, core, and the projection back.

    The products that make the latents are the same on all NPUs of a tensor parallel group, each
    for its own rows under sequence parallelism; only the narrow latents are then gathered.

    Source: DeepSeek-AI, "DeepSeek-V2", arXiv:2405.04434, section 2.1 and appendix C.
    """

    __slots__ = ()

    @property
    def parameters(self) -> BlockParameters:
        share, latent = self.share, self.latent_part
        made = share.query_width * latent.query_rank
        made += latent.key_value_width * latent.key_value_rank
        norms = share.norm_parameters + latent.query_rank + latent.key_value_rank
        norms += share.vectors.attention
        return BlockParameters(
            split=made + share.hidden * share.output_width,
            whole=norms + share.hidden * self._width,
        )

    def forward(self, work: PassWriter) -> None:
        share = self.share
        down = [gemm(*sizes, self._made) for sizes in self._down()]
        norms = self._norms("latent norms", 2)
        work.compute("latents", [*norm(share, "attention"), *down, *norms])
        work.gather("latents", self._thin_bytes)
        work.compute("attention input", self._heads())
        self.core(work)
        work.compute("attention", [gemm("attention output", *self._output, share)])
        work.reduce("attention output")

    def backward(self, work: PassWriter) -> None:
        share = self.share
        work.gather("attention gradient")
        self.repeat_norm(work, "latents")
        regathered = work.regather("latents", self._thin_bytes)
        output = input_gradient("attention output", *self._output, share)
        weight = weight_gradient("attention output", *self._output, share)
        work.compute("attention output", [*norm_gradient(share, "next"), output], [weight])
        if self.repeats("latent_heads"):
            work.compute("attention output", self._heads())
        self.core_gradient(work)
        inputs = [input_gradient(*sizes, share) for sizes in self.products()]
        work.compute("attention input", inputs)
        summed_bytes = share.element_bytes * share.rows * self._width
        weights = [weight_gradient(*sizes, share) for sizes in self.products()]
        work.input_gradient("attention", weights, regathered, summed_bytes)
        kernels = [input_gradient(*sizes, share) for sizes in self._down()]
        kernels = [*self._norms("latent norms gradient", 3), *kernels]
        weights = [weight_gradient(*sizes, share) for sizes in self._down()]
        work.compute("latents", kernels, weights)

    def core(self, work: PassWriter) -> None:
        """Write the forward pass of the core."""
        context_parallel(self.share, self.plan).forward(work)

    def core_gradient(self, work: PassWriter) -> None:
        """Write the backward pass of the core."""
        context_parallel(self.share, self.plan).backward(work)

    @property
    def kept_bytes(self) -> int:
        share, latent = self.share, self.latent_part
        heads = 0
        if not self.repeats("latent_heads"):  # one key and value per query head
            heads = share.rows * (2 * share.query_width + share.output_width)
        ranks = share.thin_rows * (latent.query_rank + latent.key_value_rank)
        latents = ranks + share.thin_rows * self._width  # after and before their norms
        kept = self.entry_bytes + share.element_bytes * heads + share.kept(latents, ranks)
        kept += self.output_bytes(share.rows * share.output_width)
        return kept + (scores_bytes(share) if self.keeps_scores else 0)

    @property
    def latent_part(self) -> LatentShare:
        if self.share.latent is None:
            raise AssertionError("a model with latent attention has a latent share")
        return self.share.latent

    @property
    def _made(self) -> Share:
        """The share as the products see it that make latents, and heads of them."""
        return self.share.with_format(self.latent_part.product_format)

    @property
    def made(self) -> list[tuple[str, int]]:
        """Names and widths of what is made of a row: its latents with its rotary key."""
        latent = self.latent_part
        return [("latents", latent.query_rank + latent.key_value_rank + latent.rotary_width)]

    @property
    def _width(self) -> int:
        return sum(width for _, width in self.made)

    def _down(self) -> list[tuple[str, int, int, int]]:
        """Products that make them: name, rows, width, width of a row."""
        share = self.share
        return [(name, share.thin_rows, width, share.hidden) for name, width in self.made]

    @property
    def _thin_bytes(self) -> int:
        return self.share.element_bytes * self.share.thin_rows * self._width

    @property
    def _output(self) -> tuple[int, int, int]:
        return self.share.rows, self.share.hidden, self.share.output_width

    def _heads(self) -> list[Kernel]:
        """Queries, keys and values of all heads."""
        return [gemm(*sizes, self._made) for sizes in self.products()]

    def products(self) -> list[tuple[str, int, int, int]]:
        """The products that make the heads: name, rows, width, rank."""
        rows, latent = self.share.rows, self.latent_part
        return [
            ("queries", rows, self.share.query_width, latent.query_rank),
            ("keys and values", rows, latent.key_value_width, latent.key_value_rank),
        ]

    def _norms(self, name: str, moves: int) -> list[Kernel]:
        share, latent = self.share, self.latent_part
        elements = share.thin_rows * (latent.query_rank + latent.key_value_rank)
        return [elementwise(name, _NORM_FLOP * elements, moves * share.element_bytes * elements)]
