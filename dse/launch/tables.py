"""YAML files of one or two levels, a key a line, with values as JSON writes them."""

import json
from collections.abc import Mapping
from typing import Any

from simcore import ConfigError, parse_json


def lines_of(tables: Mapping[str, Any]) -> list[str]:
    """Lines of a table of values and of tables of values."""
    lines = []
    for key, value in tables.items():
        if isinstance(value, Mapping):
            lines.append(f"{key}:")
            lines += [f"  {name}: {json.dumps(one)}" for name, one in value.items()]
        else:
            lines.append(f"{key}: {json.dumps(value)}")
    return lines


def read_lines(text: str, at: str) -> dict[str, Any]:
    """The tables that ``lines_of`` wrote.

    Raises:
        ConfigError: A line is none of these.
    """
    found: dict[str, Any] = {}
    inner = found
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, colon, value = line.partition(":")
        if not colon:
            raise ConfigError(f"{at} line {number}", "must be a key and a value", got=line)
        if not line.startswith(" "):
            inner = found
        if value.strip():
            inner[key.strip()] = parse_json(value.strip(), f"{at} line {number}")
        else:
            inner = found[key] = {}
    return found
