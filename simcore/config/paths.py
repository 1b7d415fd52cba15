"""Places in a file, written like ``platform.dimensions[1].bandwidth``."""

import re
from typing import Any

from simcore.errors import ConfigError

Steps = tuple[str | int, ...]
"""A path, step by step: names of keys and positions in lists."""

_STEP = re.compile(r"\.?([A-Za-z_]\w*)|\[(\d{1,4})\]")


def parse_path(text: str) -> Steps:
    """The steps of a path: names of keys and positions in lists.

    Raises:
        ConfigError: *text* is no such path.
    """
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None or (at == 0 and match[1] is None):
            break
        steps.append(match[1] if match[1] is not None else int(match[2]))
        at = match.end()
    if at < len(text) or not steps or text.startswith("."):
        rule = "must be a path such as plan.tp or platform.dimensions[0].npus"
        raise ConfigError("", rule, got=text)
    return tuple(steps)


def get_path(table: Any, path: str) -> Any:
    """The value at *path* below *table*.

    Raises:
        ConfigError: There is nothing at that place; lists the keys that are.
    """
    value = table
    for step in parse_path(path):
        value = _child(value, step, path)
    return value


def set_path(table: Any, path: str, value: object) -> Any:
    """A copy of *table* with *value* at *path*; what lies beside the path is shared.

    Missing tables on the way are made, and a list grows by one at its end.

    Raises:
        ConfigError: The path runs through something that is neither a table nor a list.
    """
    return set_steps(table, parse_path(path), value, path)


def set_steps(table: Any, steps: Steps, value: object, path: str) -> Any:
    """``set_path`` with *path* taken apart; no steps: *value* itself."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        if table is None:
            table = []
        if isinstance(table, str):
            table = [table]  # one name for all dimensions
        if not isinstance(table, list | tuple) or step > len(table):
            length = len(table) if isinstance(table, list | tuple) else 0
            raise ConfigError(path, f"position must be at most {length}", got=step)
        grown = [*table, None] if step == len(table) else list(table)
        grown[step] = set_steps(grown[step], rest, value, path)
        return grown
    if table is None:
        table = {}
    if not isinstance(table, dict):
        raise ConfigError(path, f"the place before .{step} must be a table", got=table)
    return {**table, step: set_steps(table.get(step), rest, value, path)}


def _child(value: Any, step: str | int, path: str) -> Any:
    if isinstance(step, int):
        if isinstance(value, list | tuple) and step < len(value):
            return value[step]
        length = len(value) if isinstance(value, list | tuple) else 0
        raise ConfigError(path, f"position must be below {length}", got=step)
    if isinstance(value, dict) and step in value:
        return value[step]
    known = ", ".join(map(str, value)) if isinstance(value, dict) else "none"
    raise ConfigError(path, f"the keys at this place are {known}", got=step)
