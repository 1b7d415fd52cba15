"""Nets whose layers share blocks, keys and values, or add tables of tokens of their own."""

from dataclasses import replace

from simcore.workload.hub.counts import ModelCounts, sum_up, token_share
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.layers import mixers, shared_block_layers
from simcore.workload.hub.parts import (
    NUMBER_BYTES,
    ZAMBA,
    CacheKind,
    Part,
    Widths,
    attention,
    mamba2,
)


def gemma3n(keys: Keys, family: Family, tied: bool) -> ModelCounts:
    """Counts of Gemma 3n: each layer has a table of tokens, and streams beside the hidden state.

    AltUp (arXiv:2301.13310) predicts and corrects the streams, LAUREL (arXiv:2411.07501) adds a
    narrow path to each layer.
    """
    hidden, layers = keys.number("hidden_size"), keys.number("num_hidden_layers")
    streams, rank = keys.number("altup_num_inputs"), keys.number("laurel_rank")
    widths = Widths.read_heads(keys, family)
    shared = _first_shared(keys, layers)
    keys.number("hidden_size_per_layer_input")
    whole = attention(keys, family, widths)
    kinds, wide = mixers(keys, family, layers), _mlp_widths(keys, layers)
    rest_of_layer = 4 * hidden + 2 * hidden + streams * (hidden + streams + streams * streams)
    rest_of_layer += 2 * hidden * rank + hidden
    found = []
    for layer, (kind, width) in enumerate(zip(kinds, wide, strict=True)):
        part = _keyless(keys, widths, whole) if layer >= shared else whole
        count = part.parameters + rest_of_layer + 3 * hidden * width
        found.append(replace(part, parameters=count, cache=_cache(keys, kind)))
    rest, per_layer = _layer_tables(keys, hidden, layers)
    rest += hidden + 2 * (streams - 1) * hidden * hidden
    vocabulary = keys.number("vocab_size")
    rest += layers * per_layer + vocabulary * hidden * (not tied)
    return sum_up(vocabulary * hidden, rest, found)


def gemma4(keys: Keys, family: Family, tied: bool) -> ModelCounts:
    """Counts of Gemma 4: layers that see all have heads of their own, late ones share keys."""
    hidden, layers = keys.number("hidden_size"), keys.number("num_hidden_layers")
    widths, kinds = Widths.read_heads(keys, family), mixers(keys, family, layers)
    mlp = keys.number("intermediate_size")
    shared = _first_shared(keys, layers)
    is_twice, has_no_values = keys.flag("use_double_wide_mlp"), keys.flag("attention_k_eq_v")
    blocks, share = _experts_beside(keys, hidden)
    found = []
    for layer, (kind, heads) in enumerate(
        zip(kinds, _heads_by_layer(keys, widths, kinds), strict=True)
    ):
        part = attention(keys, family, heads)
        if layer >= shared:
            part = _keyless(keys, heads, part)
        elif has_no_values and kind == "full":
            pairs = heads.kv_heads * heads.head
            fewer = pairs * (hidden + keys.flag("attention_bias"))
            part = replace(part, parameters=part.parameters - fewer)
        width = mlp * (2 if is_twice and layer >= shared else 1)
        count = part.parameters + 4 * hidden + 3 * hidden * width
        found.append(replace(part, parameters=count, cache=_cache(keys, kind)))
    rest, per_layer = _layer_tables(keys, hidden, layers)
    vocabulary = keys.number("vocab_size")
    rest += hidden + layers * per_layer + vocabulary * hidden * (not tied)
    return sum_up(vocabulary * hidden, rest, [*found, *[blocks] * layers], share)


def zamba2(keys: Keys, _family: Family, tied: bool) -> ModelCounts:
    """Counts of Zamba 2 (arXiv:2411.15242): layers of Mamba 2, some behind a block that is shared.

    A shared block mixes the hidden state beside the token vectors; each place where it stands has
    a projection and a low-rank adapter of its own.
    """
    kinds, hidden = shared_block_layers(keys), keys.number("hidden_size")
    places = kinds.count("hybrid")
    blocks = min(keys.number("num_mem_blocks"), places)
    inner = keys.number("num_attention_heads") * keys.number("attention_head_dim")
    pairs = keys.number("num_key_value_heads") * keys.number("attention_head_dim")
    keys.must_be("attention_hidden_size", 2 * hidden)
    mlp, rank = keys.number("intermediate_size"), keys.number("adapter_rank")
    block = 2 * hidden * (inner + 2 * pairs) + inner * hidden + 3 * hidden * mlp + 3 * hidden
    block += (2 * mlp + hidden) * keys.flag("add_bias_linear")
    place = hidden * hidden + rank * (hidden + 2 * mlp)
    if keys.flag("use_shared_attention_adapter"):
        place += 3 * rank * 4 * hidden
    state = mamba2(keys, hidden, ZAMBA)
    found = [replace(state, parameters=state.parameters + hidden)] * len(kinds)
    found += [Part(place, cache_bytes_per_token=NUMBER_BYTES * 2 * pairs)] * places
    vocabulary = keys.number("vocab_size")
    rest = blocks * block + hidden + vocabulary * hidden * (not tied)
    return sum_up(vocabulary * hidden, rest, found)


def _cache(keys: Keys, mixer: str) -> CacheKind:
    if mixer == "sliding":
        return "sliding"
    if mixer != "full":
        raise keys.refuse("layer_types", "must hold layers of attention for this architecture")
    return "full"


def _first_shared(keys: Keys, layers: int) -> int:
    """Number of the first layer that attends with the keys and values of an earlier one."""
    late = keys.number("num_kv_shared_layers", least=0)
    if late >= layers:
        raise keys.refuse("num_kv_shared_layers", f"must be less than the {layers} layers")
    return layers - late


def _keyless(keys: Keys, widths: Widths, part: Part) -> Part:
    """Attention with keys and values of another layer: no matrices, norm or cache for them."""
    pairs = 2 * widths.kv_heads * widths.head
    fewer = pairs * (widths.hidden + keys.flag("attention_bias", False)) + widths.head
    return replace(part, parameters=part.parameters - fewer, cache_bytes_per_token=0)


def _mlp_widths(keys: Keys, layers: int) -> list[int]:
    """Width of the MLP of each layer, from one number or a list."""
    if not isinstance(keys.value("intermediate_size"), list):
        return [keys.number("intermediate_size")] * layers
    keys.layers("intermediate_size")
    listed = keys.value("intermediate_size")
    if not isinstance(listed, list) or len(listed) != layers or min(listed) < 1:
        raise keys.refuse("intermediate_size", f"must give a width or one for all {layers} layers")
    return [int(width) for width in listed]


def _layer_tables(keys: Keys, hidden: int, layers: int) -> tuple[int, int]:
    """Parameters of the tables of tokens of all layers, and of what each layer does with its."""
    width = keys.number("hidden_size_per_layer_input", least=0)
    rows = keys.number("vocab_size_per_layer_input", least=0)
    if not width:
        return 0, 0
    return layers * width * (rows + hidden) + width, 2 * hidden * width + hidden


def _heads_by_layer(keys: Keys, widths: Widths, kinds: list[str]) -> list[Widths]:
    """Widths of attention in each layer: given by layer, or for those that see all alike."""
    given = keys.value("per_layer_config")
    if given is None:
        head = keys.number("global_head_dim")
        pairs = keys.number("num_global_key_value_heads", widths.kv_heads)
        if not keys.flag("attention_k_eq_v"):
            pairs = widths.kv_heads
        other = replace(widths, head=head, kv_heads=pairs)
        return [other if kind == "full" else widths for kind in kinds]
    keys.value("global_head_dim"), keys.value("num_global_key_value_heads")
    found = [widths] * len(kinds)
    if not isinstance(given, dict):
        raise keys.refuse("per_layer_config", "must be a table of tables by number of layer")
    for number, table in given.items():
        if not str(number).isdecimal() or int(number) >= len(kinds) or not isinstance(table, dict):
            raise keys.refuse("per_layer_config", "must be a table of tables by number of layer")
        inner = Keys(table, f"{keys.place('per_layer_config')}.{number}")
        head = inner.number("head_dim", widths.head)
        pairs = inner.number("num_key_value_heads", widths.kv_heads)
        inner.refuse_unread("this architecture", frozenset())
        found[int(number)] = replace(widths, head=head, kv_heads=pairs)
    return found


def _experts_beside(keys: Keys, hidden: int) -> tuple[Part, float]:
    """Experts that stand beside the MLP of every layer, and the share that a token passes."""
    names = ("num_experts", "num_experts_per_tok", "moe_intermediate_size")
    if not keys.flag("enable_moe_block"):
        for name in names:
            keys.value(name)
        return Part(0), 1.0
    count, width = keys.number("num_experts"), keys.number("moe_intermediate_size")
    routed = 3 * count * hidden * width
    return Part(routed + count * (hidden + 1) + 4 * hidden, routed), token_share(keys)
