"""Reads models, plans and workloads from files; a name means a shipped file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simcore.errors import ConfigError
from simcore.files.input_file import is_kept, is_there
from simcore.files.resources import find_config
from simcore.files.yaml_file import read_table
from simcore.schema import Schema
from simcore.workload.base import Workload
from simcore.workload.kinds import DEFAULT_NET, NETS, read_workload
from simcore.workload.kinds.transformer.model import Model
from simcore.workload.plan import ParallelPlan


def load_model(data: object, *, at: str = "model", beside: Path | None = None) -> Model:
    """The transformer that *data* names or spells out as a table.

    A name is a shipped one, or the path of a .yaml file or of a ``config.json`` of Hugging Face.

    Raises:
        ConfigError: No such file, or a rule of ``Model`` is broken.
    """
    if isinstance(data, Model):
        return data
    net = load_net(data, at=at, beside=beside)
    if not isinstance(net, Model):
        raise ConfigError(at, "must be a transformer", got=data)
    return net


def load_net(data: object, *, at: str = "model", beside: Path | None = None) -> Schema:
    """Like ``load_model``, for the nets of all kinds of workloads.

    Raises:
        ConfigError: No such file, or a rule of the net is broken.
    """
    if (path := _config_path(data, at=at, beside=beside)) is not None:
        return _read_net(_hub_table(path), at=at)
    if isinstance(data, str):
        return _net_file(find_config("models", data, at=at, beside=beside))
    return data if isinstance(data, Schema) else _read_net(data, at=at)


def net_table(data: object, *, at: str = "model", beside: Path | None = None) -> object:
    """The table of the net that *data* names, checked; *data* itself where it names no file.

    A ``config.json`` of Hugging Face is named by its path, or as a table of ``config`` alone.

    Raises:
        ConfigError: No such file, or a rule of the net is broken.
    """
    if (path := _config_path(data, at=at, beside=beside)) is not None:
        return _hub_table(path)
    if not isinstance(data, str):
        return data
    path = find_config("models", data, at=at, beside=beside)
    _net_file(path)  # a broken file is told with its own name
    return read_table(path)


def load_workload(data: object, *, at: str = "workload", beside: Path | None = None) -> Workload:
    """The workload that the table *data* describes; its ``model`` may be a name.

    Raises:
        ConfigError: A rule of its kind or of its model is broken.
    """
    if isinstance(data, Mapping):
        data = dict(data)
        model = data.get("model")
        if isinstance(model, str) or (isinstance(model, dict) and "config" in model):
            data["model"] = load_net(data["model"], at=f"{at}.model", beside=beside)
    return read_workload(data, at=at)


def load_plan(data: object, *, at: str = "plan") -> ParallelPlan:
    """The plan that the table *data* describes.

    Raises:
        ConfigError: A rule of ``ParallelPlan`` is broken.
    """
    if isinstance(data, ParallelPlan):
        return data
    return ParallelPlan.from_file_data(data, at=at)


def _config_path(data: object, *, at: str, beside: Path | None) -> Path | None:
    """The ``config.json`` that *data* names, if it names one."""
    named: Any = data
    if isinstance(data, dict) and "config" in data:
        named, at = data["config"], f"{at}.config"
        if len(data) > 1 or not isinstance(named, str):
            rule = "must be the path of a config.json and the only key of its table"
            raise ConfigError(at, rule, got=named if len(data) == 1 else sorted(map(str, data)))
    elif not isinstance(data, str) or not data.endswith(".json"):
        return None
    path: Path = (beside or Path.cwd()) / named
    if is_kept(path) or is_there(path):
        return path
    raise ConfigError(at, f"must name an existing file, and {path} does not exist", got=named)


def _hub_table(path: Path) -> dict[str, Any]:
    from simcore.workload.hub.table import hub_table  # most runs name no config.json

    return hub_table(path)


def _read_net(data: object, *, at: str) -> Schema:
    kind = data.get("kind", DEFAULT_NET) if isinstance(data, dict) else DEFAULT_NET
    if kind not in NETS:
        raise NETS.unknown(kind, at=f"{at}.kind" if at else "kind")
    return NETS[kind].from_file_data(data, at=at)


def _net_file(path: Path) -> Schema:
    table = read_table(path)
    try:
        return _read_net(table, at="")
    except ConfigError as error:
        raise error.in_file(path) from None
