"""Reads YAML as data: safe types only, size bounded, duplicate keys refused."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from simcore.errors import ConfigError

MAX_FILE_BYTES = 16 * 1024 * 1024

FILE_VERSION = 1
"""Of the format of all files in ``configs/``; a file of another version is refused."""


class _Loader(yaml.SafeLoader):
    """Safe loader that refuses duplicate keys, which YAML readers otherwise drop silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key that is no plain word", key_node.start_mark
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands here twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def read_yaml(path: Path) -> Any:
    """The content of a YAML file as plain Python data.

    Raises:
        ConfigError: The file cannot be read, is too large or is not valid YAML; says the line.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError(str(path), f"must be at most {MAX_FILE_BYTES} bytes", got="more")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(str(path), "must be a readable file", got=error.strerror) from None
    except UnicodeDecodeError:
        raise ConfigError(str(path), "must be UTF-8 text", got="other bytes") from None
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not valid YAML"
        raise ConfigError(f"{path}{line}", "must be valid YAML", got=problem) from None
    except RecursionError:
        raise ConfigError(str(path), "must be valid YAML", got="too many levels") from None
    except (ValueError, KeyError, AttributeError):
        # PyYAML's readers of dates, numbers and tagged values let Python's own errors through
        got = "a date, number or tagged value that is none"
        raise ConfigError(str(path), "must be valid YAML", got=got) from None


def read_table(path: Path) -> dict[str, Any]:
    """The table in a file of its own, under the file's name unless it gives itself another.

    Raises:
        ConfigError: It is no table, or its ``version`` is not ``FILE_VERSION``.
    """
    table = read_yaml(path)
    if not isinstance(table, dict):
        raise ConfigError(str(path), "must be a table of keys and values", got=table)
    version = table.pop("version", None)
    if version != FILE_VERSION:
        raise ConfigError(f"{path}: version", f"must be {FILE_VERSION}", got=version)
    return {"name": path.stem, **table}
