"""Keys of a ``config.json``: their spellings, and which of them change no shape."""

import re
from collections.abc import Mapping

from simcore.errors import ConfigError

SPELLINGS: dict[str, tuple[str, ...]] = {
    "hidden_size": ("hidden_size", "n_embd", "d_model", "dim"),
    "num_hidden_layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers"),
    "num_attention_heads": (
        "num_attention_heads",
        "n_head",
        "num_heads",
        "n_heads",
        "attention_heads",
    ),
    "num_key_value_heads": ("num_key_value_heads", "num_kv_heads"),
    "intermediate_size": (
        "intermediate_size",
        "n_inner",
        "ffn_hidden_size",
        "d_ff",
        "ffn_dim",
        "hidden_dim",
        "dff",
    ),
    "head_dim": ("head_dim", "d_kv"),
    "max_position_embeddings": ("max_position_embeddings", "n_positions"),
    "num_experts": ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"),
    "num_experts_per_tok": (
        "num_experts_per_tok",
        "num_experts_per_token",
        "experts_per_token",
        "moe_k",
        "moe_topk",
        "top_k_experts",
    ),
    "n_shared_experts": ("n_shared_experts", "moe_num_shared_experts", "num_shared_experts"),
}
"""Names of this package, and how releases write them."""

NEUTRAL = frozenset(
    """
    _attn_implementation_autoset _name_or_path activation activation_function architectures
    attention_multiplier attention_softmax_in_fp32 attn_implementation attn_logit_softcapping
    attn_scale attn_temperature_tuning aux_loss_alpha chunk_size clip_qkv dense_act_fn dtype
    embedding_multiplier ep_size final_logit_softcapping floor_scale for_llm_compressor
    hidden_act hidden_activation id2label initial_context_length initializer_factor
    initializer_range is_encoder_decoder is_gated_act label2id logits_scaling mamba_hidden_act
    mamba_ssm_cache_dtype mamba_ssm_dtype max_position_embeddings max_window_layers
    mlp_hidden_act model_type moe_shared_expert_overlap mtp_hybrid_override_pattern
    mtp_layers_block_type mtp_num_hidden_layers mtp_use_dedicated_embeddings n_group
    n_positions no_rope_layer_interval no_rope_layers norm_topk_prob num_logits_to_keep
    num_nextn_predict_layers original_max_position_embeddings output_router_logits
    partial_rotary_factor pretraining_tp quantization_config query_pre_attn_scalar
    relative_attention_max_distance reorder_and_upcast_attn rescale_prenorm_residual
    residual_in_fp32 residual_multiplier rope_interleave rope_parameters rope_scaling
    rope_theta routed_scaling_factor router_aux_loss_coef router_jitter_noise
    scale_attention_softmax_in_fp32 scale_attn_by_inverse_layer_idx scale_attn_weights
    scale_decoder_outputs scoring_func seq_aux slow_but_exact swiglu_alpha swiglu_limit
    time_step_floor time_step_init_scheme time_step_limit time_step_max time_step_min
    time_step_scale tokenizer_class topk_group topk_method torch_dtype transformers_version
    use_associative_scan use_bidirectional_attention use_cache use_mamba_kernels use_mambapy
    chunk_size_feed_forward output_attentions output_hidden_states problem_type return_dict
    init_std input_jitter_noise layerdrop logit_scale moe_norm_min n_ctx rotary_dim
    attention_in_multiplier attention_out_multiplier key_multiplier lm_head_multiplier
    mamba_chunk_size mlp_multipliers position_embedding_type scale_embedding ssm_in_multiplier
    ssm_multipliers ssm_out_multiplier z_loss_coefficient encoder_layerdrop decoder_layerdrop
    block_size final_w_init_variance_scale full_attn_alpha_factor full_attn_beta_factor
    linear_attn_alpha_factor linear_attn_beta_factor logits_soft_cap mlp_alpha_factor
    mlp_beta_factor w_init_variance_scale afn embed_init_std index_topk max_source_length
    num_image_tokens pooler_hidden_act route_scale router_dtype
    apply_residual_connection_post_layernorm use_parallel_residual window_size
    """.split()  # noqa: SIM905
)
"""Keys without effect on any shape, in all architectures that are modelled."""

_NEUTRAL_KINDS = re.compile(
    r"\w+_token_id|\w+_token_index|\w*dropout\w*|\w+_pdrop|\w+_eps|\w+_epsilon|summary_\w+"
)

IDLE_IF_OFF = frozenset(
    """
    add_cross_attention alibi attention_bias attn_output_gate bias first_k_dense_replace is_decoder
    layer_types mlp_bias mlp_only_layers multi_query n_shared_experts new_decoder_architecture
    qk_layernorm qkv_bias shared_expert_intermediate_size sliding_window use_bias use_qk_norm
    use_sliding_window use_task_id _remove_final_layer_norm
    """.split()  # noqa: SIM905
)
"""Switches that stand, turned off, in files of architectures without what they switch."""


class UnmodelledError(ConfigError):
    """A model with a part whose shapes are not known here, so that it is not counted."""


class Keys:
    """The keys of one net, each read once by the part that it shapes.

    A key that no part has read by the end, and that is not known to be without effect, may shape
    something: ``refuse_unread`` refuses it, so that no count is silently wrong.
    """

    def __init__(self, table: Mapping[str, object], at: str) -> None:
        self.table, self.at = table, at
        self._read: set[str] = set()

    def value(self, name: str) -> object:
        """The value of a key in any spelling, or None.

        Raises:
            ConfigError: Two spellings differ.
        """
        spellings = SPELLINGS.get(name, (name,))
        self._read.update(spellings)
        found = {s: self.table[s] for s in spellings if self.table.get(s) is not None}
        values = list(found.values())
        if any(value != values[0] for value in values):
            raise ConfigError(self.at, f"must not hold two values of {name}: drop one", got=found)
        return values[0] if values else None

    def has(self, name: str) -> bool:
        """True if the key stands in the file with a value."""
        return self.value(name) is not None

    def says(self, name: str) -> bool:
        """True if the key stands in the file, null included."""
        self._read.update(SPELLINGS.get(name, (name,)))
        return any(spelling in self.table for spelling in SPELLINGS.get(name, (name,)))

    def needed(self, name: str) -> None:
        """Refuse a file that leaves the key out, so that a default would shape the net.

        Raises:
            ConfigError: The key is missing.
        """
        if not self.says(name):
            rule = "must be given, because it shapes the net: add the key as the release has it"
            raise ConfigError(self.place(name), rule, got="no such key")

    def place(self, name: str) -> str:
        """File and key, for a sentence."""
        return f"{self.at}: {name}"

    def number(self, name: str, default: int | None = None, *, least: int = 1) -> int:
        """The value of a key that must be a whole number.

        Raises:
            ConfigError: It is none, or missing where there is no *default*.
        """
        value = self.value(name)
        if value is None and default is not None:
            return default
        if value is None:
            self.needed(name)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 1 << 40:
            rule = f"must be a whole number of at least {least}: correct it"
            raise ConfigError(self.place(name), rule, got=value)
        return value

    def flag(self, name: str, default: bool | None = None) -> bool:
        """The value of a key that must be true or false.

        Raises:
            ConfigError: It is neither, or missing where there is no *default*.
        """
        value = self.value(name)
        if value is None and default is not None:
            return default
        if value is None:
            self.needed(name)
        if not isinstance(value, bool):
            raise ConfigError(self.place(name), "must be true or false: correct it", got=value)
        return value

    def texts(self, name: str) -> list[str] | None:
        """The value of a key that must be a list of words, or None."""
        value = self.value(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ConfigError(self.place(name), "must be a list of words: correct it", got=value)
        return value

    def layers(self, name: str) -> set[int] | None:
        """The value of a key that must be a list of numbers of layers, or None."""
        value = self.value(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(type(item) is int for item in value):
            rule = "must be a list of whole numbers: correct it"
            raise ConfigError(self.place(name), rule, got=value)
        return set(value)

    def refuse(self, name: str, why: str) -> UnmodelledError:
        """The error that this value of a key is not modelled."""
        return UnmodelledError(self.place(name), why, got=self.value(name))

    def must_be(self, name: str, *allowed: object) -> None:
        """Refuse a value that would build other parts than those counted.

        Raises:
            UnmodelledError: The key has a value, and none of *allowed*.
        """
        if self.has(name) and self.value(name) not in allowed:
            told = " or ".join(str(value).lower() for value in allowed)
            raise self.refuse(name, f"must be {told}: other values are not modelled")

    def refuse_unread(self, architecture: str, idle: frozenset[str]) -> None:
        """Refuse keys that may shape something which was not counted.

        Args:
            architecture: Its ``model_type``, for the sentence.
            idle: Keys that this architecture's modules do not read.

        Raises:
            UnmodelledError: There is such a key.
        """
        for name, value in self.table.items():
            if value is None or name in self._read or name in NEUTRAL or name in idle:
                continue
            if _NEUTRAL_KINDS.fullmatch(name) or (name in IDLE_IF_OFF and not value):
                continue
            rule = f"is not known for {architecture} and may change shapes: drop it if it does not"
            raise UnmodelledError(self.place(name), rule, got=value)
