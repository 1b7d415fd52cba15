"""Description of an architecture: which parts its layers have, and which keys switch them."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """An architecture: which parts its layers have, and which keys switch them.

    A bias is True or False in all releases, or named by the key that says so.

    Attributes:
        net: How the layers make up the net: a name in the table of counting functions.
        norm: Norm of the hidden state: one vector (``rms``), two (``layer``) or none.
        norms: Norms in each layer.
        final_norms: Norms outside of the layers.
        qkv: Whether queries, keys and values have biases.
        out: Whether the projection out of attention has one.
        mlp: Whether the MLP has biases.
        gated: Whether MLP and experts have a gate: three matrices in place of two.
        head_norms: Norms of queries and keys: of one head, or of all heads;
            in all releases, or if ``use_qk_norm`` says so.
        head_dim: Whether ``head_dim`` must be given, may be given, is always width / heads, or
            may be given and is else width / heads rounded down.
        kv_heads: Whether heads of keys and values must be given, may be given, are those of
            queries, or follow from ``multi_query``.
        window: Which layers see a window only: none; all if ``sliding_window`` is given; the
            same if it is also switched on; as ``layer_types`` says, which then must be given;
            the same, but only if windows are switched on. In hybrids also which have attention:
            those of ``attn_layer_indices``, one in a period, or as a pattern repeats.
        linear: Part that mixes tokens in layers without attention.
        beside: Whether that part stands beside attention in every layer.
        latent: Whether attention caches a latent in place of heads.
        sinks: Whether each head has a sink.
        output_gate: Whether attention has a gate as wide as its queries.
        activation: Parameters of the activation in each MLP.
        indexer: Whether an indexer picks the keys that latent attention looks at.
        sub_norms: Whether attention and MLP each have a norm before their last matrix.
        positions: Whether learned positions are added.
        more_positions: Positions beyond those that a sequence may have.
        four_hidden: Whether the MLP is four times as wide as the net unless said.
        head_bias: Whether the output head has a bias.
        experts: The key of the width of experts, if there are any.
        expert_layers: Which layers have experts.
        shared: Width of the expert that every token passes: given by a key, with a gate; number
            times width of an expert; width of an expert; given by a key, or none; given by a key,
            beside experts that may work on a latent.
        expert_biases: Whether experts have biases.
        router_biases: Whether their router has.
        expert_norm: Whether a layer of experts has a norm behind them.
        dense: The key of the width of the MLP; empty if no layer has one.
        needed: Further keys whose absence would let a default of the class shape the net.
        idle: Keys that the modules do not read.
        segments: Whether an encoder has a table for the segment of a token.
        extra: Parts of an encoder beside those of BERT: ``buckets`` for relative positions,
            ``global`` projections in each layer, a further ``norm``, a ``pooler``, a
            table of ``rotary`` positions in place of learned ones, positions that are
            ``turned`` without a table. In T5 ``buckets`` in each layer.
        only: Values of keys beside which other parts would be built, which are not modelled.
        classes: Ends of the names of its classes; empty for those of its kind of net.
    """

    net: str = "decoder"
    norm: Literal["rms", "layer", "none"] = "rms"
    norms: int = 2
    final_norms: int = 1
    qkv: bool | str = False
    out: bool | str = False
    mlp: bool | str = False
    gated: bool = True
    head_norms: Literal["", "head", "whole", "head_if_said", "whole_if_said", "biased_if_said"] = ""
    head_dim: Literal["said", "maybe", "derived", "rounded"] = "maybe"
    kv_heads: Literal["said", "maybe", "heads", "multi_query"] = "said"
    window: Literal[
        "", "all", "switched", "listed", "listed_if_switched", "indices", "period", "pattern"
    ] = ""
    linear: Literal[
        "", "delta", "mamba", "mamba2", "convolution", "recurrent", "lightning", "kimi"
    ] = ""
    beside: bool = False
    latent: bool = False
    sinks: bool = False
    output_gate: bool = False
    activation: int = 0
    indexer: bool = False
    sub_norms: bool = False
    positions: bool = False
    more_positions: int = 0
    four_hidden: bool = False
    head_bias: bool | str = False
    experts: Literal["", "intermediate_size", "moe_intermediate_size"] = ""
    expert_layers: Literal[
        "all",
        "after_first",
        "after_dense",
        "sparse_step",
        "listed",
        "between",
        "period",
        "typed",
        "typed_or_after_first",
    ] = "all"
    shared: Literal["", "gated", "count", "expert", "own", "latent"] = ""
    expert_biases: bool = False
    router_biases: bool = False
    expert_norm: bool = False
    dense: str = "intermediate_size"
    needed: tuple[str, ...] = ()
    idle: frozenset[str] = frozenset()
    only: tuple[tuple[str, object], ...] = ()
    classes: tuple[str, ...] = ()
    segments: bool = True
    extra: Literal["", "buckets", "global", "norm", "pooler", "rotary", "turned"] = ""
