"""One NPU's part of a step of inference."""

from dataclasses import dataclass, replace
from math import ceil
from typing import Self

from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.schema import Schema
from simcore.terms import LayerKind
from simcore.workload.kinds.inference.formats import ServingFormats
from simcore.workload.kinds.transformer.blocks.share import TransformerShare
from simcore.workload.kinds.transformer.masks import visible_share
from simcore.workload.kinds.transformer.model import Model
from simcore.workload.kinds.transformer.share import Share
from simcore.workload.kinds.transformer.states import state_bytes


class PromptChunk(Schema):
    """Tokens of prompts that a step reads beside those that it adds to answers.

    The chunks of a prompt see more of it one after the other; a step does their mean.

    Source: A. Agrawal et al., "Taming Throughput-Latency Tradeoff in LLM Inference with
    Sarathi-Serve", OSDI 2024, section 4.

    Attributes:
        prompt: Tokens of a prompt.
        tokens: Of these, so many are read in each step.
        prompts: Prompts that are under way on all NPUs; as many in each micro-batch.
    """

    prompt: int = Field(ge=1)
    tokens: int = Field(ge=1)
    prompts: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.prompt % self.tokens:
            raise ConfigError("tokens", f"must divide prompt = {self.prompt}", got=self.tokens)
        return self

    @property
    def steps(self) -> int:
        """Steps in which a prompt is read."""
        return self.prompt // self.tokens

    @property
    def mean_keys(self) -> int:
        """Tokens whose keys a chunk reads, its own included: the mean, rounded up."""
        return -(-(self.prompt + self.tokens) // 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkShare:
    """One NPU's part of the chunks of a micro-batch, in layers of one kind.

    Attributes:
        prompts: Chunks, each of a prompt of its own.
        rows: Tokens of a chunk.
        prompt: Tokens of a prompt.
        keys: Tokens whose keys a chunk reads.
        visible: Share of its scores with the whole prompt that is computed.
    """

    prompts: int
    rows: int
    prompt: int
    keys: int
    visible: float

    @classmethod
    def of(cls, chunk: PromptChunk, prompts: int, model: Model, *, window: int = 0) -> Self:
        """The mean over the chunks of a prompt, in layers with a *window* or without."""
        keys, seen = chunk.mean_keys, 1.0
        if window:
            keys = min(keys, window + chunk.tokens)
            seen = min(1.0, window / chunk.prompt)
        return cls(
            prompts=prompts,
            rows=chunk.tokens,
            prompt=chunk.prompt,
            keys=keys,
            visible=visible_share(model, window=seen),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingShare(TransformerShare):
    """One NPU's part of a step: the rows are the tokens that the step reads.

    Attributes:
        sampled: Rows of a micro-batch that meet the output head.
        sequences: Sequences of a micro-batch that are answered.
        keys: Where the keys are in the cache, those that a query sees, its own included; 0 while
            prompts are read.
        windowed_keys: Likewise in layers with windowed attention.
        chunk: The rows that belong to chunks of prompts.
        windowed_chunk: Likewise in layers with windowed attention.
        picks: Each query has keys of its own, where a prompt is longer than what it may see.
    """

    sampled: int = 0
    sequences: int = 1
    keys: int = 0
    windowed_keys: int = 0
    chunk: ChunkShare | None = None
    windowed_chunk: ChunkShare | None = None
    picks: bool = False

    @property
    def with_loss(self) -> bool:
        return False

    @property
    def queries(self) -> int:
        return self._answer_rows // self.sequences if self.keys else self.sequence

    @property
    def exit(self) -> "ServingShare":
        """Share of the output head: a prompt's last token alone."""
        parts = self.rows // self.thin_rows
        return replace(self, rows=self.sampled, thin_rows=-(-self.sampled // parts))

    def of_layer(self, kind: LayerKind) -> "ServingShare":
        return self.limited if kind[0] == "windowed" else self

    @property
    def limited(self) -> "ServingShare":
        picks = self.latent is not None and self.latent.indexer is not None
        share = replace(self, chunk=self.windowed_chunk, visible=self.windowed_visible, picks=picks)
        return share.with_cache(self.windowed_keys) if self.keys else share._picked()

    def in_formats(self, formats: ServingFormats) -> Self:
        """The share with what is stored and multiplied in *formats*."""
        weights, experts, latents, cache = formats.narrow
        return replace(
            self,
            weight_bytes=formats.weight_bytes,
            product_format=weights,
            cache_format=cache,
            latent=self.latent and replace(self.latent, product_format=latents),
            experts=self.experts
            and replace(
                self.experts,
                product_format=experts,
                weight_bytes=formats.expert_weight_bytes,
                router_format="",
            ),
        )

    def with_cache(self, keys: int) -> Self:
        """The share where each query sees *keys* tokens, all but its own in the cache; 0: as is."""
        if not keys:
            return self
        heads = self.query_width // self.head_width
        return replace(
            self,
            keys=keys,
            sequence=keys,
            key_rows=self.sequences * keys,
            scores=self._answer_rows * heads * keys,
            visible=1.0,
            windowed_visible=1.0,
        )

    def _picked(self) -> Self:
        """The share of prompts where each query reads the keys that were picked for it.

        They differ from query to query, so that each is as an answer with the mean number of keys.
        """
        indexer = self.latent.indexer if self.latent and self.picks else None
        if indexer is None or self.sequence <= indexer.top:
            return self
        keys = ceil(self.visible * self.sequence)
        return replace(self, sequences=self.rows).with_cache(keys)

    @property
    def _answer_rows(self) -> int:
        """Rows of sequences that are answered."""
        return self.rows - (self.chunk.prompts * self.chunk.rows if self.chunk else 0)

    @property
    def cores(self) -> tuple[Share, ...]:
        """Shares of the sequences that are answered, and of the prompts read beside them."""
        chunk = self.chunk
        if chunk is None:
            return (self,)
        answers = replace(self, rows=self._answer_rows, chunk=None)
        prompt = replace(
            self,
            chunk=None,
            sequences=chunk.prompts,
            rows=chunk.prompts * chunk.rows,
            sequence=chunk.prompt,
            key_rows=chunk.prompts * chunk.keys,
            visible=chunk.visible,
        )
        return answers, prompt._picked()

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
        return self.latent.cached_width if part in ("latent", "indexed") and self.latent else 0

    def index_bytes(self, part: str) -> int:
        """Bytes of the key by which an indexer finds a token, and of its scale in fp32."""
        indexer = self.latent.indexer if self.latent and part == "indexed" else None
        return indexer.width + 4 if indexer else 0

    def state_bytes(self, part: str) -> float:
        """Bytes that a residual block keeps of a sequence of any length on one NPU."""
        kept = {"linear": self.linear, "mamba": self.state}.get(part)
        return state_bytes(kept, self.element_bytes) if kept else 0.0
