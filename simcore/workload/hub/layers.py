"""Kinds of layers: what each layer of a decoder mixes tokens with, and whether it has experts."""

from collections.abc import Callable

from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys, UnmodelledError

_MIXERS = {
    "full_attention": "full",
    "sliding_attention": "sliding",
    "chunked_attention": "sliding",
    "linear_attention": "linear",
    "mamba": "linear",
    "conv": "linear",
    "attention": "full",
}
_HYBRID = {"linear_attention": "linear", "full_attention": "full", "moe": "moe", "mlp": "mlp"}
_HYBRID_LETTERS = {"M": "linear_attention", "*": "full_attention", "E": "moe", "-": "mlp"}


def mixers(keys: Keys, family: Family, layers: int) -> list[str]:
    """Kind of attention of each layer: ``full``, ``sliding`` or ``linear``.

    Raises:
        ConfigError: Keys do not say which layers see a window, or name an unknown kind.
    """
    if family.window == "":
        return ["full"] * layers
    if family.window in ("indices", "period"):
        has = _attention_layers(keys, family)
        return ["full" if has(layer) else "linear" for layer in range(layers)]
    if family.window == "pattern":
        return _repeated(keys, layers)
    window = keys.value("sliding_window")
    if family.window == "all":
        return ["sliding" if window else "full"] * layers
    if family.window == "switched":
        switched = window and keys.flag("use_sliding_window", False)
        return ["sliding" if switched else "full"] * layers
    listed = keys.texts("layer_types")
    if family.window == "listed_if_switched":
        keys.value("use_sliding_window")
    if listed is not None:
        return _known(keys, "layer_types", listed, _MIXERS, layers)
    if family.window == "listed_if_switched" and not keys.flag("use_sliding_window", False):
        return ["full"] * layers
    keys.needed("layer_types")
    raise keys.refuse("layer_types", "must list the kind of each layer")


def _repeated(keys: Keys, layers: int) -> list[str]:
    pattern = keys.texts("block_types")
    if not pattern or set(pattern) - {"recurrent", "attention"}:
        raise keys.refuse("block_types", "must list layers as recurrent or attention")
    kinds = [pattern[layer % len(pattern)] for layer in range(layers)]
    return ["linear" if kind == "recurrent" else "sliding" for kind in kinds]


def _attention_layers(keys: Keys, family: Family) -> Callable[[int], bool]:
    if family.window == "period":
        return _period(keys, "attn_layer")
    keys.needed("attn_layer_indices")
    listed = keys.layers("attn_layer_indices") or set()
    return lambda layer: layer in listed


def _period(keys: Keys, name: str) -> Callable[[int], bool]:
    period, offset = keys.number(f"{name}_period"), keys.number(f"{name}_offset", least=0)
    return lambda layer: layer % period == offset


def hybrid_layers(keys: Keys) -> list[str]:
    """Kinds of the layers of a hybrid, each one part alone: ``linear``, ``full``, ``moe``, ``mlp``.

    Raises:
        ConfigError: Keys do not say them, or name an unknown kind.
    """
    listed, letters = keys.texts("layers_block_type"), keys.value("hybrid_override_pattern")
    name = "layers_block_type"
    if listed is None:
        name = "hybrid_override_pattern"
        if not isinstance(letters, str):
            raise keys.refuse(name, "must give the kinds of layers as letters M, E, * and -")
        listed = [_HYBRID_LETTERS.get(letter, letter) for letter in letters]
    layers = keys.number("num_hidden_layers", len(listed))
    return _known(keys, name, listed, _HYBRID, layers)


def shared_block_layers(keys: Keys) -> list[str]:
    """Kinds of the layers of a net that shares blocks: ``linear``, or ``hybrid`` behind a block.

    Raises:
        ConfigError: Keys do not say them, or name an unknown kind.
    """
    listed = keys.texts("layers_block_type")
    if listed is None:
        keys.needed("layers_block_type")
        raise keys.refuse("layers_block_type", "must list the kind of each layer")
    kinds = {"linear_attention": "linear", "mamba": "linear", "hybrid": "hybrid"}
    layers = keys.number("num_hidden_layers")
    return _known(keys, "layers_block_type", listed, kinds, layers)


def _known(
    keys: Keys, name: str, listed: list[str], kinds: dict[str, str], layers: int
) -> list[str]:
    odd = [kind for kind in listed if kind not in kinds]
    if odd:
        rule = f"must hold kinds of layers that are modelled ({', '.join(kinds)})"
        raise UnmodelledError(keys.place(name), rule, got=odd[0])
    if len(listed) != layers:
        raise keys.refuse(name, f"must list all {layers} layers")
    return [kinds[kind] for kind in listed]


def uniform(keys: Keys, name: str, kind: str) -> None:
    """Refuse a list of the kinds of layers that holds another kind than the one modelled.

    Raises:
        UnmodelledError: It does.
    """
    if set(keys.texts(name) or ()) - {kind}:
        raise keys.refuse(name, f"must list all layers as {kind}: others are not modelled")


def have_experts(keys: Keys, family: Family, layers: int) -> list[bool]:
    """Truth, layer by layer, of having experts in place of the MLP.

    Raises:
        ConfigError: Keys do not say it.
    """
    if not family.experts:
        return [False] * layers
    has = _RULES[family.expert_layers](keys)
    return [has(layer) for layer in range(layers)]


def _all(_keys: Keys) -> Callable[[int], bool]:
    return lambda _layer: True


def _after_first(keys: Keys) -> Callable[[int], bool]:
    keys.must_be("moe_layer_freq", 1)
    keys.needed("first_k_dense_replace")
    first = keys.number("first_k_dense_replace", 0, least=0)
    return lambda layer: layer >= first


def _after_dense(keys: Keys) -> Callable[[int], bool]:
    dense = keys.number("num_dense_layers", least=0)
    return lambda layer: layer >= dense


def _typed_or_after_first(keys: Keys) -> Callable[[int], bool]:
    """The list counts; releases leave it out and give the number of dense layers."""
    listed = keys.has("mlp_layer_types")
    keys.value("first_k_dense_replace")
    return _typed(keys) if listed else _after_first(keys)


def _sparse_step(keys: Keys) -> Callable[[int], bool]:
    dense, step = keys.layers("mlp_only_layers") or set(), keys.number("decoder_sparse_step", 1)
    return lambda layer: layer not in dense and (layer + 1) % step == 0


def _listed(keys: Keys) -> Callable[[int], bool]:
    listed, step = keys.layers("moe_layers"), keys.number("interleave_moe_layer_step")
    if listed is not None:
        return lambda layer: layer in listed
    return lambda layer: (layer + 1) % step == 0


def _between(keys: Keys) -> Callable[[int], bool]:
    first, last = (keys.number(f"moe_layer_{end}_index", least=0) for end in ("start", "end"))
    step = keys.number("moe_layer_interval")
    return lambda layer: (layer + 1) % step == 0 and first <= layer <= last


def _in_period(keys: Keys) -> Callable[[int], bool]:
    has, several = _period(keys, "expert_layer"), keys.number("num_experts") > 1
    return lambda layer: several and has(layer)


def _typed(keys: Keys) -> Callable[[int], bool]:
    kinds = keys.texts("mlp_layer_types")
    layers = keys.number("num_hidden_layers")
    if kinds is None or len(kinds) != layers or set(kinds) - {"dense", "sparse"}:
        raise keys.refuse("mlp_layer_types", f"must list all {layers} layers as dense or sparse")
    return lambda layer: kinds[layer] == "sparse"


_RULES = {
    "all": _all,
    "after_first": _after_first,
    "after_dense": _after_dense,
    "sparse_step": _sparse_step,
    "listed": _listed,
    "between": _between,
    "period": _in_period,
    "typed": _typed,
    "typed_or_after_first": _typed_or_after_first,
}
