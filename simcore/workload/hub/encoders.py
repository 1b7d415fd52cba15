"""Nets with an encoder: counts of all layers, tables and heads."""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import Part, has_bias, norm_parameters


def encoder_decoder(keys: Keys, family: Family, _tied: bool) -> ModelCounts:
    """Counts of T5 (arXiv:1910.10683); transformers ties its head whatever the file says."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden, heads = keys.number("hidden_size"), keys.number("num_attention_heads")
    keys.needed("feed_forward_proj")
    keys.must_be("feed_forward_proj", "relu", "gated-gelu", "gated-silu", "gated-relu")
    matrices = 3 if str(keys.value("feed_forward_proj")).startswith("gated") else 2
    keys.must_be("is_gated_act", matrices == 3)
    attention = 4 * hidden * heads * keys.number("head_dim")
    mlp = matrices * hidden * keys.number("intermediate_size")
    buckets = keys.number("relative_attention_num_buckets")
    keys.flag("is_decoder", False)
    read = [Part(attention + mlp + 2 * hidden)] * layers
    written = [Part(2 * attention + mlp + 3 * hidden)] * keys.number("num_decoder_layers", layers)
    tables = len(read) + len(written) if family.extra == "buckets" else 2
    return sum_up(vocabulary * hidden, 2 * hidden + tables * buckets * heads, read + written)


def two_sides(keys: Keys, hidden: int, attention: int) -> list[Part]:
    """Layers that read, then layers that write and attend to what was read, after BART's keys."""
    found, norm = list[Part](), 2 * hidden
    for side, attentions in (("encoder", 1), ("decoder", 2)):
        heads, width = keys.number(f"{side}_attention_heads"), keys.number(f"{side}_ffn_dim")
        if hidden % heads:
            raise keys.refuse("d_model", f"must be a multiple of its {heads} heads")
        layer = attentions * (attention + norm) + 2 * hidden * width + width + hidden + norm
        found += [Part(layer)] * keys.number(f"{side}_layers")
    keys.must_be("num_hidden_layers", keys.value("encoder_layers"))
    return found


def bart(keys: Keys, family: Family, _tied: bool) -> ModelCounts:
    """Counts of BART (arXiv:1910.13461) and its kin: one table, two of positions or none."""
    hidden, vocabulary = keys.number("hidden_size"), keys.number("vocab_size")
    bias = has_bias(keys, family.qkv) if family.qkv else True
    attention, norm = 4 * hidden * (hidden + bias), 2 * hidden
    found = two_sides(keys, hidden, attention)
    positions = keys.number("max_position_embeddings") + family.more_positions
    rest = 2 * hidden * positions * family.positions + 2 * norm * family.final_norms
    keys.must_be("decoder_vocab_size", vocabulary)
    return sum_up(vocabulary * hidden, rest, found)


def whisper(keys: Keys, _family: Family, _tied: bool) -> ModelCounts:
    """Counts of Whisper (arXiv:2212.04356), with the encoder of sound: keys have no biases."""
    hidden, vocabulary = keys.number("hidden_size"), keys.number("vocab_size")
    attention, norm = hidden * (4 * hidden + 3), 2 * hidden
    found = two_sides(keys, hidden, attention)
    positions = keys.number("max_source_positions") + keys.number("max_target_positions")
    sound = hidden * (3 * keys.number("num_mel_bins") + 1) + hidden * (3 * hidden + 1)
    return sum_up(vocabulary * hidden, positions * hidden + sound + 2 * norm, found)


def encoder(keys: Keys, family: Family, _tied: bool) -> ModelCounts:
    """Counts of BERT (arXiv:1810.04805) and its kin with a head for masked words.

    Keys of parts that ``Family.extra`` names are read here, all others by ``bert_like``.
    """
    hidden, heads = keys.number("hidden_size"), keys.number("num_attention_heads")
    positions = keys.number("max_position_embeddings")
    rows = (positions + family.more_positions) * (family.extra not in ("rotary", "turned"))
    rows += keys.number("type_vocab_size", None if family.segments else 0)
    layer = 3 * hidden * (hidden + 1) * (family.extra == "global")
    rest = positions * hidden // heads * (family.extra == "rotary")
    if family.extra == "buckets":
        rest += keys.number("relative_attention_num_buckets") * heads
    rest += hidden * (2 * (family.extra == "norm") + (hidden + 1) * (family.extra == "pooler"))
    return bert_like(keys, family, rows, layer=layer, rest=rest)


def bert_like(
    keys: Keys, family: Family, rows: int, *, layer: int = 0, rest: int = 0
) -> ModelCounts:
    """Counts of BERT with so many *rows* in its tables beside that of tokens.

    The head's table is that of the input. ELECTRA's tables may be narrower than the net
    (arXiv:2003.10555); ALBERT's layers of a group share their parameters (arXiv:1909.11942).

    Args:
        keys: Those of the file.
        family: The line of its architecture.
        rows: Vectors of positions and segments together.
        layer: Parameters of a layer beyond those of BERT.
        rest: The same outside of the layers.

    Raises:
        ConfigError: A key is missing or has no usable value.
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
    layer += 4 * hidden * (hidden + 1) + 2 * hidden * mlp + mlp + hidden + 4 * hidden
    rest += rows * width + 2 * width + (width + 1) * hidden * (is_shared or width != hidden)
    rest += (hidden + 1) * width + 2 * width + vocabulary
    return sum_up(vocabulary * width, rest, [Part(layer)] * layers)


def gated_encoder(keys: Keys, family: Family, _tied: bool) -> ModelCounts:
    """Counts of encoders with rotary positions, gates and biases in heads alone.

    Those are Nomic's BERT (arXiv:2402.01613) and ModernBERT (arXiv:2412.13663), whose norms have
    no biases and whose first layer has one norm less.
    """
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden, mlp = keys.number("hidden_size"), keys.number("intermediate_size")
    heads = keys.number("num_attention_heads")
    if hidden % heads:
        raise keys.refuse("hidden_size", f"must be a multiple of its {heads} heads")
    keys.must_be("head_dim", hidden // heads)
    norm = norm_parameters(family, hidden)
    layer = 4 * hidden * hidden + 3 * hidden * mlp + 2 * norm
    rest = norm + hidden * hidden + norm
    if family.segments:
        rest += keys.number("type_vocab_size") * hidden + hidden + vocabulary
    else:
        rest += hidden * keys.flag("classifier_bias") + vocabulary * keys.flag("decoder_bias")
    return sum_up(vocabulary * hidden, rest, [Part(layer)] * layers)


def deberta(keys: Keys, _family: Family, _tied: bool) -> ModelCounts:
    """Counts of DeBERTa's second and third version (arXiv:2006.03654, arXiv:2111.09543)."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden, mlp = keys.number("hidden_size"), keys.number("intermediate_size")
    heads = keys.number("num_attention_heads")
    if hidden % heads:
        raise keys.refuse("hidden_size", f"must be a multiple of its {heads} heads")
    for name, value in (("embedding_size", hidden), ("attention_head_size", hidden // heads)):
        keys.must_be(name, value)
    attention, rest = 4 * hidden * (hidden + 1), 0
    positions = keys.number("max_position_embeddings")
    distances = _distances(keys, positions)
    if keys.flag("relative_attention"):
        kinds = kinds_of_positions(keys)
        if not keys.flag("share_att_key", False):
            attention += len(kinds) * hidden * (hidden + 1)
        rest += 2 * distances * hidden
        keys.must_be("norm_rel_ebd", "none", "layer_norm")
        rest += 2 * hidden * (keys.value("norm_rel_ebd") == "layer_norm")
    kernel = keys.number("conv_kernel_size", 0, least=0)
    keys.must_be("conv_groups", 1)
    rest += (hidden * (hidden * kernel + 1) + 2 * hidden) * (kernel > 0)
    layer = attention + 2 * hidden * mlp + mlp + hidden + 4 * hidden
    tables = positions * keys.flag("position_biased_input")
    tables += keys.number("type_vocab_size", least=0)
    rest += (tables + 2) * hidden + hidden * (hidden + 1) + 2 * hidden + vocabulary
    return sum_up(vocabulary * hidden, rest, [Part(layer)] * layers)


def kinds_of_positions(keys: Keys) -> set[str]:
    """Kinds of attention to relative positions, of c2p and p2c; older files join them by ``|``."""
    given = keys.value("pos_att_type")
    kinds = given.split("|") if isinstance(given, str) else given
    if not isinstance(kinds, list) or set(map(str, kinds)) - {"c2p", "p2c"}:
        raise keys.refuse("pos_att_type", "must list c2p, p2c or both")
    return set(map(str, kinds))


def _distances(keys: Keys, positions: int) -> int:
    """Distances to one side that have a vector: in buckets, as said, or as many as positions."""
    buckets, most = (
        keys.number(name, -1, least=-1) for name in ("position_buckets", "max_relative_positions")
    )
    if buckets > 0:
        return buckets
    return most if most > 0 else positions
