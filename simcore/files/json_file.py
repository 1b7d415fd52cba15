"""Reads JSON as data, plain or packed with gzip, bounded in size, in depth and in values."""

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from simcore.errors import ConfigError
from simcore.files.input_file import MAX_DEPTH, MAX_TEXT_BYTES, is_writable, open_unpacked, text_of

MAX_VALUES = 30_000_000
"""Values of a file: some 2 GB in memory, or a profile of 2 million operators."""

_MARKS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|([\[{])|([\]}])', re.DOTALL)
"""Texts, closed or not, and brackets outside of them."""


def read_json(path: Path, at_most_bytes: int = MAX_TEXT_BYTES) -> object:
    """The content of a JSON file.

    Raises:
        ConfigError: The file cannot be read, is not JSON or holds too much; says the line.
    """
    with open_unpacked(path, at_most_bytes) as stream:
        content = b"".join(iter(partial(stream.read, 1 << 20), b""))
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ConfigError(str(path), "must be UTF-8 text", got="UTF-16")
    return _parsed(text_of(content, path), str(path), table=None)


def parse_json(text: str, at: str) -> object:
    """The content of *text*, which stands *at* a place.

    Raises:
        ConfigError: It is not JSON, holds too much, or a key twice; says the line where it can.
    """
    return _parsed(text, at, table=_table)


_Pairs = list[tuple[str, object]]


class _RepeatedKeyError(Exception):
    """An object has a key twice: readers of JSON take the last value in silence."""


def _table(pairs: _Pairs) -> dict[str, object]:
    table = dict(pairs)
    if len(table) < len(pairs):
        [(key, _)] = Counter([key for key, _ in pairs]).most_common(1)
        raise _RepeatedKeyError(key)
    return table


def _parsed(text: str, at: str, *, table: Callable[[_Pairs], dict[str, object]] | None) -> object:
    """``parse_json``, with what makes a *table* of an object; None: the last of equal keys counts.

    So it is for traces of other programs, which have millions of objects.
    """
    _check_extent(text, at)
    try:
        data: object = json.loads(text, object_pairs_hook=table)
    except _RepeatedKeyError as error:
        got = f"the key {str(error)[:80]!r} twice in one table"
        raise ConfigError(at, "must hold each key once", got=got) from None
    except ValueError as error:
        line = getattr(error, "lineno", 0)
        place = f"{at} line {line}" if line else at
        what = getattr(error, "msg", "a number of too many digits")
        raise ConfigError(place, "must be valid JSON", got=what) from None
    if "\\ud" in text or "\\uD" in text:
        _refuse_halves(data, at)
    return data


def _refuse_halves(data: object, at: str) -> None:
    """Lets pass what can be written: an escaped half of a character cannot."""
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and not is_writable(value):
            raise ConfigError(at, "must hold whole characters", got=value)
        if isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value


def _check_extent(text: str, at: str) -> None:
    opened = text.count("[") + text.count("{")
    if opened + text.count(",") > MAX_VALUES:
        raise ConfigError(at, f"must hold at most {MAX_VALUES:,} values", got="more")
    if opened > MAX_DEPTH and _depth(text) > MAX_DEPTH:
        raise ConfigError(at, f"must have at most {MAX_DEPTH} levels", got="more")


def _depth(text: str) -> int:
    """Levels of lists and objects, as far as ``MAX_DEPTH`` + 1."""
    depth = deepest = 0
    for match in _MARKS.finditer(text):
        if match.lastindex == 1:
            depth += 1
            deepest = max(deepest, depth)
            if deepest > MAX_DEPTH:
                break
        elif match.lastindex == 2:
            depth -= 1
    return deepest
