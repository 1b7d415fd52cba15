"""XLNet (arXiv:1906.08237): attention to distances, with two streams of a shared net."""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import Part

FAMILY = Family(
    net="xlnet", classes=("XLNetLMHeadModel",),
    idle=frozenset({
        "attn_type", "bi_data", "clamp_len", "end_n_top", "ff_activation", "mem_len",
        "reuse_len", "same_length", "start_n_top", "untie_r", "use_mems_eval", "use_mems_train",
    }),
)  # fmt: skip


def xlnet(keys: Keys, _family: Family, _tied: bool) -> ModelCounts:
    """Counts of XLNet; its head is the table of tokens and biases."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden, heads = keys.number("hidden_size"), keys.number("num_attention_heads")
    mlp = keys.number("d_inner")
    if hidden % heads:
        raise keys.refuse("d_model", f"must be a multiple of its {heads} heads")
    keys.must_be("d_head", hidden // heads)
    attention = 5 * hidden * hidden + 5 * hidden
    layer = attention + 2 * hidden * mlp + mlp + hidden + 4 * hidden
    return sum_up(vocabulary * hidden, hidden + vocabulary, [Part(layer)] * layers)
