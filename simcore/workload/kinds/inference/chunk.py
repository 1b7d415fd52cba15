"""Chunked prefill: a step of decoding also reads parts of prompts."""

from typing import Self

from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.schema import Schema


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
