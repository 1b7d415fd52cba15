"""Parts that only some models have: latent and linear attention, experts, states, vectors."""

from pydantic import Field

from simcore.schema import Schema


class Indexer(Schema):
    """A small attention that picks the tokens which each query of latent attention then sees.

    Source: DeepSeek-AI, "DeepSeek-V3.2-Exp", September 2025, section 1 (lightning indexer).

    Attributes:
        heads: Query heads of the indexer, which share one key.
        width: Of its heads.
        top: Tokens that are picked for each query; all where there are no more.
    """

    heads: int = Field(ge=1)
    width: int = Field(ge=1)
    top: int = Field(ge=1)


class LatentAttention(Schema):
    """Multi-head latent attention: queries, keys and values are made from narrow latents.

    Source: DeepSeek-AI, "DeepSeek-V2", arXiv:2405.04434, section 2.1.

    Attributes:
        query_rank: Width of the latent of the queries.
        key_value_rank: Width of the latent that keys and values share.
        plain_width: Of a query or key head, the part without position.
        rotary_width: Of a query or key head, the part with rotary position; the key's is one for
            all heads.
        value_width: Of a value head.
        indexer: Picks the tokens that a query sees; None: it sees all before it.
    """

    query_rank: int = Field(ge=1)
    key_value_rank: int = Field(ge=1)
    plain_width: int = Field(ge=1)
    rotary_width: int = Field(ge=0)
    value_width: int = Field(ge=1)
    indexer: Indexer | None = None


class LinearAttention(Schema):
    """Attention by a gated delta rule: a state of fixed size per head stands for all keys.

    Source: S. Yang, J. Kautz, A. Hatamizadeh, "Gated Delta Networks", ICLR 2025, section 3.

    Attributes:
        key_heads: Heads of queries and keys, shared by equal groups of value heads.
        value_heads: Heads of values, of which each has a state.
        key_width, value_width: Of a head; the state of a head is a matrix of these sizes.
        convolution: Taps of the causal convolution of queries, keys and values.
        chunk: Tokens that are computed at once as attention is.
    """

    key_heads: int = Field(ge=1)
    value_heads: int = Field(ge=1)
    key_width: int = Field(ge=1)
    value_width: int = Field(ge=1)
    convolution: int = Field(default=4, ge=1)
    chunk: int = Field(default=64, ge=1)

    @property
    def mixed(self) -> int:
        """Queries, keys and values of one token, all of which pass the convolution."""
        return 2 * self.key_heads * self.key_width + self.inner

    @property
    def inner(self) -> int:
        """Values of one token."""
        return self.value_heads * self.value_width

    def scan_flop(self, chunk: int = 0) -> float:
        """FLOP of one token in the delta rule, where so many are computed at once; 0: ``chunk``.

        Within a chunk of C tokens half of C x C scores among keys and with queries are computed,
        applied to keys and values, and to what they leave: C (3 k + 2 v) for heads of k and v. The
        state is applied to both, and updated: 6 k v. The inverse of the scores among keys, below
        a tenth of the rest, is left out.
        """
        within = (chunk or self.chunk) * (3.0 * self.key_width + 2.0 * self.value_width)
        return self.value_heads * (within + self.state_flop)

    @property
    def state_flop(self) -> float:
        """FLOP of one token and head with the state."""
        return 6.0 * self.key_width * self.value_width

    @property
    def state_numbers(self) -> int:
        """Numbers of the states of a sequence."""
        return self.value_heads * self.key_width * self.value_width

    @property
    def small_parameters(self) -> int:
        """Parameters outside products: taps, a decay and its bias per head, scales of the norm."""
        return self.convolution * self.mixed + 2 * self.value_heads + self.value_width


class Vision(Schema):
    """The ends of a vision transformer, whose tokens are patches of an image.

    Attributes:
        patch: Height and width of a patch in pixels.
        channels: Numbers per pixel.
        classes: That images are told apart by.
    """

    patch: int = Field(ge=1)
    channels: int = Field(default=3, ge=1)
    classes: int = Field(ge=1)

    @property
    def pixels(self) -> int:
        """Numbers in a patch."""
        return self.patch**2 * self.channels


class Experts(Schema):
    """MLPs of which a router picks a few for each token.

    Source: N. Shazeer et al., "Outrageously Large Neural Networks", ICLR 2017; D. Dai et al.,
    "DeepSeekMoE", arXiv:2401.06066 (shared experts); NVIDIA, "Nemotron 3", December 2025 (experts
    on narrowed tokens).

    Attributes:
        count: Routed experts of a layer.
        active: Of these, how many each token is sent to.
        ffn: Inner width of one routed expert.
        latent_width: Width to which tokens are narrowed before they travel to the experts and
            from which they are widened again; 0: the experts read the residual stream's width.
        shared_ffn: Inner width of the experts that every token passes, all together; 0: none.
        first_layer: Layers before this one have a plain MLP.
        every: From there on, each layer whose number (counted from 1) this divides has experts.
        node_limit: Dispatch groups (of a plan that has them) on which the experts of a token lie at
            most; 0: any.
    """

    count: int = Field(ge=2)
    active: int = Field(ge=1)
    ffn: int = Field(ge=1)
    latent_width: int = Field(default=0, ge=0)
    shared_ffn: int = Field(default=0, ge=0)
    first_layer: int = Field(default=0, ge=0)
    every: int = Field(default=1, ge=1)
    node_limit: int = Field(default=0, ge=0)


class StateSpace(Schema):
    """A Mamba-2 mixer, which stands in a layer where others have attention.

    Source: T. Dao, A. Gu, "Transformers are SSMs", ICML 2024, sections 6 and 7.

    Attributes:
        heads: Heads of the state.
        head_width: Channels of one head.
        groups: Groups of heads that share the input and output matrices B and C.
        state: Width of the state of one channel.
        convolution: Taps of the causal convolution.
        chunk: Tokens that are computed at once as attention is.
    """

    heads: int = Field(ge=1)
    head_width: int = Field(ge=1)
    groups: int = Field(ge=1)
    state: int = Field(ge=1)
    convolution: int = Field(default=4, ge=1)
    chunk: int = Field(default=128, ge=1)

    @property
    def small_parameters(self) -> int:
        """Parameters outside products: taps, scales of the norm, and three vectors of heads."""
        inner = self.heads * self.head_width
        channels = inner + 2 * self.groups * self.state
        return self.convolution * channels + inner + 3 * self.heads


class Vectors(Schema):
    """Parameters beside matrices and the norms of the stream: biases, norms of heads, positions.

    They are stored, trained and summed; the kernels that hold the product beside them read them on
    the way, so that they take no time of their own. Every NPU of a tp group holds all of them.

    Attributes:
        attention, linear, mamba, mlp, experts: In each block of that name, whatever is seen.
        expert: In each routed expert, beside those.
        positions: Of the table of learned positions, in the stage of the token table.
    """

    attention: int = Field(default=0, ge=0)
    linear: int = Field(default=0, ge=0)
    mamba: int = Field(default=0, ge=0)
    mlp: int = Field(default=0, ge=0)
    experts: int = Field(default=0, ge=0)
    expert: int = Field(default=0, ge=0)
    positions: int = Field(default=0, ge=0)

    def of(self, block: str) -> int:
        """Parameters in a residual *block*; attention of each kind has the same."""
        if block in ("windowed", "latent", "indexed"):
            return self.attention
        return getattr(self, block) if block in _WITH_VECTORS else 0


_WITH_VECTORS = frozenset({"attention", "linear", "mamba", "mlp", "experts"})
NO_VECTORS = Vectors()
