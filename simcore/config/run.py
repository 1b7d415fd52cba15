"""The run file: everything that one simulation needs, by name or in place."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from simcore.config.paths import parse_path, set_path
from simcore.errors import ConfigError
from simcore.hardware import Npu, Platform, load_npu, load_platform
from simcore.resources import find_config
from simcore.schema import Schema
from simcore.system.spec import System
from simcore.workload import Model, ParallelPlan, TrainingWorkload, load_model
from simcore.yaml_file import read_yaml


class Run(Schema):
    """One design to simulate.

    Attributes:
        version: Of the file format.
        workload: Model and batch.
        platform: The machine.
        plan: How the work is spread.
        system: How data is moved.
        backend: Network backend.
        compute: Compute model.
    """

    version: Literal[1] = 1
    workload: TrainingWorkload
    platform: Platform
    plan: ParallelPlan
    system: System = Field(default_factory=System)
    backend: str = "congestion_unaware"
    compute: str = "roofline"


@dataclass(frozen=True, slots=True)
class RunTemplate:
    """A run file whose names are resolved, to be filled with the values of many designs.

    Attributes:
        table: The run file as plain data; a model, platform or accelerator given by name has been
            replaced by its own table.
        at: Name of the file in messages.
    """

    table: Mapping[str, Any]
    at: str = ""

    @classmethod
    def from_table(
        cls, table: object, *, at: str = "", beside: Path | None = None
    ) -> "RunTemplate":
        """Resolve the names in *table*; paths in it are taken from *beside*.

        Raises:
            ConfigError: A name has no file, or a file is not valid.
        """
        if not isinstance(table, dict):
            raise ConfigError(at, "must be a table of keys and values", got=table)
        table = dict(table)
        for key in ("workload", "platform", "plan"):
            if key not in table:
                raise ConfigError(key, "this key is required", got=None)
        table["platform"] = _platform_table(table["platform"], beside)
        workload = table["workload"]
        if isinstance(workload, dict) and "model" in workload:
            model = _model_table(workload["model"], beside)
            table["workload"] = {**workload, "model": model}
        return cls(table, at)

    def with_values(self, values: Mapping[str, object]) -> Run:
        """The run with *values* (by path, as in a file) in place of the file's.

        Raises:
            ConfigError: A path leads nowhere, or a value breaks a rule; names the path.
        """
        table: Any = dict(self.table)
        for path, value in values.items():
            if parse_path(path) == ("platform",):
                value = _platform_table(value, None)
            elif parse_path(path) == ("platform", "npu"):
                value = _npu_table(value, None)
            elif parse_path(path) == ("workload", "model"):
                value = _model_table(value, None)
            table = set_path(table, path, value)
        if "npu" in table["platform"]:
            npu = load_npu(table["platform"]["npu"], at="platform.npu")
            table = set_path(table, "platform.npu", npu)
        return Run.from_file_data(table, at="")


def load_run(
    source: Path | str | Mapping[str, Any],
    values: Mapping[str, object] | None = None,
    *,
    beside: Path | None = None,
) -> Run:
    """Read a run file (or its content), with *values* by path in place of the file's.

    Raises:
        ConfigError: What is wrong, where, and what would be right.
    """
    if isinstance(source, Mapping):
        return RunTemplate.from_table(dict(source), beside=beside).with_values(values or {})
    path = Path(source)
    try:
        template = RunTemplate.from_table(read_yaml(path), beside=path.parent)
        return template.with_values(values or {})
    except ConfigError as error:
        if str(path) in error.at:
            raise
        place = f"{path}: {error.at}" if error.at else str(path)
        raise ConfigError(place, error.rule, got=error.got) from None


def _platform_table(given: object, beside: Path | None) -> dict[str, Any]:
    """The platform as a table with file keys, its accelerator checked and built."""
    if isinstance(given, Platform):
        return {**given.__dict__}
    if isinstance(given, str):
        path = find_config("platforms", given, at="platform", beside=beside)
        load_platform(given, beside=beside)  # a broken file is told as such, with its own name
        table = _without_version(read_yaml(path))
        table.setdefault("name", path.stem)
        beside = path.parent
    elif isinstance(given, dict):
        table = dict(given)
    else:
        raise ConfigError("platform", "must be a name, a .yaml file or a table", got=given)
    if "npu" in table:
        table["npu"] = _npu_table(table["npu"], beside)
    return table


def _npu_table(given: object, beside: Path | None) -> object:
    if isinstance(given, Npu | dict):
        return given
    load_npu(given, at="platform.npu", beside=beside)
    path = find_config("npus", str(given), at="platform.npu", beside=beside)
    table = _without_version(read_yaml(path))
    table.setdefault("name", path.stem)
    return table


def _model_table(given: object, beside: Path | None) -> object:
    if isinstance(given, Model | dict):
        return given
    if not isinstance(given, str):
        raise ConfigError("workload.model", "must be a name, a .yaml file or a table", got=given)
    path = find_config("models", given, at="workload.model", beside=beside)
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise ConfigError(str(path), "must be a table of keys and values", got=content)
    table = _without_version(content)
    table.setdefault("name", path.stem)
    load_model(given, at="workload.model", beside=beside)  # a broken file is told with its own name
    return table


def _without_version(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key != "version"}
