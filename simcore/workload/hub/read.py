"""Reads a ``config.json`` of Hugging Face, and counts the model it stands for."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from simcore.errors import ConfigError
from simcore.files.json_file import read_json
from simcore.workload.hub.counts import ModelCounts
from simcore.workload.hub.families import FAMILIES
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys, UnmodelledError
from simcore.workload.hub.nets import NETS
from simcore.workload.hub.own.encoders import OWN_ENCODER_NETS
from simcore.workload.hub.wrappers import HEAD_AS_TEXT_SAYS, HEAD_OF_ITS_OWN, WRAPPERS

MAX_CONFIG_BYTES = 1 << 20
_HEADS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "MTModel")
_TWO_SIDES = frozenset({"bart", "encoder_decoder", "led", "switch", "whisper"})
_UNTIED = frozenset({"eurobert", "rembert"})
_ENCODERS = {"deberta", "encoder", "gated_encoder", "shared_encoder", *OWN_ENCODER_NETS}


def read_hub_model(path: Path) -> ModelCounts:
    """Counts of the model of a ``config.json``.

    Raises:
        UnmodelledError: Its architecture or a part of it is not modelled, and so not counted.
        ConfigError: The file cannot be read, or a key is missing or has no usable value.
    """
    return count_hub_model(read_json(path, MAX_CONFIG_BYTES), str(path))


def count_hub_model(config: object, at: str) -> ModelCounts:
    """Counts of the model of a *config* that stands *at* a place; errors as ``read_hub_model``."""
    opened = open_hub_model(config, at)
    keys, family = opened.keys, opened.family
    counts = NETS[family.net](keys, family, opened.tied)
    keys.refuse_unread(opened.architecture, family.idle)
    return counts


@dataclass(frozen=True, slots=True)
class Opened:
    """The part of a ``config.json`` that text passes, and the line of its architecture.

    Attributes:
        architecture: Its ``model_type``.
        family: What its layers are made of.
        keys: Its keys.
        tied: Input tokens and output head share a table.
    """

    architecture: str
    family: Family
    keys: Keys
    tied: bool


def open_hub_model(config: object, at: str) -> Opened:
    """Architecture and keys of a *config* that stands *at* a place; errors as ``read_hub_model``.

    What its family needs, and refuses to be otherwise, has been checked.
    """
    if not isinstance(config, Mapping):
        raise ConfigError(at, "must be a table of keys, as config.json of a release", got=config)
    table = _text_part(config, at)
    architecture = table.get("model_type")
    family = FAMILIES.get(architecture) if isinstance(architecture, str) else None
    if family is None:
        rule = f"must be one of the {len(FAMILIES)} architectures listed in docs/hub-models.md"
        got = "no such key" if architecture is None else architecture
        raise UnmodelledError(f"{at}: model_type", rule, got=got)
    _check_head(config, family, at)
    keys = Keys(table, at)
    for name in family.needed:
        keys.needed(name)
    for name, value in family.only:
        keys.must_be(name, value)
    if family.net in _ENCODERS - _UNTIED:
        keys.must_be("tie_word_embeddings", True)
    tied = family.net == "gated_encoder" or _is_tied(config, keys)
    return Opened(str(architecture), family, keys, tied)


def _text_part(config: Mapping[str, object], at: str) -> Mapping[str, object]:
    """The table of the part that text passes: that of a model with vision is nested."""
    table = config.get("text_config")
    if table is None:
        return config
    if not isinstance(table, Mapping):
        raise ConfigError(f"{at}: text_config", "must be a table of keys", got=table)
    pair = (config.get("model_type"), table.get("model_type"))
    if pair not in WRAPPERS:
        raise UnmodelledError(
            f"{at}: model_type", "must be an architecture with vision that is modelled"
            f" ({', '.join(sorted({outer for outer, _ in WRAPPERS}))})", got=pair[0],
        )  # fmt: skip
    return table


def _check_head(config: Mapping[str, object], family: Family, at: str) -> None:
    """Refuse other heads than those of language models, whose parameters differ."""
    names = config.get("architectures")
    if names is None:
        return
    wanted: tuple[str, ...] = _HEADS
    if family.classes:
        wanted = family.classes
    elif family.net in _ENCODERS:
        wanted = ("ForMaskedLM",)
    elif family.net in _TWO_SIDES:
        wanted = ("ForConditionalGeneration", "MTModel")  # a class of one side has fewer parts
    if not isinstance(names, list) or not all(str(name).endswith(wanted) for name in names):
        rule = f"must name classes that end in {' or '.join(wanted)}: other heads are not modelled"
        raise UnmodelledError(f"{at}: architectures", rule, got=names)


def _is_tied(config: Mapping[str, object], keys: Keys) -> bool:
    """True if input tokens and output head share a table; the word of the whole model counts."""
    keys.value("tie_word_embeddings")
    if config.get("model_type") in HEAD_OF_ITS_OWN:
        return False
    if config.get("model_type") in HEAD_AS_TEXT_SAYS:
        return keys.flag("tie_word_embeddings")
    return Keys(config, keys.at).flag("tie_word_embeddings")
