"""Zamba (arXiv:2405.16712): layers of Mamba, some behind one block of attention that all share."""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.layers import shared_block_layers
from simcore.workload.hub.parts import NUMBER_BYTES, Part, jamba

FAMILY = Family(
    net="zamba",
    idle=frozenset({
        "attn_layer_offset", "attn_layer_period", "hidden_mamba_act", "hybrid_layer_ids",
    }),
)  # fmt: skip


def zamba(keys: Keys, _family: Family, tied: bool) -> ModelCounts:
    """Counts of Zamba; the block reads the hidden state beside the token vectors."""
    kinds, hidden = shared_block_layers(keys), keys.number("hidden_size")
    vocabulary, mlp = keys.number("vocab_size"), keys.number("intermediate_size")
    head, wide = keys.number("attention_head_dim"), keys.number("attention_hidden_size")
    keys.must_be("attention_hidden_size", 2 * hidden)
    inner, pairs = keys.number("num_attention_heads") * head, keys.number("num_key_value_heads")
    pairs *= head
    state, groups = jamba(keys, hidden), keys.number("n_mamba_heads")
    state_norms = keys.number("mamba_dt_rank") + 2 * keys.number("mamba_d_state")
    if keys.number("mamba_expand") * hidden % groups:
        raise keys.refuse("n_mamba_heads", "must divide the inner width")
    layer = Part(state.parameters - state_norms + hidden)
    block = wide * (inner + 2 * pairs) + inner * hidden + 3 * hidden * mlp + wide + hidden
    place = Part(hidden * hidden, cache_bytes_per_token=NUMBER_BYTES * 2 * pairs)
    places = kinds.count("hybrid")
    rest = block * (places > 0) + hidden + vocabulary * hidden * (not tied)
    return sum_up(vocabulary * hidden, rest, [layer] * len(kinds) + [place] * places)
