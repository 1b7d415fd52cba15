"""Table of the architectures that are modelled: one line for each ``model_type``.

Facts on the modules are those of transformers 5.23.0 (Apache-2.0), without its code.
"""

from simcore.workload.hub.encoder_families import ENCODER_FAMILIES
from simcore.workload.hub.family import Family
from simcore.workload.hub.own import OWN_FAMILIES


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
    "afmoe": Family(
        norms=4, head_norms="head", head_dim="said", window="listed", output_gate=True,
        experts="moe_intermediate_size", expert_layers="after_dense", shared="count",
        router_biases=True, only=(("attention_bias", False),),
        idle=frozenset({"global_attn_every_n_layers", "mup_enabled"}),
    ),
    "axk1": _latent(expert_layers="typed", expert_norm=True),
    "aria_text": Family(
        experts="intermediate_size", shared="count", dense="",
        only=(("attention_bias", False), ("mlp_bias", False)),
    ),
    "bamba": _with_bias(mlp="mlp_bias", window="indices", linear="mamba2"),
    "apertus": _with_bias(
        gated=False, head_norms="head", activation=2, needed=("hidden_act",),
        only=(("hidden_act", "xielu"),),
    ),
    "arcee": _with_bias(gated=False, mlp="mlp_bias"),
    "biogpt": _gpt(positions=True, more_positions=2, four_hidden=False),
    "bitnet": _with_bias(sub_norms=True),
    "bloom": _gpt(final_norms=2),
    "codegen": _gpt(norms=1, qkv=False, out=False, head_bias=True),
    "cohere": _with_bias(norms=1, head_norms="whole_if_said"),
    "cohere2": _with_bias(
        norms=1, head_dim="said", window="listed", idle=frozenset({"sliding_window_pattern"})
    ),
    "cohere2_moe": Family(
        norms=1, head_dim="said", window="listed", experts="intermediate_size",
        expert_layers="typed", only=(
            ("attention_bias", False), ("num_shared_experts", 0),
            ("prefix_dense_intermediate_size", None),
        ),
        idle=frozenset({
            "expert_selection_fn", "prefix_dense_sliding_window_pattern",
            "shared_expert_combination_strategy", "sliding_window_pattern", "num_shared_experts",
        }),
    ),
    "ctrl": _gpt(four_hidden=False, head_bias=True),
    "cwm": Family(
        head_dim="said", window="listed", only=(("attention_bias", False), ("mlp_bias", False)),
    ),
    "deepseek_v2": _latent(),
    "deepseek_v3": _latent(),
    "deepseek_v32": _latent(
        expert_layers="typed_or_after_first", indexer=True, only=(("mlp_bias", False),)
    ),
    "dots1": _with_bias(
        head_norms="head", window="listed", experts="moe_intermediate_size",
        expert_layers="after_first", shared="count",
    ),
    "ernie4_5": Family(qkv="use_bias", out="use_bias", mlp="use_bias", head_dim="said"),
    "emu3_text_model": Family(only=(("attention_bias", False),)),
    "ernie4_5_moe": Family(
        experts="moe_intermediate_size",
        expert_layers="between", shared="count", router_biases=True, only=(("use_bias", False),),
    ),
    "exaone4": Family(
        head_norms="head", window="listed", idle=frozenset({"sliding_window_pattern"})
    ),
    "exaone_moe": Family(
        head_norms="head", window="listed", experts="moe_intermediate_size",
        expert_layers="typed_or_after_first", shared="count",
        idle=frozenset({"sliding_window_pattern"}),
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
    "flex_olmo": _with_bias(head_norms="whole", experts="intermediate_size", dense=""),
    "gemma": _with_bias(head_dim="said"),
    "gemma2": _with_bias(norms=4, head_dim="said", window="listed"),
    "gemma3_text": _with_bias(
        norms=4, head_norms="head", head_dim="said", window="listed",
        idle=frozenset({"_sliding_window_pattern", "sliding_window_pattern"}),
    ),
    "gemma3n_text": _with_bias(
        net="gemma3n", head_norms="head", head_dim="said", window="listed",
        only=(("altup_correct_scale", True),), needed=("hidden_size_per_layer_input",),
        idle=frozenset({
            "activation_sparsity_pattern", "altup_active_idx", "altup_coef_clip",
            "altup_lr_multiplier",
        }),
    ),
    "gemma4_text": _with_bias(net="gemma4", head_norms="head", head_dim="said", window="listed"),
    "glm": Family(qkv="attention_bias", head_dim="said", needed=_SAYS_BIAS),
    "glm4": Family(qkv="attention_bias", head_dim="said", norms=4, needed=_SAYS_BIAS),
    "glm4v_moe_text": Family(
        qkv="attention_bias", head_dim="rounded", shared="count", experts="moe_intermediate_size",
        expert_layers="after_first", needed=_SAYS_BIAS,
    ),
    "glm4v_text": Family(qkv=True, norms=4, only=(("attention_bias", True),)),
    "glm_ocr_text": Family(norms=4),
    "glm4_moe_lite": _latent(expert_layers="typed"),
    "glm4_moe": Family(
        qkv="attention_bias", head_norms="head_if_said", head_dim="rounded", shared="count",
        experts="moe_intermediate_size", expert_layers="after_first",
        needed=_SAYS_BIAS,
    ),
    "glm_moe_dsa": _latent(
        expert_layers="typed_or_after_first", indexer=True, only=(("mlp_bias", False),)
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
    "granite_swa": _with_bias(
        mlp="mlp_bias", sinks=True, window="listed", idle=frozenset({"layer_rope_theta"})
    ),
    "granitemoe": _with_bias(experts="intermediate_size"),
    "granitemoe_swa": _with_bias(
        sinks=True, window="listed", experts="intermediate_size", shared="own", dense="",
        idle=frozenset({"layer_rope_theta"}),
    ),
    "granitemoehybrid": _with_bias(
        window="listed", linear="mamba2", experts="intermediate_size", shared="own"
    ),
    "granitemoeshared": _with_bias(experts="intermediate_size", shared="own"),
    "helium": Family(qkv="attention_bias", mlp="mlp_bias", head_dim="derived"),
    "hunyuan_v1_dense": _with_bias(head_norms="head"),
    "hunyuan_vl_text": _with_bias(head_norms="head"),
    "hunyuan_v1_moe": _with_bias(
        head_norms="head", experts="intermediate_size", shared="expert", dense="",
    ),
    "hy_v3": Family(
        head_norms="head", head_dim="said", experts="moe_intermediate_size",
        expert_layers="typed", shared="count",
        only=(("attention_bias", False), ("mlp_bias", False)),
        idle=frozenset({"enable_moe_fp32_combine", "router_scaling_factor"}),
    ),
    "hyperclovax": _with_bias(
        norms=4, mlp="mlp_bias", needed=("use_post_norm",), only=(("use_post_norm", True),),
    ),
    "internlm3": _with_bias(mlp="mlp_bias"),
    "iquestcoder": _with_bias(mlp="mlp_bias"),
    "jais2": _with_bias(
        norm="layer", gated=False, mlp="mlp_bias", needed=("attention_bias", "mlp_bias"),
    ),
    "jamba": Family(
        window="period", linear="mamba", experts="intermediate_size", expert_layers="period"
    ),
    "kimi_k2": _latent(),
    "kimi_linear": _latent(
        window="listed", linear="kimi", expert_layers="typed",
        only=(("attention_bias", False), ("tie_word_embeddings", False)),
        idle=frozenset({
            "head_dim", "num_key_value_heads", "qk_head_dim", "model_max_length",
            "moe_renormalize", "num_expert_group",
        }),
    ),
    "lfm2": Family(
        head_norms="head", window="listed", linear="convolution",
        idle=frozenset({"full_attn_idxs"}),
    ),
    "lfm2_moe": Family(
        head_norms="head", window="listed", linear="convolution",
        experts="moe_intermediate_size", expert_layers="after_dense",
        idle=frozenset({"use_expert_bias"}),
    ),
    "llama": _with_bias(mlp="mlp_bias"),
    "llama4_text": _with_bias(
        head_dim="said", window="listed", experts="intermediate_size", expert_layers="listed",
        shared="expert", dense="intermediate_size_mlp",
        idle=frozenset({"attention_chunk_size", "use_qk_norm"}),
    ),
    "mamba": Family(net="mamba", norms=1, idle=frozenset({"expand"})),
    "mamba2": Family(net="mamba2", norms=1, idle=frozenset({"expand", "time_step_rank"})),
    "mellum": Family(
        head_norms="head", head_dim="said", window="listed", experts="moe_intermediate_size",
        expert_layers="typed", only=(("attention_bias", False),),
        idle=frozenset({"mtp_layer_types", "mtp_mlp_layer_types"}),
    ),
    "minicpm3": Family(
        latent=True,
        idle=frozenset({
            "head_dim", "num_key_value_heads", "qk_head_dim", "dim_model_base", "scale_depth",
            "scale_emb",
        }),
    ),
    "minimax": Family(
        window="listed", linear="lightning", experts="intermediate_size",
    ),
    "minimax_m2": Family(head_norms="whole", head_dim="said", experts="intermediate_size"),
    "ministral": Family(head_dim="said", window="listed"),
    "ministral3": Family(head_dim="said", window="all"),
    "mistral": Family(window="all", needed=("sliding_window",)),
    "mistral4": _latent(),
    "mixtral": Family(window="all", experts="intermediate_size"),
    "nanochat": _with_bias(norm="none", gated=False),
    "nemotron": _with_bias(
        norm="layer", gated=False, mlp="mlp_bias", head_dim="said", kv_heads="maybe"
    ),
    "nemotron_h": Family(
        net="hybrid", norms=1, gated=False, mlp="mlp_bias", head_dim="said",
        experts="moe_intermediate_size", shared="latent",
        only=(
            ("attention_bias", False), ("mamba_proj_bias", False), ("tie_word_embeddings", False),
        ),
        idle=frozenset({"expand", "n_shared_experts"}),
    ),
    "olmo": _with_bias(norm="none"),
    "olmo2": _with_bias(head_norms="whole"),
    "olmo3": _with_bias(head_norms="whole", window="listed"),
    "olmo_hybrid": _with_bias(
        head_norms="whole", window="listed", linear="delta",
        idle=frozenset({
            "linear_a_log_max", "linear_a_log_min", "linear_allow_neg_eigval",
            "linear_dt_init_floor", "linear_dt_max", "linear_dt_min",
        }),
    ),
    "olmoe": _with_bias(head_norms="whole", experts="intermediate_size"),
    "openai-gpt": _gpt(positions=True, final_norms=0),
    "opt": _gpt(
        positions=True, more_positions=2, four_hidden=False,
        only=(
            ("do_layer_norm_before", True), ("_remove_final_layer_norm", False),
            ("enable_bias", True), ("layer_norm_elementwise_affine", True),
        ),
    ),
    "paddleocr_vl_text": Family(
        qkv="use_bias", out="use_bias", mlp="use_bias", head_dim="said"
    ),
    "persimmon": _gpt(four_hidden=False, head_norms="biased_if_said"),
    "phi": _gpt(norms=1, head_bias=True, kv_heads="maybe"),
    "phi3": Family(window="all"),
    "phi4_multimodal": Family(
        window="all", idle=frozenset({"audio_config", "vision_config"}),
    ),
    "phimoe": _with_bias(
        norm="layer", window="all", experts="intermediate_size", head_bias="lm_head_bias"
    ),
    "qwen2": Family(qkv=True, window="listed_if_switched"),
    "qwen2_5_omni_text": Family(qkv=True, window="listed_if_switched"),
    "qwen2_5_vl": Family(
        qkv=True, window="listed_if_switched", idle=frozenset({"vision_config"})
    ),
    "qwen2_5_vl_text": Family(qkv=True, window="listed_if_switched"),
    "qwen2_moe": Family(
        qkv="qkv_bias", window="listed_if_switched", experts="moe_intermediate_size",
        expert_layers="sparse_step", shared="gated",
    ),
    "qwen2_vl": Family(
        qkv=True, window="listed_if_switched", idle=frozenset({"vision_config"})
    ),
    "qwen2_vl_text": Family(qkv=True, window="listed_if_switched"),
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
    "qwen3_omni_moe_text": _with_bias(**_QWEN3_MOE, head_dim="rounded", window="switched"),
    "qwen3_vl_moe_text": _with_bias(**_QWEN3_MOE, head_dim="said"),
    "qwen3_vl_text": _with_bias(head_norms="head", head_dim="said"),
    "recurrent_gemma": Family(
        qkv="attention_bias", out=True, mlp=True, head_dim="said", window="pattern",
        linear="recurrent", idle=frozenset({"attention_window_size"}),
    ),
    "seed_oss": Family(
        qkv="attention_bias", out="attention_out_bias", mlp="mlp_bias", head_dim="said",
        needed=_SAYS_BIAS,
    ),
    "smollm3": _with_bias(mlp="mlp_bias", window="listed_if_switched"),
    "solar_open": Family(
        qkv="attention_bias", head_dim="said", experts="moe_intermediate_size", shared="count",
        dense="",
    ),
    "stablelm": Family(
        norm="layer", qkv="use_qkv_bias", head_dim="derived",
        only=(("use_parallel_residual", False), ("qk_layernorm", False)),
    ),
    "starcoder2": Family(
        norm="layer", gated=False, qkv="use_bias", out="use_bias", mlp="use_bias", window="all",
        needed=("use_bias",),
    ),
    "vaultgemma": _with_bias(head_dim="said", window="listed"),
    "xglm": _gpt(four_hidden=False),
    "youtu": Family(
        latent=True,
        idle=frozenset({
            "head_dim", "num_key_value_heads", "qk_head_dim", "embedding_initializer_range",
        }),
    ),
    "zamba2": Family(
        net="zamba2", only=(("use_conv_bias", True),),
        idle=frozenset({
            "hybrid_layer_ids", "kv_channels", "num_query_groups", "use_long_context",
            "use_mem_eff_path", "use_mem_rope",
        }),
    ),
    **ENCODER_FAMILIES,
    **OWN_FAMILIES,
}  # fmt: skip
"""Architectures by ``model_type``; those of vision models by that of their text part."""
