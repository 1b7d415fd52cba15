"""The net of a row: from its columns, or a shipped model where they cannot tell it."""

import re

from simcore.errors import ConfigError
from simcore.files.resources import shipped_names
from simcore.validation.rows import MeasuredRow, UnsupportedRow
from simcore.workload import Model, load_net
from simcore.workload.kinds.transformer.model import MAX_LAYERS
from simcore.workload.kinds.transformer.model_parts import Experts

_SHAPE = ("layers", "hidden", "heads")
_TOLD_BY_COLUMNS = ("gpt", "gpt-gqa", "llama", "llama-mha", "moe")
_MLPS = {"swiglu": "swiglu", "geglu": "swiglu", "relu2": "squared_relu"}


def model_of(row: MeasuredRow) -> Model:
    """The net of *row*.

    The columns give attention with grouped heads, an MLP or routed experts of one width. What has
    more to it (latent attention, state space layers, shared experts) is a model of
    ``configs/models``, found by its name, with as many layers as the row says.

    Raises:
        UnsupportedRow: Its shape is not published, and no shipped model has its name.
        ConfigError: A cell holds no number where one is due.
    """
    if (row.count("layers") or 0) > MAX_LAYERS:
        raise UnsupportedRow(f"models of more than {MAX_LAYERS} layers are not predicted")
    told = row.text("arch") in _TOLD_BY_COLUMNS and all(row.count(name) for name in _SHAPE)
    return _from_columns(row) if told else _shipped(row)


def _from_columns(row: MeasuredRow) -> Model:
    hidden, vocabulary = row.count("hidden") or 0, row.count("vocab") or 0
    mlp = _MLPS.get(row.text("mlp"), "gelu")
    ffn, experts = row.count("ffn_hidden") or 4 * hidden, None
    count, active = row.count("moe_experts"), row.count("moe_topk")
    if count and active:
        experts, ffn = Experts(count=count, active=active, ffn=ffn), 0
    gated = mlp == "swiglu"
    values: dict[str, object] = {
        "name": row.text("model") or "model",
        "kind": "llama" if gated else "gpt",
        "mlp": mlp,
        "layers": row.count("layers"),
        "hidden": hidden,
        "heads": row.count("heads"),
        "kv_heads": row.count("kv_heads") or 0,
        "head_dim": row.count("head_dim") or 0,
        "ffn": ffn,
        "experts": experts,
        "vocabulary": vocabulary,
        "tied_embeddings": not gated and vocabulary > 0,
    }
    try:
        return Model.build(at="model", **values)
    except ConfigError as error:
        raise UnsupportedRow(str(error)) from error


def _shipped(row: MeasuredRow) -> Model:
    """The shipped model whose name begins like the row's, or the other way round."""
    asked = _plain(row.text("model"))
    for name in shipped_names("models"):
        plain = _plain(name)
        if asked and (plain.startswith(asked) or asked.startswith(plain)):
            model = load_net(name)
            if not isinstance(model, Model):
                continue
            layers = row.count("layers") or model.layers
            return model.model_copy(update={"layers": layers}) if not model.pattern else model
    what = row.text("model") or "the model"
    raise UnsupportedRow(f"the shape of {what} is neither in the row nor in configs/models")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
