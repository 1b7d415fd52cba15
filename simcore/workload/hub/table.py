"""The model of a ``config.json`` as the table that a run file spells a transformer out with."""

from pathlib import Path
from typing import Any

from simcore.errors import ConfigError
from simcore.files.input_file import read_text
from simcore.files.json_file import parse_json
from simcore.workload.hub.keys import UnmodelledError
from simcore.workload.hub.layers import have_experts, hybrid_layers, mixers
from simcore.workload.hub.parts import Widths
from simcore.workload.hub.read import MAX_CONFIG_BYTES, Opened, count_hub_model, open_hub_model
from simcore.workload.hub.table_parts import (
    experts,
    has_dropout,
    latent,
    linear,
    mamba,
    mlp_kind,
    refuse_parts,
    vectors,
)
from simcore.workload.kinds.transformer.model import Model

_LETTERS = {"linear": "M", "full": "*", "mlp": "-", "moe": "E"}


def hub_table(path: Path) -> dict[str, Any]:
    """The transformer of a ``config.json``, under the name of its folder.

    Its parameters are those of ``simcore models``, to the last one. A part whose work the
    generator does not write (``docs/hub-models.md`` lists them) is refused, never approximated.

    Raises:
        UnmodelledError: A part of it is not modelled.
        ConfigError: The file cannot be read, or a key is missing or has no usable value.
    """
    at = str(path)
    config = parse_json(read_text(path, MAX_CONFIG_BYTES), at)
    counts = count_hub_model(config, at)
    opened = open_hub_model(config, at)
    refuse_parts(opened)
    table = _table(opened)
    table["name"] = path.resolve().parent.name if path.stem == "config" else path.stem
    table["source"] = f"{path.name}, {opened.architecture}"
    try:
        model = Model.from_file_data(table, at="")
    except ConfigError as error:
        raise error.in_file(path) from None
    _check_layers(opened, model)
    built = (model.parameters, model.active_parameters)
    counted = (counts.total_parameters, counts.active_parameters)
    if built != counted:
        rule = f"must have the {built[0]:,} parameters ({built[1]:,} active) of its modelled parts"
        got = f"{counted[0]:,} ({counted[1]:,} active)"
        raise UnmodelledError(f"{at}: parameters", rule, got=got)
    return table


def _table(opened: Opened) -> dict[str, Any]:
    keys, family = opened.keys, opened.family
    widths = Widths.read(keys, family)
    is_hybrid = family.net == "hybrid"
    kinds = hybrid_layers(keys) if is_hybrid else []
    layers = len(kinds) if is_hybrid else keys.number("num_hidden_layers")
    have = [] if is_hybrid else have_experts(keys, family, layers)
    has_mlp = "mlp" in kinds or not (is_hybrid or all(have))
    found: dict[str, Any] = {
        "kind": "gpt" if family.norm == "layer" else "llama",
        "mlp": mlp_kind(opened),
        "layers": layers,
        "hidden": widths.hidden,
        "heads": widths.heads,
        "kv_heads": 0 if family.latent else widths.kv_heads,
        "head_dim": 0 if family.latent else widths.head,
        "ffn": widths.mlp if has_mlp else 0,
        "vocabulary": keys.number("vocab_size"),
        "tied_embeddings": opened.tied,
        "dropout": has_dropout(keys),
        "output_gate": family.output_gate and keys.flag("attn_output_gate", True),
        "vectors": vectors(opened, widths),
    }
    if is_hybrid:
        found["pattern"] = "".join(_LETTERS[kind] for kind in kinds)
        found["mamba"] = mamba(keys)
    else:
        found |= _mixing(opened, mixers(keys, family, layers))
    if family.latent:
        found["latent"] = latent(keys)
    if "moe" in kinds or any(have):
        found["experts"] = experts(opened, widths, have)
    return found


def _mixing(opened: Opened, kinds: list[str]) -> dict[str, Any]:
    """Windows or linear attention, and which layers see all of a sequence."""
    keys = opened.keys
    found: dict[str, Any] = {}
    if "sliding" in kinds:
        found["window"] = keys.number("sliding_window")
    if "linear" in kinds:
        found["linear"] = linear(keys)
    if found and "full" in kinds:
        found["global_every"] = kinds.index("full") + 1
    return found


def _check_layers(opened: Opened, model: Model) -> None:
    """Refuse nets whose layers follow each other otherwise than those of ``Model`` do."""
    keys, family = opened.keys, opened.family
    if family.net == "hybrid":
        return
    told = {"full": model.whole_attention, "sliding": "windowed", "linear": "linear"}
    mixing = mixers(keys, family, model.layers)
    expert = have_experts(keys, family, model.layers)
    for layer, (mixer, has) in enumerate(zip(mixing, expert, strict=True)):
        wanted = (told[mixer], "experts" if has else "mlp")
        if model.layer_kinds[layer] != wanted:
            rule = "must repeat layers in one period, the last of which sees the whole sequence"
            if model.layer_kinds[layer][0] == wanted[0]:
                rule = "must have experts in all layers from one on, or in every n-th of them"
            raise UnmodelledError(f"{keys.at}: layer {layer}", rule, got=" and ".join(wanted))
