"""GPT-NeoX of ABEJA: matrices without biases but for one in the last layer.

Source of the parts: transformers 5.23.0 (Apache-2.0), ``gpt_neox_japanese``, without its code.
"""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import NUMBER_BYTES, Part

FAMILY = Family(net="gpt_neox_japanese", idle=frozenset({"rotary_emb_base", "rotary_pct"}))


def gpt_neox_japanese(keys: Keys, _family: Family, tied: bool) -> ModelCounts:
    """Counts of the net; all heads have keys and values of their own."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden, heads = keys.number("hidden_size"), keys.number("num_attention_heads")
    if hidden % heads:
        raise keys.refuse("hidden_size", f"must be a multiple of its {heads} heads")
    mlp = 2 * hidden * hidden * keys.number("intermediate_multiple_size")
    layer = Part(4 * hidden * hidden + mlp + 4 * hidden, 0, NUMBER_BYTES * 2 * hidden)
    rest = 3 * hidden + vocabulary * hidden * (not tied)
    return sum_up(vocabulary * hidden, rest, [layer] * layers)
