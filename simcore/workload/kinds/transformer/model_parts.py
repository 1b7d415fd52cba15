"""Parts that only some models have: latent attention, routed experts, state space layers."""

from pydantic import Field

from simcore.schema import Schema


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
    """

    query_rank: int = Field(ge=1)
    key_value_rank: int = Field(ge=1)
    plain_width: int = Field(ge=1)
    rotary_width: int = Field(ge=0)
    value_width: int = Field(ge=1)


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
