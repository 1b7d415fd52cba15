"""Ways to damage an input: its bytes, its words, its tables."""

from __future__ import annotations

import copy
import json
import re
from random import Random
from typing import Any

EXTREMES: list[Any] = [
    0, 1, -1, 2, 3, 5, 63, 1000, 1 << 20, 10**9, (1 << 31) - 1, 1 << 31, 1 << 32, 1 << 53, 1 << 62,
    (1 << 63) - 1, 1 << 63, 1 << 64, -(1 << 63), 10**400, 0.5, -0.5, 1e-300, 1e300, float("inf"),
    float("nan"), None, True, False, "", "ring", "Ring", "direct99999", "gpt3_13b", "1 GB/s",
    "-1 GB/s", "1e999 B", "nan s", "0 ns", "\x00", "\ud800", "é漢\U0001f600", "../x.yaml", "%",
    "9" * 400, "x" * 5000, [], [[]], {}, [1, 2, 3, 4, 5], ["ring"] * 9, {"a": {"b": 1}},
    {"Notes": 1}, "&a", "*a",
]  # fmt: skip
KEYS = [
    "Notes",
    "TP",
    "str",
    "int",
    "",
    "<<",
    "0",
    "x" * 3000,
    "é",
    "name",
    "version",
    "a.b",
    "[0]",
]
WORDS = [str(value) for value in EXTREMES if not isinstance(value, dict | list)]
WORDS += [
    "&a",
    "*a",
    "<<: *a",
    "!!float x",
    "? [a]",
    "- - -",
    "{",
    "}",
    "[",
    "]",
    ":",
    "#",
    "'",
    '"',
]
WORDS += ["\t", "\r\n", "\ufeff", "|", ">", "%", "---", "1:1:1", "2020-99-99", "0x", "1e", "~", ","]
WORDS += ["plan.tp", "*", "**", "//", "%", "-", "not", "and", "if", "else", "(", ")", "min(", "=="]


def damaged_bytes(content: bytes, rng: Random) -> bytes:
    """A few bytes changed, cut, doubled, or replaced by the largest varint."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        at, length = rng.randrange(len(data) + 1), rng.randint(1, 12)
        way = rng.randrange(7)
        if way == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            data[at : at + 1] = rng.randbytes(1)
        elif way == 2:
            del data[at : at + length]
        elif way == 3:
            data[at:at] = data[at : at + length]
        elif way == 4:
            data[at : at + length] = b"\xff" * 9 + b"\x01"
        elif way == 5:
            data = data[: rng.randrange(len(data) + 1)]
        else:
            data[at:at] = rng.choice([b"\xef\xbb\xbf", b"\r\n", b"\x00", b"\xc3\x28", b"[" * 99])
    return bytes(data)


def damaged_words(content: bytes, rng: Random) -> bytes:
    """One or two words replaced, dropped, doubled or swapped; sometimes the line ends."""
    words = re.findall(r"\s+|\w[\w.+-]*|[^\w\s]", content.decode())
    for _ in range(rng.choice([1, 1, 2])):
        at, way = rng.randrange(len(words)), rng.randrange(6)
        if way <= 2:
            words[at] = rng.choice(WORDS)
        elif way == 3:
            words[at] = ""
        elif way == 4:
            words.insert(at, words[rng.randrange(len(words))])
        else:
            other = rng.randrange(len(words))
            words[at], words[other] = words[other], words[at]
    text = "".join(words)
    ends = rng.randrange(20)
    if ends == 0:
        text = text.replace("\n", "\r\n")
    elif ends == 1:
        text = "\ufeff" + text
    return text.encode("utf-8", "surrogatepass")


def damaged_data(data: Any, rng: Random) -> Any:
    """None to two values of *data* changed; sometimes none, as a check of the sound input."""
    data = copy.deepcopy(data)
    for _ in range(rng.choice([0, 1, 1, 1, 1, 2, 2])):
        places = _places(data)
        if not places:
            break
        table, key = places[rng.randrange(len(places))]
        _change(table, key, rng, places)
    return data


def _places(data: Any) -> list[tuple[Any, Any]]:
    found, waiting = [], [data]
    while waiting:
        table = waiting.pop()
        for key in range(len(table)) if isinstance(table, list) else list(table):
            found.append((table, key))
            if isinstance(table[key], dict | list):
                waiting.append(table[key])
    return found


def _change(table: Any, key: Any, rng: Random, places: list[tuple[Any, Any]]) -> None:
    way, value = rng.randrange(12), table[key]
    if way == 0:
        del table[key]
    elif way == 1 and isinstance(table, dict):
        table[rng.choice([*KEYS, f"{key}x", str(key).upper()])] = table.pop(key)
    elif way == 1:
        table.insert(key, copy.deepcopy(value))
    elif way == 2:
        other, place = places[rng.randrange(len(places))]
        table[key] = copy.deepcopy(other[place])
    elif way == 3:
        table[key] = _nested(value, rng)
    elif way == 4 and isinstance(value, int | float) and not isinstance(value, bool):
        more = value + 0.5 if abs(value) < 1 << 53 else value + 1
        table[key] = rng.choice([-value, value * 1000, value * 10**9, value // 3, more])
    elif way == 4:
        table[key] = str(value)
    else:
        table[key] = copy.deepcopy(rng.choice(EXTREMES))


def _nested(value: Any, rng: Random) -> Any:
    for _ in range(rng.choice([1, 2, 5, 50, 90])):
        value = [value] if rng.random() < 0.5 else {"a": value}
    return value


def json_bytes(data: Any) -> bytes:
    """*data* as JSON, in which not finite numbers stand as Python writes them."""
    return json.dumps(data).encode()


def yaml_bytes(data: Any, rng: Random) -> bytes:
    """*data* as YAML, which JSON nearly is; sometimes with a value that is repeated by an alias."""
    text = json.dumps(data, ensure_ascii=rng.random() < 0.5)
    text = text.replace("NaN", ".nan").replace("Infinity", ".inf")
    if rng.random() < 0.1:
        text = text.replace(": [", ": &a [", 1) + rng.choice(["", "\n"])
        text = re.sub(
            r": \[", lambda found: ": *a , x: [" if rng.random() < 0.3 else found[0], text
        )
    return text.encode("utf-8", "surrogatepass")
