"""MPT: attention with slopes by distance, and no biases anywhere.

Source of the parts: transformers 5.23.0 (Apache-2.0), ``mpt``, without its code.
"""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.own.nested import nested
from simcore.workload.hub.parts import NUMBER_BYTES, Part

FAMILY = Family(
    net="mpt", needed=("no_bias",), only=(("no_bias", True), ("tie_word_embeddings", True)),
    idle=frozenset({
        "embedding_fraction", "init_config", "init_device", "learned_pos_emb", "max_seq_len",
        "norm_type", "verbose",
    }),
)  # fmt: skip


def mpt(keys: Keys, _family: Family, _tied: bool) -> ModelCounts:
    """Counts of MPT; the program has slopes in place of learned positions, whatever a file says."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden, heads = keys.number("hidden_size"), keys.number("num_attention_heads")
    if hidden % heads:
        raise keys.refuse("n_heads", f"must divide the width {hidden}")
    inner = nested(
        keys, "attn_config",
        {"alibi", "alibi_bias_max", "attn_impl", "attn_type", "attn_uses_sequence_id", "clip_qkv",
         "prefix_lm", "softmax_scale"},
    )  # fmt: skip
    inner.must_be("qk_ln", False)
    inner.refuse_unread("attn_config", frozenset())
    wide = keys.number("expansion_ratio") * hidden
    layer = 4 * hidden * hidden + 2 * hidden * wide + 2 * hidden
    part = Part(layer, cache_bytes_per_token=NUMBER_BYTES * 2 * hidden)
    return sum_up(vocabulary * hidden, hidden, [part] * layers)
