"""Service files: one service each, or a template that is filled with the values of many."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcore.config.names import platform_table, resolved
from simcore.config.paths import parse_path, set_steps
from simcore.errors import ConfigError
from simcore.files.yaml_file import read_yaml
from simcore.machine import load_platform
from simcore.serving.service import Service
from simcore.workload import load_model


@dataclass(frozen=True, slots=True)
class ServiceTemplate:
    """A service file whose names are resolved, to be filled with the values of many designs.

    Attributes:
        table: The file as plain data; a model, platform or accelerator given by name has been
            replaced by its own.
    """

    table: Mapping[str, Any]

    @classmethod
    def from_table(cls, table: object, *, beside: Path | None = None) -> "ServiceTemplate":
        """Resolve the names in *table*; paths in it are taken from *beside*.

        Raises:
            ConfigError: A name has no file, or a file is not valid.
        """
        if not isinstance(table, dict):
            raise ConfigError("", "must be a table of keys and values", got=table)
        table = dict(table)
        if "platform" in table:
            table["platform"] = platform_table(table["platform"], beside)
        if isinstance(table.get("model"), str):
            table["model"] = load_model(table["model"], beside=beside)
        return cls(table)

    def prepare(self, paths: Iterable[str]) -> None:
        """Nothing: the services of a study share the model alone, which has been read."""

    def with_values(self, values: Mapping[str, object]) -> Service:
        """The service with *values* (by path, as in a file) in place of the file's.

        Raises:
            ConfigError: A path leads nowhere, or a value breaks a rule; names the path.
        """
        table: Any = dict(self.table)
        for path, value in values.items():
            steps = parse_path(path)
            table = set_steps(table, steps, resolved(steps, value), path)
        if "platform" in table:
            table["platform"] = load_platform(table["platform"])
        return Service.from_file_data(table, at="")


def is_service(path: Path) -> bool:
    """Whether a file describes a service, by its pools; a run has neither."""
    table = read_yaml(path)
    return isinstance(table, dict) and not table.keys().isdisjoint({"prefill", "decode"})


def load_service(path: Path, values: Mapping[str, object] | None = None) -> Service:
    """Read a service file, with *values* by path in place of the file's.

    Raises:
        ConfigError: What is wrong, where, and what would be right.
    """
    try:
        template = ServiceTemplate.from_table(read_yaml(path), beside=path.parent)
        return template.with_values(values or {})
    except ConfigError as error:
        raise error.in_file(path) from None
