"""Nets: counts of all layers, tables and heads."""

from collections.abc import Callable

from simcore.workload.hub import encoders, layered, parts
from simcore.workload.hub.counts import ModelCounts, sum_up, token_share
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.layers import have_experts, hybrid_layers, mixers, uniform
from simcore.workload.hub.own import OWN_NETS
from simcore.workload.hub.parts import Part, Widths


def decoder(keys: Keys, family: Family, tied: bool) -> ModelCounts:
    """Counts of a decoder whose layers each mix tokens and then pass an MLP or experts."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    widths = Widths.read(keys, family)
    mixing, expert_layers = mixers(keys, family, layers), have_experts(keys, family, layers)
    share, parts_of = 1.0, {}
    if family.latent:
        keys.must_be("mlp_bias", False)
        if family.indexer:
            uniform(keys, "layer_types", "indexed_attention")
            uniform(keys, "indexer_types", "full")
        parts_of["full"] = parts.latent_attention(keys, family, widths)
    else:
        whole = parts.attention(keys, family, widths)
        parts_of = {"full": whole, "sliding": parts.with_cache(whole, "sliding")}
    if family.linear:
        parts_of["linear"] = _linear(keys, family, widths)
    if ("linear" in mixing and not family.linear) or ("sliding" in mixing and family.latent):
        raise keys.refuse("layer_types", "must hold layers of attention for this architecture")
    found = [parts_of[kind] for kind in mixing]
    found += [parts_of["linear"] for _ in range(layers) if family.beside]
    dense = parts.mlp(keys, family, widths)
    if family.experts and any(expert_layers):
        chosen, share = parts.experts(keys, family, widths), token_share(keys)
        found += [chosen if has else dense for has in expert_layers]
    else:
        found += [dense] * layers
        parts.pass_over_experts(keys, family)
    keys.must_be("word_embed_proj_dim", widths.hidden)
    norm = parts.norm_parameters(family, widths.hidden)
    rest = norm * (layers * _norms(keys, family) + family.final_norms)
    if family.positions:
        positions = keys.number("max_position_embeddings") + family.more_positions
        rest += positions * widths.hidden
    rest += vocabulary * (widths.hidden * (not tied) + parts.has_bias(keys, family.head_bias))
    return sum_up(vocabulary * widths.hidden, rest, found, share)


def _linear(keys: Keys, family: Family, widths: Widths) -> Part:
    if family.linear == "mamba2":
        return parts.mamba2(keys, widths.hidden, parts.BAMBA, beside=family.beside)
    if family.linear == "kimi":
        return parts.kimi_delta(keys, widths.hidden)
    if family.linear == "delta":
        return parts.delta_net(keys, widths)
    if family.linear == "recurrent":
        return parts.recurrent(keys, widths)
    if family.linear == "lightning":
        return parts.lightning(widths)
    part = parts.jamba if family.linear == "mamba" else parts.convolution
    return part(keys, widths.hidden)


def _norms(keys: Keys, family: Family) -> int:
    """Norms in a layer; Falcon has one or two by its form."""
    if family.kv_heads != "multi_query" or family.positions:
        return family.norms
    is_new = keys.flag("new_decoder_architecture", False)
    keys.must_be("num_ln_in_parallel_attn", *((1, 2) if is_new else (1,)))
    chosen = keys.number("num_ln_in_parallel_attn", 2 if is_new else 1)
    return chosen if keys.flag("parallel_attn") else 2


def hybrid(keys: Keys, family: Family, tied: bool) -> ModelCounts:
    """Counts of a net whose layers each are one part: Mamba 2, attention, MLP or experts."""
    kinds, vocabulary = hybrid_layers(keys), keys.number("vocab_size")
    widths = Widths.read(keys, family)
    found = {
        "full": parts.attention(keys, family, widths),
        "mlp": parts.mlp(keys, family, widths),
        "linear": parts.mamba2(keys, widths.hidden, parts.NEMOTRON),
    }
    share = 1.0
    if "moe" in kinds:
        keys.must_be("mlp_bias", False)  # would be one of experts that every token passes
        found["moe"], share = parts.experts(keys, family, widths), token_share(keys)
    else:
        parts.pass_over_experts(keys, family)
    rest = parts.norm_parameters(family, widths.hidden) * (len(kinds) + 1)
    rest += 0 if tied else vocabulary * widths.hidden
    return sum_up(vocabulary * widths.hidden, rest, [found[kind] for kind in kinds], share)


def state_space(keys: Keys, family: Family, tied: bool) -> ModelCounts:
    """Counts of a net of Mamba's layers alone."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden = keys.number("hidden_size")
    if family.net == "mamba":
        layer = parts.mamba(keys, hidden)
    else:
        layer = parts.mamba2(keys, hidden, parts.MAMBA2)
    rest = parts.norm_parameters(family, hidden) * (layers + 1) + (
        0 if tied else vocabulary * hidden
    )
    return sum_up(vocabulary * hidden, rest, [layer] * layers)


NETS: dict[str, Callable[[Keys, Family, bool], ModelCounts]] = {
    "decoder": decoder,
    "hybrid": hybrid,
    "mamba": state_space,
    "mamba2": state_space,
    "encoder_decoder": encoders.encoder_decoder,
    "encoder": encoders.encoder,
    "shared_encoder": encoders.encoder,
    "bart": encoders.bart,
    "gated_encoder": encoders.gated_encoder,
    "deberta": encoders.deberta,
    "whisper": encoders.whisper,
    "gemma3n": layered.gemma3n,
    "gemma4": layered.gemma4,
    "zamba2": layered.zamba2,
    **OWN_NETS,
}
"""Counting functions of each kind of net."""
