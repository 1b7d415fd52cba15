"""ModernBERT as a decoder (arXiv:2507.11412): its layers, with a cache and a head of two steps."""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.layers import mixers
from simcore.workload.hub.parts import NUMBER_BYTES, CacheKind, Part

FAMILY = Family(
    net="modernbert_decoder", window="listed",
    only=(
        ("attention_bias", False), ("mlp_bias", False), ("norm_bias", False),
        ("tie_word_embeddings", True),
    ),
    idle=frozenset({
        "classifier_activation", "classifier_pooling", "global_attn_every_n_layers",
        "global_rope_theta", "initializer_cutoff_factor", "local_attention", "local_rope_theta",
    }),
)  # fmt: skip


def modernbert_decoder(keys: Keys, family: Family, _tied: bool) -> ModelCounts:
    """Counts of ModernBERT's decoder; its first layer has one norm less."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden, mlp = keys.number("hidden_size"), keys.number("intermediate_size")
    heads = keys.number("num_attention_heads")
    if hidden % heads:
        raise keys.refuse("hidden_size", f"must be a multiple of its {heads} heads")
    keys.must_be("num_key_value_heads", heads)
    layer, cached = 4 * hidden * hidden + 3 * hidden * mlp + 2 * hidden, NUMBER_BYTES * 2 * hidden
    kinds: list[CacheKind] = [
        "sliding" if kind == "sliding" else "full" for kind in mixers(keys, family, layers)
    ]
    rest = hidden + hidden * hidden + hidden + hidden * keys.flag("classifier_bias")
    rest += vocabulary * keys.flag("decoder_bias")
    found = [Part(layer, cache_bytes_per_token=cached, cache=kind) for kind in kinds]
    return sum_up(vocabulary * hidden, rest, found)
