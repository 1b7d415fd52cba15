"""JetMoE (arXiv:2404.07413): experts in the MLP and in the projections of attention."""

from simcore.workload.hub.counts import ModelCounts, sum_up, token_share
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import NUMBER_BYTES, Part

FAMILY = Family(net="jetmoe", idle=frozenset({"aux_loss_coef", "num_attention_heads"}))


def jetmoe(keys: Keys, _family: Family, tied: bool) -> ModelCounts:
    """Counts of JetMoE; keys and values are those of all experts of attention."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden, mlp = keys.number("hidden_size"), keys.number("intermediate_size")
    inner = keys.number("num_key_value_heads") * keys.number("kv_channels")
    experts, share = keys.number("num_experts"), token_share(keys)
    routed = experts * (3 * hidden * mlp + 2 * hidden * inner)
    layer = routed + 2 * experts * hidden + 2 * hidden + 2 * inner * hidden + 2 * hidden
    part = Part(layer, routed, NUMBER_BYTES * 2 * inner)
    rest = hidden + vocabulary * hidden * (not tied)
    return sum_up(vocabulary * hidden, rest, [part] * layers, share)
