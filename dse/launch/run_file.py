"""A trial as a run file (or the file of a service), which ``simcore`` reads back as it was."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dse.evaluate.designs.runs import FilledDesigns
from dse.space import Design
from simcore import ConfigError

_STEP = re.compile(r"[^.\[\]]+|\[\d+\]")
_NAME = re.compile(r"[A-Za-z_][\w./-]*")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
"""Names that YAML reads as something else."""
_PATHS = (".yaml", ".yml", ".json", ".csv")


def run_text(filled: FilledDesigns[Any], design: Design, title: str, folder: Path) -> str:
    """The study's run with the values of a design, as YAML.

    Names of models, accelerators and platforms stay names, unless the design changes something
    inside of what they mean: then the table stands in their place.

    Args:
        filled: The runs of the study.
        design: Values of its knobs.
        title: Name of study and trial.
        folder: Folder of the study, from which its paths are taken.

    Raises:
        ConfigError: A value leads nowhere.
    """
    table, values, resolved = filled.written(design)
    plain: Any = _absolute(_plain(table), folder)
    for path, value in values.items():
        steps = [int(s[1:-1]) if s[0] == "[" else s for s in _STEP.findall(path)]
        plain = _set(plain, steps, _plain(value), resolved, path)
    head = [f"# {title}; written by dse export. Run it: python -m simcore simulate FILE"]
    version = {} if "version" in plain else {"version": 1}
    return "\n".join([*head, *_lines({**version, **plain}, 0)]) + "\n"


def _set(table: Any, steps: list[Any], value: object, resolved: Any, path: str) -> Any:
    """A copy of *table* with the value at the end of *steps*."""
    if not steps:
        return value
    first, *rest = steps
    if isinstance(table, str):  # the name of a file: what it means stands in *resolved*
        table = _plain(resolved)
    if isinstance(first, int):
        if not isinstance(table, list) or first >= len(table):
            raise ConfigError(path, "must lead to a value of the run", got=None)
        inner = resolved[first] if isinstance(resolved, list | tuple) else None
        return [
            _set(one, rest, value, inner, path) if place == first else one
            for place, one in enumerate(table)
        ]
    if not isinstance(table, dict | type(None)):
        raise ConfigError(path, "must lead to a value of the run", got=None)
    table = table or {}
    inner = resolved.get(first) if isinstance(resolved, Mapping) else None
    return {**table, first: _set(table.get(first), rest, value, inner, path)}


def _plain(value: Any) -> Any:
    """Tables and lists of plain values."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def _absolute(value: Any, folder: Path) -> Any:
    """Paths of files as seen from anywhere."""
    if isinstance(value, dict):
        return {key: _absolute(one, folder) for key, one in value.items()}
    if isinstance(value, list):
        return [_absolute(one, folder) for one in value]
    if isinstance(value, str) and value.endswith(_PATHS) and (folder / value).is_file():
        return str((folder / value).resolve())
    return value


def _lines(value: Any, depth: int) -> list[str]:
    """Lines of YAML: tables a key a line, what is small and flat in one."""
    lines = []
    for key, one in value.items():
        name = f"{'  ' * depth}{_word(key)}:"
        if isinstance(one, dict) and one and depth < 2 and len(_word(one)) > 90:
            lines += [name, *_lines(one, depth + 1)]
        elif isinstance(one, list) and one and len(_word(one)) > 90:
            lines += [name, *(f"{'  ' * depth}  - {_word(item)}" for item in one)]
        else:
            lines.append(f"{name} {_word(one)}")
    return lines


def _word(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_word(key)}: {_word(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_word, value)) + "]"
    if isinstance(value, str) and _NAME.fullmatch(value) and value.lower() not in _WORDS:
        return value
    if value is None or isinstance(value, bool | int | float | str):
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(str(value), ensure_ascii=False)
