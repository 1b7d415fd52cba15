"""Nets: counts of all layers, tables and heads."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from simcore.workload.hub import parts
from simcore.workload.hub.families import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.layers import have_experts, hybrid_layers, mixers
from simcore.workload.hub.parts import CacheKind, Part, Widths


@dataclass(frozen=True, slots=True)
class ModelCounts:
    """Counts of the part of a model that text passes.

    Attributes:
        total_parameters: All, tied tables once; without modules that predict further tokens.
        active_parameters: Those that a token passes: all but the experts it is not routed to.
        embedding_parameters: The table of input tokens.
        kv_bytes_per_token_full: Cache of a token over all layers that see all of a sequence.
        kv_bytes_per_token_sliding: The same for layers that see a window, until it is full.
        kv_bytes_per_token_latent: The same for latent attention. All in bfloat16.
    """

    total_parameters: int
    active_parameters: int
    embedding_parameters: int
    kv_bytes_per_token_full: int = 0
    kv_bytes_per_token_sliding: int = 0
    kv_bytes_per_token_latent: int = 0


def _counts(embedding: int, rest: int, layers: Iterable[Part], share: float = 1.0) -> ModelCounts:
    """Sums; of routed parameters a token passes *share*."""
    layers = list(layers)
    total = embedding + rest + sum(part.parameters for part in layers)
    idle = round(sum(part.routed for part in layers) * (1 - share))
    kinds: tuple[CacheKind, ...] = ("full", "sliding", "latent")
    cache = [
        sum(part.cache_bytes_per_token for part in layers if part.cache == kind) for kind in kinds
    ]
    return ModelCounts(total, total - idle, embedding, *cache)


def decoder(keys: Keys, family: Family, tied: bool) -> ModelCounts:
    """Counts of a decoder whose layers each mix tokens and then pass an MLP or experts."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    widths = Widths.read(keys, family)
    mixing, expert_layers = mixers(keys, family, layers), have_experts(keys, family, layers)
    share, parts_of = 1.0, {}
    if family.latent:
        keys.must_be("mlp_bias", False)
        parts_of["full"] = parts.latent_attention(keys, widths)
    else:
        whole = parts.attention(keys, family, widths)
        parts_of = {"full": whole, "sliding": parts.with_cache(whole, "sliding")}
    if family.linear:
        parts_of["linear"] = _linear(keys, family, widths)
    if "linear" in mixing and not family.linear:
        raise keys.refuse("layer_types", "must hold layers of attention for this architecture")
    found = [parts_of[kind] for kind in mixing]
    found += [parts_of["linear"] for _ in range(layers) if family.beside]
    dense = parts.mlp(keys, family, widths)
    if family.experts and any(expert_layers):
        chosen, share = parts.experts(keys, family, widths), _share(keys)
        found += [chosen if has else dense for has in expert_layers]
    else:
        found += [dense] * layers
        if family.experts:  # no layer has any
            keys.value("num_experts_per_tok")
    keys.must_be("word_embed_proj_dim", widths.hidden)
    norm = parts.norm_parameters(family, widths.hidden)
    rest = norm * (layers * _norms(keys, family) + family.final_norms)
    if family.positions:
        positions = keys.number("max_position_embeddings") + family.more_positions
        rest += positions * widths.hidden
    rest += vocabulary * (widths.hidden * (not tied) + parts.has_bias(keys, family.head_bias))
    return _counts(vocabulary * widths.hidden, rest, found, share)


def _linear(keys: Keys, family: Family, widths: Widths) -> Part:
    if family.linear == "mamba2":
        return parts.mamba2(keys, widths.hidden, parts.BAMBA, beside=family.beside)
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


def _share(keys: Keys) -> float:
    chosen = keys.number("num_experts_per_tok", least=0)
    of = keys.number("num_experts", least=0)
    if chosen > of:
        raise keys.refuse("num_experts_per_tok", f"must be at most the {of} experts")
    return chosen / of if of else 1.0


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
        found["moe"], share = parts.experts(keys, family, widths), _share(keys)
    rest = parts.norm_parameters(family, widths.hidden) * (len(kinds) + 1)
    rest += 0 if tied else vocabulary * widths.hidden
    return _counts(vocabulary * widths.hidden, rest, [found[kind] for kind in kinds], share)


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
    return _counts(vocabulary * hidden, rest, [layer] * layers)


def encoder_decoder(keys: Keys, _family: Family, _tied: bool) -> ModelCounts:
    """Counts of T5 (arXiv:1910.10683); transformers ties its head whatever the file says."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden, heads = keys.number("hidden_size"), keys.number("num_attention_heads")
    keys.needed("feed_forward_proj")
    keys.must_be("feed_forward_proj", "relu", "gated-gelu", "gated-silu", "gated-relu")
    matrices = 3 if str(keys.value("feed_forward_proj")).startswith("gated") else 2
    attention = 4 * hidden * heads * keys.number("head_dim")
    mlp = matrices * hidden * keys.number("intermediate_size")
    buckets = keys.number("relative_attention_num_buckets")
    keys.flag("is_decoder", False)
    read = [Part(attention + mlp + 2 * hidden)] * layers
    written = [Part(2 * attention + mlp + 3 * hidden)] * keys.number("num_decoder_layers", layers)
    return _counts(vocabulary * hidden, 2 * hidden + 2 * buckets * heads, read + written)


def bart(keys: Keys, _family: Family, _tied: bool) -> ModelCounts:
    """Counts of BART (arXiv:1910.13461): biases everywhere, one table, two of positions."""
    hidden, vocabulary = keys.number("hidden_size"), keys.number("vocab_size")
    attention, norm = 4 * hidden * (hidden + 1), 2 * hidden
    found: list[Part] = []
    for side, attentions in (("encoder", 1), ("decoder", 2)):
        heads, width = keys.number(f"{side}_attention_heads"), keys.number(f"{side}_ffn_dim")
        if hidden % heads:
            raise keys.refuse("d_model", f"must be a multiple of its {heads} heads")
        layer = attentions * (attention + norm) + 2 * hidden * width + width + hidden + norm
        found += [Part(layer)] * keys.number(f"{side}_layers")
    keys.must_be("num_hidden_layers", keys.value("encoder_layers"))
    positions = 2 * (keys.number("max_position_embeddings") + 2) * hidden
    return _counts(vocabulary * hidden, positions + 2 * norm, found)


def encoder(keys: Keys, family: Family, _tied: bool) -> ModelCounts:
    """Counts of BERT (arXiv:1810.04805) and its kin with a head for masked words.

    The head's table is that of the input. ELECTRA's tables may be narrower than the net
    (arXiv:2003.10555); ALBERT's layers of a group share their parameters (arXiv:1909.11942).
    """
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden, mlp = keys.number("hidden_size"), keys.number("intermediate_size")
    heads = keys.number("num_attention_heads")
    if hidden % heads:
        raise keys.refuse("hidden_size", f"must be a multiple of its {heads} heads")
    for name in ("add_cross_attention", "is_decoder", "sinusoidal_pos_embds"):
        keys.must_be(name, False)
    is_shared = family.net == "shared_encoder"
    if is_shared:
        layers = keys.number("num_hidden_groups") * keys.number("inner_group_num")
    width = keys.number("embedding_size", hidden)
    tables = keys.number("max_position_embeddings")
    tables += keys.number("type_vocab_size", None if family.segments else 0)
    layer = 4 * hidden * (hidden + 1) + 2 * hidden * mlp + mlp + hidden + 4 * hidden
    rest = tables * width + 2 * width + (width + 1) * hidden * (is_shared or width != hidden)
    rest += (hidden + 1) * width + 2 * width + vocabulary
    return _counts(vocabulary * width, rest, [Part(layer)] * layers)


NETS: dict[str, Callable[[Keys, Family, bool], ModelCounts]] = {
    "decoder": decoder,
    "hybrid": hybrid,
    "mamba": state_space,
    "mamba2": state_space,
    "encoder_decoder": encoder_decoder,
    "encoder": encoder,
    "shared_encoder": encoder,
    "bart": bart,
}
"""Counting functions of each kind of net."""
