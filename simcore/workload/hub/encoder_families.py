"""Table of the architectures with an encoder: one line for each ``model_type``.

Facts on the modules are those of transformers 5.23.0 (Apache-2.0), without its code.
"""

from simcore.workload.hub.family import Family


def _sides(final_norms: int, **other: object) -> Family:
    """A line of the BART kind, with so many norms outside of the layers of each side."""
    tied = ("tie_word_embeddings", True), ("is_decoder", False)
    line = {"net": "bart", "final_norms": final_norms, "positions": True, "only": tied}
    return Family(**(line | other))  # type: ignore[arg-type]


ENCODER_FAMILIES: dict[str, Family] = {
    "albert": Family(net="shared_encoder", needed=("embedding_size",)),
    "bart": _sides(1, more_positions=2),
    "bert": Family(net="encoder"),
    "big_bird": Family(
        net="encoder", extra="pooler", only=(("use_bias", True),),
        idle=frozenset({"attention_type", "num_random_blocks", "rescale_embeddings"}),
    ),
    "bigbird_pegasus": _sides(
        1, qkv="use_bias", idle=frozenset({"attention_type", "num_random_blocks"})
    ),
    "blenderbot": _sides(1, idle=frozenset({"encoder_no_repeat_ngram_size"})),
    "blenderbot-small": _sides(1),
    "camembert": Family(net="encoder"),
    "data2vec-text": Family(net="encoder"),
    "deberta-v2": Family(
        net="deberta", only=(("tie_word_embeddings", True), ("legacy", True)),
        idle=frozenset({"conv_act", "pooler_hidden_size"}),
    ),
    "distilbert": Family(net="encoder", segments=False),
    "electra": Family(net="encoder", needed=("embedding_size",)),
    "ernie": Family(net="encoder", idle=frozenset({"task_type_vocab_size"})),
    "ibert": Family(net="encoder", idle=frozenset({"quant_mode", "force_dequant"})),
    "longt5": Family(
        net="encoder_decoder", needed=("encoder_attention_type",),
        only=(("encoder_attention_type", "local"),),
        idle=frozenset({"global_block_size", "local_radius"}),
    ),
    "jina_embeddings_v3": Family(net="encoder", extra="turned"),
    "longformer": Family(
        net="encoder", extra="global", idle=frozenset({"attention_window", "onnx_export"})
    ),
    "m2m_100": _sides(1, positions=False),
    "marian": _sides(
        0, idle=frozenset({"decoder_vocab_size"}),
        only=(
            ("tie_word_embeddings", True), ("is_decoder", False),
            ("share_encoder_decoder_embeddings", True),
        ),
    ),
    "mbart": _sides(2, more_positions=2),
    "megatron-bert": Family(net="encoder"),
    "modernbert": Family(
        net="gated_encoder", segments=False,
        only=(
            ("attention_bias", False), ("mlp_bias", False), ("norm_bias", False),
            ("tie_word_embeddings", True),
        ),
        idle=frozenset({
            "classifier_activation", "classifier_pooling", "deterministic_flash_attn",
            "global_attn_every_n_layers", "global_rope_theta", "initializer_cutoff_factor",
            "layer_types", "local_attention", "local_rope_theta", "reference_compile",
            "sparse_pred_ignore_index", "sparse_prediction", "repad_logits_with_grad",
        }),
    ),
    "mpnet": Family(net="encoder", segments=False, extra="buckets"),
    "mra": Family(
        net="encoder", more_positions=2,
        idle=frozenset({
            "approx_mode", "block_per_row", "initial_prior_diagonal_n_blocks",
            "initial_prior_first_n_blocks",
        }),
    ),
    "mt5": Family(net="encoder_decoder"),
    "mvp": _sides(
        1, more_positions=2, idle=frozenset({"prompt_length", "prompt_mid_dim"}),
        only=(
            ("tie_word_embeddings", True), ("is_decoder", False), ("use_prompt", False),
        ),
    ),
    "nomic_bert": Family(net="gated_encoder", norm="layer"),
    "pegasus": _sides(1),
    "plbart": _sides(1, more_positions=2),
    "roberta": Family(net="encoder"),
    "roberta-prelayernorm": Family(net="encoder", extra="norm"),
    "roformer": Family(
        net="encoder", extra="rotary", needed=("embedding_size",),
        idle=frozenset({"rotary_value"}),
    ),
    "t5": Family(net="encoder_decoder"),
    "umt5": Family(net="encoder_decoder", extra="buckets"),
    "xlm-roberta": Family(net="encoder"),
    "xlm-roberta-xl": Family(net="encoder"),
    "yoso": Family(
        net="encoder", more_positions=2, only=(("conv_window", None),),
        idle=frozenset({
            "hash_code_len", "lsh_backward", "num_hash", "use_expectation", "use_fast_hash",
        }),
    ),
    "whisper": Family(
        net="whisper", only=(("tie_word_embeddings", True),),
        idle=frozenset({
            "apply_spec_augment", "begin_suppress_tokens", "classifier_proj_size",
            "forced_decoder_ids", "mask_feature_length", "mask_feature_min_masks",
            "mask_feature_prob", "mask_time_length", "mask_time_min_masks", "mask_time_prob",
            "max_length", "median_filter_width", "suppress_tokens", "use_weighted_layer_sum",
        }),
    ),
}  # fmt: skip
"""These architectures by ``model_type``."""
