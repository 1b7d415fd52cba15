"""Table of the architectures that are modelled: one line for each ``model_type``.

Facts on the modules are those of transformers 5.23.0 (Apache-2.0), without its code.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """An architecture: which parts its layers have, and which keys switch them.

    A bias is True or False in all releases, or named by the key that says so.

    Attributes:
        net: How the layers make up the net.
        norm: Norm of the hidden state: one vector (``rms``), two (``layer``) or none.
        norms: Norms in each layer.
        final_norms: Norms outside of the layers.
        qkv: Whether queries, keys and values have biases.
        out: Whether the projection out of attention has one.
        mlp: Whether the MLP has biases.
        gated: Whether MLP and experts have a gate: three matrices in place of two.
        head_norms: Norms of queries and keys: of one head, or of all heads;
            in all releases, or if ``use_qk_norm`` says so.
        head_dim: Whether ``head_dim`` must be given, may be given, or is always width / heads.
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
        dense: The key of the width of the MLP; empty if no layer has one.
        needed: Further keys whose absence would let a default of the class shape the net.
        idle: Keys that the modules do not read.
        segments: Whether an encoder has a table for the segment of a token.
        only: Values of keys beside which other parts would be built, which are not modelled.
    """

    net: Literal[
        "decoder",
        "hybrid",
        "mamba",
        "mamba2",
        "encoder_decoder",
        "encoder",
        "shared_encoder",
        "bart",
    ] = "decoder"
    norm: Literal["rms", "layer", "none"] = "rms"
    norms: int = 2
    final_norms: int = 1
    qkv: bool | str = False
    out: bool | str = False
    mlp: bool | str = False
    gated: bool = True
    head_norms: Literal["", "head", "whole", "head_if_said", "whole_if_said"] = ""
    head_dim: Literal["said", "maybe", "derived"] = "maybe"
    kv_heads: Literal["said", "maybe", "heads", "multi_query"] = "said"
    window: Literal[
        "", "all", "switched", "listed", "listed_if_switched", "indices", "period", "pattern"
    ] = ""
    linear: Literal["", "delta", "mamba", "mamba2", "convolution", "recurrent", "lightning"] = ""
    beside: bool = False
    latent: bool = False
    sinks: bool = False
    output_gate: bool = False
    sub_norms: bool = False
    positions: bool = False
    more_positions: int = 0
    four_hidden: bool = False
    head_bias: bool | str = False
    experts: Literal["", "intermediate_size", "moe_intermediate_size"] = ""
    expert_layers: Literal[
        "all", "after_first", "sparse_step", "listed", "between", "period", "typed"
    ] = "all"
    shared: Literal["", "gated", "count", "expert", "own", "latent"] = ""
    expert_biases: bool = False
    router_biases: bool = False
    dense: str = "intermediate_size"
    needed: tuple[str, ...] = ()
    idle: frozenset[str] = frozenset()
    only: tuple[tuple[str, object], ...] = ()
    segments: bool = True


def _with_bias(**other: object) -> Family:
    """A line whose attention has biases if ``attention_bias`` says so."""
    return Family(**({"qkv": "attention_bias", "out": "attention_bias"} | other))  # type: ignore[arg-type]


def _gpt(**other: object) -> Family:
    """A line of the GPT kind: layer norms, biases everywhere, two matrices in the MLP."""
    line = {"norm": "layer", "gated": False, "qkv": True, "out": True, "mlp": True}
    old = {"kv_heads": "heads", "head_dim": "derived", "four_hidden": True}
    return Family(**(line | old | other))  # type: ignore[arg-type]


def _latent(**other: object) -> Family:
    """A line of the DeepSeek kind: latent attention, experts after some dense layers."""
    line = {"latent": True, "experts": "moe_intermediate_size", "expert_layers": "after_first"}
    idle = frozenset({"head_dim", "num_key_value_heads", "qk_head_dim"})
    return Family(**(line | {"shared": "count", "idle": idle} | other))  # type: ignore[arg-type]


_SAYS_BIAS = ("attention_bias",)
_QWEN3_MOE: dict[str, object] = {"head_norms": "head", "experts": "moe_intermediate_size"}
_QWEN3_MOE |= {"expert_layers": "sparse_step"}

FAMILIES: dict[str, Family] = {
    "albert": Family(net="shared_encoder", needed=("embedding_size",)),
    "bamba": _with_bias(mlp="mlp_bias", window="indices", linear="mamba2"),
    "bart": Family(net="bart", only=(("tie_word_embeddings", True), ("is_decoder", False))),
    "arcee": _with_bias(gated=False, mlp="mlp_bias"),
    "bert": Family(net="encoder"),
    "bitnet": _with_bias(sub_norms=True),
    "bloom": _gpt(final_norms=2),
    "codegen": _gpt(norms=1, qkv=False, out=False, head_bias=True),
    "cohere": _with_bias(norms=1, head_norms="whole_if_said"),
    "cohere2": _with_bias(
        norms=1, head_dim="said", window="listed", idle=frozenset({"sliding_window_pattern"})
    ),
    "deepseek_v2": _latent(),
    "deepseek_v3": _latent(),
    "distilbert": Family(net="encoder", segments=False),
    "dots1": _with_bias(
        head_norms="head", window="listed", experts="moe_intermediate_size",
        expert_layers="after_first", shared="count",
    ),
    "electra": Family(net="encoder", needed=("embedding_size",)),
    "ernie4_5": Family(qkv="use_bias", out="use_bias", mlp="use_bias", head_dim="said"),
    "ernie4_5_moe": Family(
        experts="moe_intermediate_size",
        expert_layers="between", shared="count", router_biases=True, only=(("use_bias", False),),
    ),
    "exaone4": Family(
        head_norms="head", window="listed", idle=frozenset({"sliding_window_pattern"})
    ),
    "falcon": Family(
        norm="layer", norms=1, gated=False, qkv="bias", out="bias", mlp="bias", four_hidden=True,
        head_dim="derived", kv_heads="multi_query",
        idle=frozenset({"num_kv_heads", "alibi"}),
    ),
    "falcon_h1": _with_bias(
        mlp="mlp_bias", linear="mamba2", beside=True,
        idle=frozenset({"mamba_norm_before_gate", "mamba_expand"}),
    ),
    "falcon_mamba": Family(net="mamba", norms=1, idle=frozenset({"expand"})),
    "gemma": _with_bias(head_dim="said"),
    "gemma2": _with_bias(norms=4, head_dim="said", window="listed"),
    "gemma3_text": _with_bias(
        norms=4, head_norms="head", head_dim="said", window="listed",
        idle=frozenset({"_sliding_window_pattern", "sliding_window_pattern"}),
    ),
    "glm": Family(qkv="attention_bias", head_dim="said", needed=_SAYS_BIAS),
    "glm4": Family(qkv="attention_bias", head_dim="said", norms=4, needed=_SAYS_BIAS),
    "glm4_moe_lite": _latent(expert_layers="typed"),
    "glm4_moe": Family(
        qkv="attention_bias", head_norms="head_if_said", shared="count",
        experts="moe_intermediate_size", expert_layers="after_first",
        needed=_SAYS_BIAS,
    ),
    "gpt2": _gpt(positions=True),
    "gpt_bigcode": _gpt(
        positions=True, kv_heads="multi_query", idle=frozenset({"num_key_value_heads"})
    ),
    "gpt_neo": _gpt(
        positions=True, qkv=False, idle=frozenset({"attention_layers", "attention_types"})
    ),
    "gpt_neox": _gpt(qkv="attention_bias", out="attention_bias", needed=_SAYS_BIAS),
    "gpt_oss": _with_bias(
        head_dim="said", window="listed", sinks=True, experts="intermediate_size",
        expert_biases=True, router_biases=True, needed=_SAYS_BIAS,
    ),
    "gptj": _gpt(norms=1, qkv=False, out=False, head_bias=True),
    "granite": _with_bias(mlp="mlp_bias"),
    "granitemoe": _with_bias(experts="intermediate_size"),
    "granitemoehybrid": _with_bias(
        window="listed", linear="mamba2", experts="intermediate_size", shared="own"
    ),
    "granitemoeshared": _with_bias(experts="intermediate_size", shared="own"),
    "helium": Family(qkv="attention_bias", mlp="mlp_bias", head_dim="said"),
    "hunyuan_v1_dense": _with_bias(head_norms="head"),
    "jamba": Family(
        window="period", linear="mamba", experts="intermediate_size", expert_layers="period"
    ),
    "kimi_k2": _latent(),
    "lfm2": Family(
        head_norms="head", window="listed", linear="convolution",
        idle=frozenset({"full_attn_idxs"}),
    ),
    "llama": _with_bias(mlp="mlp_bias"),
    "llama4_text": _with_bias(
        head_dim="said", window="listed", experts="intermediate_size", expert_layers="listed",
        shared="expert", dense="intermediate_size_mlp",
        idle=frozenset({"attention_chunk_size", "use_qk_norm"}),
    ),
    "mamba": Family(net="mamba", norms=1, idle=frozenset({"expand"})),
    "mamba2": Family(net="mamba2", norms=1, idle=frozenset({"expand", "time_step_rank"})),
    "minimax": Family(
        window="listed", linear="lightning", experts="intermediate_size",
    ),
    "minimax_m2": Family(head_norms="whole", head_dim="said", experts="intermediate_size"),
    "ministral3": Family(head_dim="said", window="all"),
    "mistral": Family(window="all", needed=("sliding_window",)),
    "mixtral": Family(window="all", experts="intermediate_size"),
    "mt5": Family(net="encoder_decoder"),
    "nemotron": _with_bias(
        norm="layer", gated=False, mlp="mlp_bias", head_dim="said", kv_heads="maybe"
    ),
    "nemotron_h": Family(
        net="hybrid", norms=1, gated=False, qkv="attention_bias", out="attention_bias",
        mlp="mlp_bias", head_dim="said", experts="moe_intermediate_size", shared="latent",
        idle=frozenset({"expand", "n_shared_experts"}), only=(("use_bias", False),),
    ),
    "olmo": _with_bias(norm="none"),
    "olmo2": _with_bias(head_norms="whole"),
    "olmo3": _with_bias(head_norms="whole", window="listed"),
    "olmoe": _with_bias(head_norms="whole", experts="intermediate_size"),
    "opt": _gpt(
        positions=True, more_positions=2, four_hidden=False,
        only=(
            ("do_layer_norm_before", True), ("_remove_final_layer_norm", False),
            ("enable_bias", True), ("layer_norm_elementwise_affine", True),
        ),
    ),
    "phi": _gpt(norms=1, head_bias=True, kv_heads="maybe"),
    "phi3": Family(window="all"),
    "phimoe": _with_bias(
        norm="layer", window="all", experts="intermediate_size", head_bias="lm_head_bias"
    ),
    "qwen2": Family(qkv=True, window="listed_if_switched"),
    "qwen2_moe": Family(
        qkv="qkv_bias", window="listed_if_switched", experts="moe_intermediate_size",
        expert_layers="sparse_step", shared="gated",
    ),
    "qwen3": _with_bias(head_norms="head", head_dim="said", window="listed_if_switched"),
    "qwen3_5_text": _with_bias(
        head_norms="head", head_dim="said", window="listed", linear="delta", output_gate=True,
        idle=frozenset({"full_attention_interval"}),
    ),
    "qwen3_5_moe_text": _with_bias(
        head_norms="head", head_dim="said", window="listed", linear="delta", output_gate=True,
        dense="", experts="moe_intermediate_size", shared="gated",
        idle=frozenset({"full_attention_interval", "mlp_only_layers"}),
    ),
    "qwen3_moe": _with_bias(**_QWEN3_MOE, window="switched"),
    "qwen3_next": _with_bias(
        head_norms="head", head_dim="said", window="listed", linear="delta", output_gate=True,
        experts="moe_intermediate_size", expert_layers="sparse_step", shared="gated",
        idle=frozenset({"full_attention_interval"}),
    ),
    "qwen3_vl_moe_text": _with_bias(**_QWEN3_MOE, head_dim="said"),
    "qwen3_vl_text": _with_bias(head_norms="head", head_dim="said"),
    "recurrent_gemma": Family(
        qkv="attention_bias", out=True, mlp=True, head_dim="said", window="pattern",
        linear="recurrent", idle=frozenset({"attention_window_size"}),
    ),
    "roberta": Family(net="encoder"),
    "seed_oss": Family(
        qkv="attention_bias", out="attention_out_bias", mlp="mlp_bias", head_dim="said",
        needed=_SAYS_BIAS,
    ),
    "smollm3": _with_bias(mlp="mlp_bias", window="listed_if_switched"),
    "stablelm": Family(
        norm="layer", qkv="use_qkv_bias", head_dim="derived",
        only=(("use_parallel_residual", False), ("qk_layernorm", False)),
    ),
    "starcoder2": Family(
        norm="layer", gated=False, qkv="use_bias", out="use_bias", mlp="use_bias", window="all",
        needed=("use_bias",),
    ),
    "t5": Family(net="encoder_decoder"),
    "vaultgemma": _with_bias(head_dim="said", window="listed"),
    "xlm-roberta": Family(net="encoder"),
}  # fmt: skip
"""Architectures by ``model_type``; those of vision models by that of their text part."""

WRAPPERS = frozenset(
    {
        ("gemma3", "gemma3_text"),
        ("llama4", "llama4_text"),
        ("mistral3", "ministral3"),
        ("mistral3", "mistral"),
        ("qwen3_5", "qwen3_5_text"),
        ("qwen3_5_moe", "qwen3_5_moe_text"),
        ("qwen3_vl", "qwen3_vl_text"),
        ("qwen3_vl_moe", "qwen3_vl_moe_text"),
    }
)
"""Models with vision, and the part of theirs that text passes."""
