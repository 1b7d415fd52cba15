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
        head_norms: Norms of queries and keys: of one head, of all heads, or a key for the former.
        head_dim: Whether ``head_dim`` must be given, may be given, or is always width / heads.
        kv_heads: Whether heads of keys and values must be given, may be given, are those of
            queries, or follow from ``multi_query``.
        window: Which layers see a window only: none; all if ``sliding_window`` is given; the
            same if it is also switched on; as ``layer_types`` says, which then must be given;
            the same, but only if windows are switched on.
        latent: Whether attention caches a latent in place of heads.
        sinks: Whether each head has a sink.
        output_gate: Whether attention has a gate as wide as its queries.
        positions: Whether learned positions are added.
        four_hidden: Whether the MLP is four times as wide as the net unless said.
        head_bias: Whether an output head of its own has a bias.
        experts: The key of the width of experts, if there are any.
        expert_layers: Which layers have experts.
        shared: Width of the expert that every token passes: given by a key, with a gate; number
            times width of an expert; width of an expert; given by a key.
        expert_biases: Whether experts and their router have biases.
        dense: The key of the width of the MLP.
        needed: Further keys whose absence would let a default of the class shape the net.
        idle: Keys that the modules do not read.
    """

    net: Literal["decoder", "hybrid", "mamba", "mamba2", "encoder_decoder", "encoder"] = "decoder"
    norm: Literal["rms", "layer", "none"] = "rms"
    norms: int = 2
    final_norms: int = 1
    qkv: bool | str = False
    out: bool | str = False
    mlp: bool | str = False
    gated: bool = True
    head_norms: Literal["", "head", "whole", "use_qk_norm"] = ""
    head_dim: Literal["said", "maybe", "derived"] = "maybe"
    kv_heads: Literal["said", "maybe", "heads", "multi_query"] = "said"
    window: Literal["", "all", "switched", "listed", "listed_if_switched"] = ""
    latent: bool = False
    sinks: bool = False
    output_gate: bool = False
    positions: bool = False
    four_hidden: bool = False
    head_bias: bool = False
    experts: Literal["", "intermediate_size", "moe_intermediate_size"] = ""
    expert_layers: Literal["all", "after_first", "sparse_step", "listed"] = "all"
    shared: Literal["", "gated", "count", "expert", "own"] = ""
    expert_biases: bool = False
    dense: str = "intermediate_size"
    needed: tuple[str, ...] = ()
    idle: frozenset[str] = frozenset()


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
_QWEN3_MOE: dict[str, object] = {
    "head_norms": "head",
    "head_dim": "said",
    "experts": "moe_intermediate_size",
}
_QWEN3_MOE |= {"expert_layers": "sparse_step"}

FAMILIES: dict[str, Family] = {
    "bert": Family(net="encoder"),
    "bloom": _gpt(final_norms=2),
    "deepseek_v2": _latent(),
    "deepseek_v3": _latent(),
    "falcon": Family(
        norm="layer", norms=1, gated=False, qkv="bias", out="bias", mlp="bias", four_hidden=True,
        head_dim="derived", kv_heads="multi_query",
        idle=frozenset({"num_kv_heads"}),
    ),
    "gemma": _with_bias(head_dim="said"),
    "gemma2": _with_bias(norms=4, head_dim="said", window="listed"),
    "gemma3_text": _with_bias(
        norms=4, head_norms="head", head_dim="said", window="listed",
        idle=frozenset({"_sliding_window_pattern", "sliding_window_pattern"}),
    ),
    "glm": Family(qkv="attention_bias", head_dim="said", needed=_SAYS_BIAS),
    "glm4": Family(qkv="attention_bias", head_dim="said", norms=4, needed=_SAYS_BIAS),
    "glm4_moe": Family(
        qkv="attention_bias", head_dim="said", head_norms="use_qk_norm", shared="count",
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
        expert_biases=True, needed=_SAYS_BIAS,
    ),
    "granite": _with_bias(mlp="mlp_bias"),
    "granitemoe": _with_bias(experts="intermediate_size"),
    "helium": Family(qkv="attention_bias", mlp="mlp_bias", head_dim="said"),
    "kimi_k2": _latent(),
    "llama": _with_bias(mlp="mlp_bias"),
    "llama4_text": _with_bias(
        head_dim="said", window="listed", experts="intermediate_size", expert_layers="listed",
        shared="expert", dense="intermediate_size_mlp",
        idle=frozenset({"attention_chunk_size", "use_qk_norm"}),
    ),
    "mamba": Family(net="mamba", norms=1, idle=frozenset({"expand"})),
    "mamba2": Family(net="mamba2", norms=1, idle=frozenset({"expand", "time_step_rank"})),
    "ministral3": Family(head_dim="said", window="all"),
    "mistral": Family(window="all", needed=("sliding_window",)),
    "mixtral": Family(window="all", experts="intermediate_size"),
    "mt5": Family(net="encoder_decoder"),
    "nemotron_h": Family(
        net="hybrid", norms=1, gated=False, qkv="attention_bias", out="attention_bias",
        mlp="mlp_bias", head_dim="said", experts="moe_intermediate_size", shared="own",
        idle=frozenset({"expand", "n_shared_experts"}),
    ),
    "olmo": _with_bias(norm="none"),
    "olmo2": _with_bias(head_norms="whole"),
    "olmo3": _with_bias(head_norms="whole", window="listed"),
    "olmoe": _with_bias(head_norms="whole", experts="intermediate_size"),
    "phi": _gpt(norms=1, head_bias=True, kv_heads="maybe"),
    "phi3": Family(window="all"),
    "qwen2": Family(qkv=True, window="listed_if_switched"),
    "qwen2_moe": Family(
        qkv="qkv_bias", window="listed_if_switched", experts="moe_intermediate_size",
        expert_layers="sparse_step", shared="gated",
    ),
    "qwen3": _with_bias(head_norms="head", head_dim="said", window="listed_if_switched"),
    "qwen3_5_text": _with_bias(
        head_norms="head", head_dim="said", window="listed", output_gate=True,
        idle=frozenset({"full_attention_interval"}),
    ),
    "qwen3_moe": _with_bias(**_QWEN3_MOE, window="switched"),
    "qwen3_vl_moe_text": _with_bias(**_QWEN3_MOE),
    "qwen3_vl_text": _with_bias(head_norms="head", head_dim="said"),
    "roberta": Family(net="encoder"),
    "smollm3": _with_bias(mlp="mlp_bias", window="listed_if_switched"),
    "t5": Family(net="encoder_decoder"),
}  # fmt: skip
"""Architectures by ``model_type``; those of vision models by that of their text part."""

WRAPPERS = frozenset(
    {
        ("gemma3", "gemma3_text"),
        ("llama4", "llama4_text"),
        ("qwen3_5", "qwen3_5_text"),
        ("qwen3_vl", "qwen3_vl_text"),
        ("qwen3_vl_moe", "qwen3_vl_moe_text"),
    }
)
"""Models with vision, and the part of theirs that text passes."""
