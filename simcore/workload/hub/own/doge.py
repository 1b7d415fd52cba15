"""Doge: attention that masks values by a learned gate, and weighted residual connections.

Source of the parts: transformers 5.23.0 (Apache-2.0), ``doge``, without its code.
"""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import NUMBER_BYTES, Part, Widths

FAMILY = Family(
    net="doge",
    only=(
        ("attention_bias", False), ("is_moe", False), ("mlp_bias", False), ("sliding_window", None),
    ),
    needed=("is_moe",),
    idle=frozenset({"keep_window_size", "num_experts", "num_experts_per_tok"}),
)  # fmt: skip


def doge(keys: Keys, family: Family, tied: bool) -> ModelCounts:
    """Counts of Doge without experts; its gates read the values of all heads."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    own = Widths.read(keys, family)
    hidden, pairs = own.hidden, own.kv_heads * own.head
    attention = 2 * hidden * (own.heads * own.head + pairs) + 2 * own.head
    gates = own.kv_heads + own.kv_heads * pairs
    layer = attention + gates + 3 * hidden * own.mlp + 4 * hidden
    part = Part(layer, cache_bytes_per_token=NUMBER_BYTES * 2 * pairs)
    rest = hidden + vocabulary * hidden * (not tied)
    return sum_up(vocabulary * hidden, rest, [part] * layers)
