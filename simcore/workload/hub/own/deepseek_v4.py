"""DeepSeek-V4: one head of keys that are values too, compressed beyond a window, and streams.

Source of the parts: transformers 5.23.0 (Apache-2.0), ``deepseek_v4``, without its code.
"""

from collections.abc import Mapping

from simcore.workload.hub.counts import ModelCounts, sum_up, token_share
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import NUMBER_BYTES, Part

FAMILY = Family(
    net="deepseek_v4",
    only=(("attention_bias", False), ("mlp_bias", False), ("num_key_value_heads", 1)),
    idle=frozenset({
        "compress_rope_theta", "default_num_hash_layers", "expert_dtype", "hc_sinkhorn_iters",
        "num_hash_layers", "qk_rope_head_dim",
    }),
)  # fmt: skip
_KINDS = {
    "sliding_attention": "",
    "compressed_sparse_attention": "sparse",
    "heavily_compressed_attention": "heavy",
}
_RATES = {"sparse": "compressed_sparse_attention", "heavy": "heavily_compressed_attention"}
_OLD_RATES = {0: "", 4: "sparse", 128: "heavy"}


def deepseek_v4(keys: Keys, _family: Family, tied: bool) -> ModelCounts:
    """Counts of DeepSeek-V4; a compressed entry is shared by the tokens that it stands for."""
    hidden, vocabulary = keys.number("hidden_size"), keys.number("vocab_size")
    kinds, streams = _layer_kinds(keys), keys.number("hc_mult")
    attention, head = _attention(keys, hidden), keys.number("head_dim")
    for name in ("sliding_window", "index_head_dim", "index_n_heads"):
        keys.number(name)
    mixed = streams * hidden
    joints = 2 * ((2 + streams) * streams * (mixed + 1) + 3) + 2 * hidden
    layer, found = attention + joints, [_experts(keys, hidden)] * len(kinds)
    for kind in kinds:
        window = Part(layer, cache_bytes_per_token=NUMBER_BYTES * head, cache="sliding")
        found += [window, *_compressors(keys, hidden, head, kind)]
    rest = hidden + streams * (mixed + 1) + 1 + vocabulary * hidden * (not tied)
    return sum_up(vocabulary * hidden, rest, found, token_share(keys))


def _layer_kinds(keys: Keys) -> list[str]:
    """Compression of each layer beside its window: none, ``sparse`` or ``heavy``."""
    layers, listed = keys.number("num_hidden_layers"), keys.texts("layer_types")
    rates, name = keys.value("compress_ratios"), "layer_types"
    found: list[str | None]
    if listed is not None:
        found = [_KINDS.get(kind) for kind in listed]
    elif isinstance(rates, list):
        # a release lists the modules that predict further tokens behind the layers
        name, found = "compress_ratios", [_OLD_RATES.get(rate) for rate in rates[:layers]]
    else:
        keys.needed("layer_types")
        raise keys.refuse("layer_types", "must list the kind of each layer")
    kinds = [kind for kind in found if kind is not None]
    if len(kinds) != len(found) or len(found) != layers:
        raise keys.refuse(name, f"must list the known kinds of all {layers} layers")
    return kinds


def _attention(keys: Keys, hidden: int) -> int:
    """Parameters of attention within the window; each head has a sink."""
    heads, head, rank = (
        keys.number(name) for name in ("num_attention_heads", "head_dim", "q_lora_rank")
    )
    groups, low = keys.number("o_groups"), keys.number("o_lora_rank")
    if heads * head % groups:
        raise keys.refuse("o_groups", f"must divide the {heads * head} numbers of all heads")
    count = rank * (hidden + 1) + heads * head * rank + head * (hidden + 1) + heads
    return count + groups * low * (heads * head // groups + hidden)


def _compressors(keys: Keys, hidden: int, head: int, kind: str) -> list[Part]:
    """Parts that compress keys beyond the window, and the indexer that picks among them."""
    if not kind:
        return []
    rate = _rate(keys, kind)
    if kind == "heavy":
        return [_compressor(hidden, head, head, rate)]
    index, scorers = keys.number("index_head_dim"), keys.number("index_n_heads")
    pick = scorers * (index * keys.number("q_lora_rank") + hidden)
    parts = [_compressor(hidden, width, 2 * width, rate) for width in (head, index)]
    return [*parts, Part(pick)]


def _compressor(hidden: int, width: int, series: int, rate: int) -> Part:
    """One entry of so many numbers for *rate* tokens, from as many *series* and their gates."""
    count = 2 * series * hidden + rate * series + width
    return Part(count, cache_bytes_per_token=NUMBER_BYTES * width // rate)


def _rate(keys: Keys, kind: str) -> int:
    """Tokens of one compressed entry."""
    rates, old = keys.value("compress_rates"), "csa" if kind == "sparse" else "hca"
    usual = 4 if kind == "sparse" else 128
    rate = rates.get(_RATES[kind]) if isinstance(rates, Mapping) else None
    found = rate if rate is not None else keys.number(f"compress_rate_{old}", usual)
    width = NUMBER_BYTES * keys.number("head_dim")
    index = NUMBER_BYTES * keys.number("index_head_dim")
    if not isinstance(found, int) or found < 1 or width % found or (old == "csa" and index % found):
        rule = "must give whole numbers that divide the bytes of a key: others are not modelled"
        raise keys.refuse("compress_rates", rule)
    return found


def _experts(keys: Keys, hidden: int) -> Part:
    """Routed and shared experts; a layer that routes by token numbers has the same matrices."""
    layers = keys.number("num_hidden_layers")
    kinds = keys.texts("mlp_layer_types")
    if kinds is not None and (len(kinds) != layers or set(kinds) - {"hash_moe", "moe"}):
        raise keys.refuse("mlp_layer_types", f"must list all {layers} layers as hash_moe or moe")
    count, width = keys.number("num_experts"), keys.number("moe_intermediate_size")
    keys.needed("n_shared_experts")
    shared = keys.number("n_shared_experts")
    keys.must_be("n_shared_experts", 1)
    routed = 3 * hidden * width * count
    return Part(routed + hidden * count + 3 * hidden * width * shared, routed)
