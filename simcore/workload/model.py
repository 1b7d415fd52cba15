"""The net being trained: a decoder (or encoder) stack of equal transformer layers."""

from typing import Literal, Self

from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.schema import Schema


class Model(Schema):
    """A dense transformer.

    Matrices have no bias, and learned position tables are not counted (together below 0.1 % of
    the parameters of GPT-3 175B).

    Attributes:
        kind: ``gpt``: LayerNorm and a GELU MLP of 2 matrices; ``llama``: RMSNorm and SwiGLU with 3.
        layers: Transformer layers.
        hidden: Width of the residual stream.
        heads: Query heads; the head width is hidden / heads.
        kv_heads: Key and value heads; ``heads`` where the file does not say.
        ffn: Inner width of the MLP.
        vocabulary: Rows of the token table; 0 for a model without token table and output head.
        tied_embeddings: The output head uses the token table.
        causal: A token sees only earlier ones; False for encoders such as ViT.
        source: Where the figures are published.
    """

    name: str
    kind: Literal["gpt", "llama"] = "gpt"
    layers: int = Field(ge=1)
    hidden: int = Field(ge=1)
    heads: int = Field(ge=1)
    kv_heads: int = Field(default=0, ge=0)
    ffn: int = Field(ge=1)
    vocabulary: int = Field(default=0, ge=0)
    tied_embeddings: bool = False
    causal: bool = True
    source: str = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.hidden % self.heads:
            raise ConfigError("heads", f"must divide hidden = {self.hidden}", got=self.heads)
        if self.kv_heads and self.heads % self.kv_heads:
            raise ConfigError("kv_heads", f"must divide heads = {self.heads}", got=self.kv_heads)
        if self.tied_embeddings and not self.vocabulary:
            raise ConfigError("vocabulary", "must be above 0 with tied_embeddings", got=0)
        return self

    @property
    def key_value_heads(self) -> int:
        """Key and value heads, those of the queries unless the model groups them."""
        return self.kv_heads or self.heads

    @property
    def head_width(self) -> int:
        return self.hidden // self.heads

    @property
    def mlp_inputs(self) -> int:
        """Matrices that read the MLP's input: 1 (GELU), 2 (SwiGLU: gate and up)."""
        return 2 if self.kind == "llama" else 1

    @property
    def norm_parameters(self) -> int:
        """Parameters of one norm: scale and shift (LayerNorm), scale only (RMSNorm)."""
        return self.hidden if self.kind == "llama" else 2 * self.hidden

    @property
    def matrix_parameters_per_layer(self) -> int:
        """Parameters of one layer that take part in a matrix product."""
        attention = 2 * self.hidden * (self.hidden + self.key_value_heads * self.head_width)
        return attention + (self.mlp_inputs + 1) * self.hidden * self.ffn

    @property
    def parameters_per_layer(self) -> int:
        return self.matrix_parameters_per_layer + 2 * self.norm_parameters

    @property
    def embedding_parameters(self) -> int:
        """Parameters of the token table, which are also those of an untied output head."""
        return self.vocabulary * self.hidden

    @property
    def final_norm_parameters(self) -> int:
        return self.norm_parameters if self.vocabulary else 0

    @property
    def parameters(self) -> int:
        tables = 1 if self.tied_embeddings else 2
        outside = tables * self.embedding_parameters + self.final_norm_parameters
        return self.layers * self.parameters_per_layer + outside

    @property
    def active_parameters(self) -> int:
        """Parameters that one token meets; all of them, since every layer is dense."""
        return self.parameters
