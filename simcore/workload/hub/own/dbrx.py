"""DBRX: experts behind grouped attention, in tables of their own.

Source of the parts: transformers 5.23.0 (Apache-2.0), ``dbrx``, without its code.
"""

from collections.abc import Mapping

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.own.nested import nested
from simcore.workload.hub.parts import NUMBER_BYTES, Part

FAMILY = Family(net="dbrx", idle=frozenset({"max_seq_len"}))


def dbrx(keys: Keys, _family: Family, tied: bool) -> ModelCounts:
    """Counts of DBRX, whose norms have no biases."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden, heads = keys.number("hidden_size"), keys.number("num_attention_heads")
    inner = nested(keys, "attn_config", {"clip_qkv", "rope_theta"})
    ffn = nested(
        keys, "ffn_config",
        {"hidden_size", "moe_jitter_eps", "moe_loss_weight", "moe_normalize_expert_weights",
         "uniform_expert_assignment"},
        {"ffn_act_fn": Mapping},
    )  # fmt: skip
    kv_heads = inner.number("kv_n_heads")
    inner.refuse_unread("attn_config", frozenset())
    keys.must_be("num_key_value_heads", kv_heads)
    if hidden % heads or heads % kv_heads:
        raise keys.refuse("n_heads", f"must divide {hidden} and be a multiple of kv_n_heads")
    pairs = 2 * kv_heads * (hidden // heads)
    count, width = ffn.number("moe_num_experts"), ffn.number("ffn_hidden_size")
    chosen = ffn.number("moe_top_k")
    ffn.refuse_unread("ffn_config", frozenset())
    if chosen > count:
        raise ffn.refuse("moe_top_k", f"must be at most the {count} experts")
    routed = 3 * count * width * hidden
    attention = hidden * (2 * hidden + pairs) + 2 * hidden
    layer = Part(attention + routed + count * hidden, routed, NUMBER_BYTES * pairs)
    rest = hidden + vocabulary * hidden * (not tied)
    return sum_up(vocabulary * hidden, rest, [layer] * layers, chosen / count)
