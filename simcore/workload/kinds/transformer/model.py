"""The net being trained: a stack of layers, each an attention or state space part and an MLP."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.schema import Schema
from simcore.workload.kinds.transformer.model_parts import (
    NO_VECTORS,
    Experts,
    LatentAttention,
    LinearAttention,
    StateSpace,
    Vectors,
    Vision,
)

_Blocks = tuple[str, ...]

MAX_LAYERS = 10_000
"""Ten times as many as the deepest published nets have."""

ENCODER_BLOCKS = ("encoder_attention", "encoder_mlp")
"""Blocks that work on the tokens of the encoder."""

_PATTERN = {"M": "mamba", "*": "attention", "-": "mlp", "E": "experts"}


class Model(Schema):
    """A transformer, or a hybrid with state space layers.

    Matrices have no bias, and learned position tables are not counted (together below 0.1 % of
    the parameters of GPT-3 175B), unless ``vectors`` says so.

    Attributes:
        kind: ``gpt``: LayerNorm, GELU and dropout; ``llama``: RMSNorm and SwiGLU, no dropout.
        layers: Layers.
        hidden: Width of the residual stream.
        heads: Query heads.
        kv_heads: Key and value heads; ``heads`` where the file does not say.
        head_dim: Width of a head; hidden / heads where the file does not say.
        ffn: Inner width of the MLP; 0 where every MLP consists of experts.
        mlp: ``gelu`` and ``squared_relu`` have 2 matrices, ``swiglu`` 3; that of ``kind`` where
            the file does not say.
        window: Tokens that a query sees at most, itself included, where attention is windowed; 0:
            all before it.
        linear: Linear attention in place of plain attention.
        global_every: With a window or linear attention, each layer whose number (counted from 1)
            this divides sees the whole sequence; 0: none does.
        output_gate: Outputs of plain attention are multiplied by a gate as wide as they are, which
            is made as queries are.
        latent: Multi-head latent attention in place of plain attention.
        experts: Routed experts in place of the MLP in some layers.
        mamba: The state space part of the layers that have one.
        pattern: One letter per layer, for layers of a single part: ``M`` mamba, ``*`` attention,
            ``-`` MLP, ``E`` experts. Empty: every layer is attention and MLP (or experts).
        vocabulary: Rows of the token table; 0 for a model without token table and output head.
        tied_embeddings: The output head uses the token table.
        causal: A token sees only earlier ones; False for encoders such as ViT.
        encoder_layers: The first so many layers are an encoder, whose output each layer of the
            decoder after it attends to; 0: there is no such thing.
        vision: Patches are read and classes told in the place of tokens.
        dropout: Whether it trains with dropout; as ``kind`` says where the file does not.
        vectors: Biases, norms of heads and learned positions; None: there are none.
        source: Where the figures are published.
    """

    name: str
    kind: Literal["gpt", "llama"] = "gpt"
    layers: int = Field(ge=1, le=MAX_LAYERS)
    hidden: int = Field(ge=1)
    heads: int = Field(ge=1)
    kv_heads: int = Field(default=0, ge=0)
    head_dim: int = Field(default=0, ge=0)
    ffn: int = Field(default=0, ge=0)
    mlp: Literal["", "gelu", "swiglu", "squared_relu"] = ""
    window: int = Field(default=0, ge=0)
    linear: LinearAttention | None = None
    global_every: int = Field(default=0, ge=0)
    output_gate: bool = False
    latent: LatentAttention | None = None
    experts: Experts | None = None
    mamba: StateSpace | None = None
    pattern: str = ""
    vocabulary: int = Field(default=0, ge=0)
    tied_embeddings: bool = False
    causal: bool = True
    encoder_layers: int = Field(default=0, ge=0)
    vision: Vision | None = None
    dropout: bool | None = None
    vectors: Vectors | None = None
    source: str = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.head_dim and self.hidden % self.heads:
            raise ConfigError("heads", f"must divide hidden = {self.hidden}", got=self.heads)
        if self.kv_heads and self.heads % self.kv_heads:
            raise ConfigError("kv_heads", f"must divide heads = {self.heads}", got=self.kv_heads)
        if self.tied_embeddings and not self.vocabulary:
            raise ConfigError("vocabulary", "must be above 0 with tied_embeddings", got=0)
        if self.experts and self.experts.active > self.experts.count:
            rule = f"must be at most count = {self.experts.count}"
            raise ConfigError("experts.active", rule, got=self.experts.active)
        if self.vision and self.vocabulary:
            raise ConfigError("vocabulary", "must be 0 with vision", got=self.vocabulary)
        self._check_attention()
        self._check_encoder()
        self._check_pattern()
        self._check_blocks()
        return self

    def _check_attention(self) -> None:
        if self.window and (self.latent or self.linear or self.pattern or not self.causal):
            rule = "must be 0 with latent attention, linear layers, a pattern or no causal mask"
            raise ConfigError("window", rule, got=self.window)
        if self.output_gate and self.latent:
            raise ConfigError("output_gate", "must be false with latent attention", got=True)
        if self.linear is None:
            return
        if self.pattern or not self.causal:
            raise ConfigError("linear", "needs a causal mask and no pattern", got=self.linear)
        if self.linear.value_heads % self.linear.key_heads:
            rule = f"must be a multiple of key_heads = {self.linear.key_heads}"
            raise ConfigError("linear.value_heads", rule, got=self.linear.value_heads)

    def _check_encoder(self) -> None:
        if not self.encoder_layers:
            return
        if self.encoder_layers >= self.layers:
            rule = f"must be below layers = {self.layers}, which count the decoder's too"
            raise ConfigError("encoder_layers", rule, got=self.encoder_layers)
        others = self.latent, self.experts, self.mamba, self.pattern, self.window, self.vision
        if self.linear or self.output_gate or any(others) or not self.causal:
            rule = "must be 0 unless all layers are plain causal attention and MLP"
            raise ConfigError("encoder_layers", rule, got=self.encoder_layers)

    def _check_pattern(self) -> None:
        if self.pattern and len(self.pattern) != self.layers:
            rule = f"must have one letter per layer, {self.layers}"
            raise ConfigError("pattern", rule, got=len(self.pattern))
        if unknown := set(self.pattern) - set(_PATTERN):
            letters = " ".join(_PATTERN)
            raise ConfigError("pattern", f"letters must be {letters}", got="".join(sorted(unknown)))

    def _check_blocks(self) -> None:
        used = {block for kind in set(self.layer_kinds) for block in kind}
        if "mlp" in used and not self.ffn:
            raise ConfigError("ffn", "must be above 0, as some layers have a plain MLP", got=0)
        for block in ("experts", "mamba"):
            if (block in used) != (getattr(self, block) is not None):
                rule = "must be given exactly where some layers have it"
                raise ConfigError(block, rule, got=getattr(self, block))

    @cached_property
    def layer_kinds(self) -> tuple[_Blocks, ...]:
        """Residual blocks of each layer, in order."""
        if self.pattern:
            letters = {**_PATTERN, "*": self.whole_attention}
            kinds: list[_Blocks] = [(letters[letter],) for letter in self.pattern]
        elif self.encoder_layers:
            kinds = self._encoder_decoder()
        else:
            kinds = [
                (
                    self._attention(layer),
                    "experts" if self._has_experts(layer) else "mlp",
                )
                for layer in range(self.layers)
            ]
        if self.vision:
            kinds[0] = ("patches", *kinds[0])
            kinds[-1] = (*kinds[-1], "classes")
        return tuple(kinds)

    def _encoder_decoder(self) -> list[_Blocks]:
        decoder: _Blocks = ("attention", "cross", "mlp")
        later = self.layers - self.encoder_layers - 1
        start: list[_Blocks] = [("decoder_start", *decoder)]
        return [ENCODER_BLOCKS] * self.encoder_layers + start + [decoder] * later

    @property
    def whole_attention(self) -> str:
        """Residual block of attention to the whole sequence."""
        if self.latent is None:
            return "attention"
        return "indexed" if self.latent.indexer else "latent"

    @property
    def keys_seen(self) -> int:
        """Tokens that a query sees at most in blocks that limit them; 0: none does."""
        return self.latent.indexer.top if self.latent and self.latent.indexer else self.window

    def _attention(self, layer: int) -> str:
        other = "linear" if self.linear else "windowed" if self.window else ""
        if not other or (self.global_every and (layer + 1) % self.global_every == 0):
            return self.whole_attention
        return other

    def _has_experts(self, layer: int) -> bool:
        if self.experts is None:
            return False
        return layer >= self.experts.first_layer and (layer + 1) % self.experts.every == 0

    @cached_property
    def block_counts(self) -> Counter[str]:
        """Layer counts by residual block."""
        return Counter(block for kind in self.layer_kinds for block in kind)

    def count(self, block: str) -> int:
        """Count of layers with this residual *block*."""
        return self.block_counts[block]

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with *update* in place of some fields, and nothing remembered of the old ones."""
        copied = super().model_copy(update=update, deep=deep)
        for name in set(copied.__dict__) - set(type(self).model_fields):
            del copied.__dict__[name]
        return copied

    @property
    def key_value_heads(self) -> int:
        """Key and value heads, those of the queries unless the model groups them."""
        return self.heads if self.latent else self.kv_heads or self.heads

    @property
    def head_width(self) -> int:
        """Width of a query or key head."""
        if self.latent:
            return self.latent.plain_width + self.latent.rotary_width
        return self.head_dim or self.hidden // self.heads

    @property
    def value_head_width(self) -> int:
        return self.latent.value_width if self.latent else self.head_width

    @property
    def mlp_inputs(self) -> int:
        """Matrices that read the MLP's input: 1 (GELU), 2 (SwiGLU: gate and up)."""
        mlp = self.mlp or ("swiglu" if self.kind == "llama" else "gelu")
        return 2 if mlp == "swiglu" else 1

    @property
    def has_experts(self) -> bool:
        """Some layers have routed experts."""
        return self.experts is not None

    @property
    def mask_bytes(self) -> int:
        """Bytes of a dropout mask per element; 0: there is no dropout."""
        return int(self.kind == "gpt" if self.dropout is None else self.dropout)

    @property
    def keeps_states(self) -> bool:
        """Some layers keep a state of fixed size of each sequence."""
        return self.count("linear") + self.count("mamba") > 0

    @property
    def norm_parameters(self) -> int:
        """Parameters of one norm: scale and shift (LayerNorm), scale only (RMSNorm)."""
        return self.hidden if self.kind == "llama" else 2 * self.hidden

    @property
    def parameters_per_layer(self) -> int:
        """Parameters of the first layer."""
        kind = self.layer_kinds[0]
        return self.matrix_parameters([kind]) + sum(map(self._small_parameters, kind))

    def matrix_parameters(self, kinds: Sequence[_Blocks], *, active: bool = False) -> int:
        """Parameters of layers that take part in a matrix product.

        Args:
            kinds: The layers.
            active: Of the routed experts, only those that one token meets.
        """
        blocks = Counter(block for kind in kinds for block in kind)
        return sum(n * self._block_matrices(block, active) for block, n in blocks.items())

    def _block_matrices(self, block: str, active: bool) -> int:
        hidden, heads = self.hidden, self.heads
        if block in ("latent", "indexed") and self.latent:
            rank = self.latent.query_rank + self.latent.key_value_rank
            down = hidden * (rank + self.latent.rotary_width)
            queries = self.latent.query_rank * heads * self.head_width
            width = self.latent.plain_width + self.latent.value_width
            keys_values = self.latent.key_value_rank * heads * width
            made = down + queries + keys_values + hidden * heads * self.latent.value_width
            return made + (self._index_matrices if block == "indexed" else 0)
        if block == "linear" and self.linear:
            made = self.linear.mixed + self.linear.inner + 2 * self.linear.value_heads
            return hidden * (made + self.linear.inner)
        if block in ("attention", "windowed", "encoder_attention", "cross"):
            gates = heads if self.output_gate else 0
            return hidden * self.head_width * (2 * heads + 2 * self.key_value_heads + gates)
        if block == "experts" and self.experts:
            met = self.experts.active if active else self.experts.count
            width = self.experts.latent_width or hidden
            narrowed = 2 * hidden * self.experts.latent_width
            inner = met * self.experts.ffn * width + self.experts.shared_ffn * hidden
            made = hidden * self.experts.count + narrowed + (self.mlp_inputs + 1) * inner
            return made + met * (self.vectors or NO_VECTORS).expert
        if block == "mamba" and self.mamba:
            inner = self.mamba.heads * self.mamba.head_width
            mixed = 2 * self.mamba.groups * self.mamba.state
            return hidden * (3 * inner + mixed + self.mamba.heads)
        if block == "patches" and self.vision:
            return self.vision.pixels * hidden
        if block in ("classes", "decoder_start"):
            return 0  # of an image; of no product
        return (self.mlp_inputs + 1) * hidden * self.ffn

    @property
    def _index_matrices(self) -> int:
        """Parameters of the indexer: its queries, its key, and a weight per head."""
        if self.latent is None or self.latent.indexer is None:
            return 0
        indexer, rank = self.latent.indexer, self.latent.query_rank
        return rank * indexer.heads * indexer.width + self.hidden * (indexer.width + indexer.heads)

    @property
    def cross_key_value_parameters(self) -> int:
        """Parameters of all matrices that make keys and values of the encoder's output."""
        heads = self.key_value_heads * self.head_width
        return 2 * self.count("cross") * self.hidden * heads

    @property
    def class_parameters(self) -> int:
        """Parameters of the product that tells the class of an image."""
        return self.vision.classes * self.hidden if self.vision else 0

    def _small_parameters(self, block: str) -> int:
        """Parameters of a block outside its matrices: norms, convolution, state."""
        if block in ("patches", "decoder_start"):
            return 0
        norms = self.norm_parameters + (self.vectors or NO_VECTORS).of(block)
        norms += self.class_parameters if block == "classes" else 0
        if block in ("latent", "indexed") and self.latent:
            norms += self.latent.query_rank + self.latent.key_value_rank
            if block == "indexed" and self.latent.indexer:
                norms += 2 * self.latent.indexer.width
        if block == "linear" and self.linear:
            norms += self.linear.small_parameters
        if block == "mamba" and self.mamba:
            norms += self.mamba.small_parameters
        return norms

    @property
    def scan_flop(self) -> float:
        """FLOP of the scans of all Mamba layers and of linear attention per token, forward."""
        linear = self.count("linear") * self.linear.scan_flop() if self.linear else 0.0
        if self.mamba is None:
            return linear
        inner = self.mamba.heads * self.mamba.head_width
        mixed = self.mamba.groups * self.mamba.state
        within = 2.0 * self.mamba.chunk * (mixed + inner)
        return linear + self.count("mamba") * (within + 4.0 * self.mamba.state * inner)

    @property
    def embedding_parameters(self) -> int:
        """Parameters of the token table, which are also those of an untied output head."""
        return self.vocabulary * self.hidden

    @property
    def position_parameters(self) -> int:
        """Parameters of the table of learned positions, if it is counted."""
        return self.vectors.positions if self.vectors else 0

    @property
    def final_norm_parameters(self) -> int:
        return self.norm_parameters if self.vocabulary else 0

    def add_up(self) -> None:
        """Work out beforehand what every evaluation asks for, and the model keeps."""
        _ = self.parameters, self.active_matrix_parameters, self.block_counts

    @cached_property
    def active_matrix_parameters(self) -> int:
        """Parameters that one token meets in matrix products of the layers."""
        return self.matrix_parameters(self.layer_kinds, active=True)

    @cached_property
    def parameters(self) -> int:
        return self._parameters(active=False)

    @cached_property
    def active_parameters(self) -> int:
        """Parameters that one token meets."""
        return self._parameters(active=True)

    def _parameters(self, *, active: bool) -> int:
        kinds = self.layer_kinds
        tables = (1 if self.tied_embeddings else 2) * self.embedding_parameters
        outside = tables + self.final_norm_parameters + self.position_parameters
        counts = self.block_counts.items()
        small = sum(n * self._small_parameters(block) for block, n in counts)
        return self.matrix_parameters(kinds, active=active) + small + outside
