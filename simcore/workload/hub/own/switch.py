"""Switch Transformers (arXiv:2101.03961): T5 with experts in some layers, one for each token."""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import Part

FAMILY = Family(
    net="switch", only=(("router_bias", False), ("is_gated_act", False)),
    idle=frozenset({
        "add_router_probs", "expert_capacity",
        "router_ignore_padding_tokens", "router_type", "router_z_loss_coef",
        "num_selected_experts", "feed_forward_proj",
    }),
)  # fmt: skip


def switch_transformers(keys: Keys, _family: Family, _tied: bool) -> ModelCounts:
    """Counts of both sides; the program ties the head whatever the file says."""
    vocabulary, hidden = keys.number("vocab_size"), keys.number("hidden_size")
    heads, experts = keys.number("num_attention_heads"), keys.number("num_experts")
    attention = 4 * hidden * heads * keys.number("head_dim")
    mlp = 2 * hidden * keys.number("intermediate_size")
    buckets = keys.number("relative_attention_num_buckets")
    keys.flag("is_decoder", False)
    found = list[Part]()
    layers = keys.number("num_hidden_layers")
    sides = (("encoder", layers, 1), ("decoder", keys.number("num_decoder_layers"), 2))
    for side, count, attentions in sides:
        dense = Part(attentions * (attention + hidden) + mlp + hidden)
        routed = experts * mlp
        rest = dense.parameters - mlp + experts * hidden
        sparse = keys.number(f"num_sparse_{side}_layers", least=0)
        if sparse > count:
            raise keys.refuse(f"num_sparse_{side}_layers", f"must be at most its {count} layers")
        if sparse and count % sparse:
            raise keys.refuse(f"num_sparse_{side}_layers", f"must divide its {count} layers")
        keys.must_be(f"{side}_sparse_step", count // sparse if sparse else count)
        found += [Part(rest + routed, routed)] * sparse + [dense] * (count - sparse)
    return sum_up(vocabulary * hidden, 2 * hidden + 2 * buckets * heads, found, 1 / experts)
