"""Run files: one design each, or a template that is filled with the values of many."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from simcore.config.filling import Filling
from simcore.config.names import NPU, model_table, platform_table, resolved
from simcore.config.paths import parse_path, set_steps
from simcore.config.run import Run
from simcore.errors import ConfigError
from simcore.files.resources import named_file
from simcore.files.yaml_file import read_yaml
from simcore.machine import load_npu
from simcore.machine.system import System
from simcore.placement.choice import from_folder

_SHAPES_KEPT = 64
"""Sets of paths, of which a study has one per number of network dimensions or so."""


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
    _filling: Callable[[tuple[str, ...]], Filling] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        filling = lru_cache(_SHAPES_KEPT)(partial(Filling.of, self.table))
        object.__setattr__(self, "_filling", filling)

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
        if {"run", "space"} <= set(table):
            rule = "must be a run file: this is a study, which python -m dse study reads"
            raise ConfigError(at, rule, got=sorted(map(str, table)))
        if "jobs" in table:
            rule = "must be a run file: this one lists jobs, which python -m simcore simulate reads"
            raise ConfigError(at, rule, got=sorted(map(str, table)))
        for key in ("workload", "platform", "plan"):
            if key not in table:
                raise ConfigError(key, "this key is required", got=None)
        table["platform"] = platform_table(table["platform"], beside)
        if isinstance(table.get("stack"), str):
            table["stack"] = stack_path(table["stack"], beside)
        if "placement" in table:
            table["placement"] = from_folder(table["placement"], beside)
        workload = table["workload"]
        if isinstance(workload, dict) and "model" in workload:
            model = model_table(workload["model"], beside)
            table["workload"] = {**workload, "model": model}
        return cls(table, at)

    def prepare(self, paths: Iterable[str]) -> None:
        """Do beforehand what all runs that set *paths*, in this order, have in common."""
        with suppress(ConfigError):  # told with the values of the run that meets it
            self._filling(tuple(paths)).prepare()

    def with_values(self, values: Mapping[str, object]) -> Run:
        """The run with *values* (by path, as in a file) in place of the file's.

        Raises:
            ConfigError: A path leads nowhere, or a value breaks a rule; names the path.
        """
        try:
            run = self._filling(tuple(values)).run(values.values())
        except ConfigError:
            run = None  # the whole file tells which of its mistakes is the first
        return run or self._checked_whole(values)

    def system_with_values(self, values: Mapping[str, object]) -> System:
        """``with_values(values).system``, sooner: no rule of a run is about it and another table.

        Raises:
            ConfigError: As ``with_values``.
        """
        with suppress(ConfigError):
            system = self._filling(tuple(values)).part("system", values.values())
            if isinstance(system, System):
                return system
        return self.with_values(values).system

    def _checked_whole(self, values: Mapping[str, object]) -> Run:
        """Run with every table of the file checked again."""
        table: Any = dict(self.table)
        for path, value in values.items():
            steps = parse_path(path)
            table = set_steps(table, steps, resolved(steps, value), path)
        if "npu" in table["platform"]:
            npu = load_npu(table["platform"]["npu"], at="platform.npu")
            table = set_steps(table, NPU, npu, "platform.npu")
        return Run.from_file_data(table, at="")


def stack_path(stack: str, beside: Path | None) -> str:
    """*stack*; where it is the path of a file, that taken from *beside*."""
    is_file = stack.endswith((".yaml", ".yml"))
    return str((beside or Path.cwd()) / stack) if is_file else stack


def load_run(
    source: Path | str | Mapping[str, Any],
    values: Mapping[str, object] | None = None,
    *,
    beside: Path | None = None,
) -> Run:
    """Read a run file, a path or a shipped name, or its content.

    Args:
        source: ``gpt3_175b_1024_a100`` of ``configs/runs``, the path of a file, or a table.
        values: By path, in place of the file's.
        beside: Folder that paths in a table are taken from.

    Raises:
        ConfigError: What is wrong, where, and what would be right.
    """
    if isinstance(source, Mapping):
        return RunTemplate.from_table(dict(source), beside=beside).with_values(values or {})
    path = named_file("runs", source)
    try:
        template = RunTemplate.from_table(read_yaml(path), beside=path.parent)
        return template.with_values(values or {})
    except ConfigError as error:
        raise error.in_file(path) from None
