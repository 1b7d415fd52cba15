"""MiMo-V2-Flash: values narrower than keys, and twice the heads of keys in layers with a window.

Source of the parts: transformers 5.23.0 (Apache-2.0), ``mimo_v2_flash``, without its code.
"""

from simcore.workload.hub.counts import ModelCounts, sum_up, token_share
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.layers import have_experts, mixers
from simcore.workload.hub.parts import NUMBER_BYTES, Part, Widths, experts, has_bias, mlp

FAMILY = Family(
    net="mimo_v2_flash", qkv="attention_bias", head_dim="said", window="listed",
    experts="moe_intermediate_size", expert_layers="typed",
    idle=frozenset({"attention_value_scale"}),
)  # fmt: skip


def mimo_v2_flash(keys: Keys, family: Family, tied: bool) -> ModelCounts:
    """Counts of MiMo-V2-Flash; heads have sinks in layers with a window."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    own, value = Widths.read(keys, family), keys.number("v_head_dim")
    found = []
    for kind in mixers(keys, family, layers):
        if kind == "linear":
            raise keys.refuse("layer_types", "must hold layers of attention for this architecture")
        pairs = own.kv_heads * (2 if kind == "sliding" else 1)
        into = own.heads * own.head + pairs * (own.head + value)
        count = own.hidden * (into + own.heads * value) + into * has_bias(keys, family.qkv)
        cached = NUMBER_BYTES * pairs * (own.head + value)
        if kind == "sliding":
            found.append(Part(count + own.heads, cache_bytes_per_token=cached, cache="sliding"))
        else:
            found.append(Part(count, cache_bytes_per_token=cached))
    routed, dense = experts(keys, family, own), mlp(keys, family, own)
    found += [routed if has else dense for has in have_experts(keys, family, layers)]
    rest = own.hidden * (2 * layers + 1) + vocabulary * own.hidden * (not tied)
    return sum_up(vocabulary * own.hidden, rest, found, token_share(keys))
