"""Reads models, plans and workloads from files; a name means a shipped file."""

from collections.abc import Mapping
from pathlib import Path

from simcore.errors import ConfigError
from simcore.resources import find_config
from simcore.workload.model import Model
from simcore.workload.plan import ParallelPlan
from simcore.workload.workload import TrainingWorkload
from simcore.yaml_file import read_table


def load_model(data: object, *, at: str = "model", beside: Path | None = None) -> Model:
    """The model that *data* names (a shipped name or a .yaml path) or spells out as a table.

    Raises:
        ConfigError: No such file, or a rule of ``Model`` is broken.
    """
    if isinstance(data, Model):
        return data
    if isinstance(data, str):
        return _model_file(find_config("models", data, at=at, beside=beside))
    return Model.from_file_data(data, at=at)


def load_workload(
    data: object, *, at: str = "workload", beside: Path | None = None
) -> TrainingWorkload:
    """The workload that the table *data* describes; its ``model`` may be a name.

    Raises:
        ConfigError: A rule of ``TrainingWorkload`` or ``Model`` is broken.
    """
    if isinstance(data, TrainingWorkload):
        return data
    if not isinstance(data, Mapping):
        raise ConfigError(at, "must be a table of keys and values", got=data)
    values = dict(data)
    if "model" in values:
        values["model"] = load_model(values["model"], at=f"{at}.model", beside=beside)
    return TrainingWorkload.from_file_data(values, at=at)


def load_plan(data: object, *, at: str = "plan") -> ParallelPlan:
    """The plan that the table *data* describes.

    Raises:
        ConfigError: A rule of ``ParallelPlan`` is broken.
    """
    if isinstance(data, ParallelPlan):
        return data
    return ParallelPlan.from_file_data(data, at=at)


def _model_file(path: Path) -> Model:
    table = read_table(path)
    try:
        return Model.from_file_data(table, at="")
    except ConfigError as error:
        raise ConfigError(f"{path}: {error.at}", error.rule, got=error.got) from None
