"""What one NPU holds of a step of inference."""

from dataclasses import dataclass, replace
from typing import Self

from simcore.workload.model import LayerKind
from simcore.workload.share import Share


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingShare(Share):
    """One NPU's part of a step: the rows are the tokens that the step reads.

    Attributes:
        sampled: Sequences of a micro-batch: each is given its next token.
        keys: Where the keys are in the cache, those that a query sees, its own included; 0 while
            prompts are read.
        windowed_keys: Likewise in layers with windowed attention.
    """

    sampled: int = 0
    keys: int = 0
    windowed_keys: int = 0

    @property
    def with_loss(self) -> bool:
        return False

    @property
    def queries(self) -> int:
        return 1 if self.keys else self.sequence

    @property
    def exit(self) -> "ServingShare":
        """Only the last token of each sequence meets the output head."""
        parts = self.rows // self.thin_rows
        return replace(self, rows=self.sampled, thin_rows=-(-self.sampled // parts))

    def of_layer(self, kind: LayerKind) -> "ServingShare":
        return self.with_cache(self.windowed_keys) if kind[0] == "windowed" else self

    def with_cache(self, keys: int) -> Self:
        """The share where each query sees *keys* tokens, all but its own in the cache; 0: as is."""
        if not keys:
            return self
        heads = self.query_width // self.head_width
        return replace(
            self,
            keys=keys,
            sequence=keys,
            key_rows=self.rows * keys,
            scores=self.rows * heads * keys,
            visible=1.0,
            windowed_visible=1.0,
        )

    @property
    def core(self) -> Share:
        """Latents in the cache are keys and values of all heads as they are.

        The product that makes keys of latents is applied to the queries, that for values to the
        outputs: as many FLOP and weights as to make keys and values of the new tokens.

        Source: DeepSeek-AI, "DeepSeek-V2", arXiv:2405.04434, section 2.1.2.
        """
        latent = self.latent
        if latent is None or not self.keys:
            return self
        heads, width = self.query_width // self.head_width, latent.cached_width
        return replace(
            self,
            query_width=heads * width,
            key_width=width,
            value_width=0,
            output_width=heads * latent.key_value_rank,
            head_width=width,
        )

    def cached_elements(self, part: str) -> int:
        """Numbers that a residual block keeps of each token on one NPU."""
        if part in ("attention", "windowed"):
            return self.key_width + self.value_width
        return self.latent.cached_width if part == "latent" and self.latent else 0
