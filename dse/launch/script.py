"""Shell scripts that call a program with one option a line."""

import shlex
from collections.abc import Iterable, Sequence

from simcore import ConfigError

Flags = list[tuple[str, ...]]
"""Options in order, each with its values, if any."""


def script(head: Sequence[str], setup: Iterable[str], call: str, flags: Flags) -> str:
    """A script of comments, *setup* lines, and one call with an option on each line."""
    lines = ["#!/bin/sh", *head, "set -e", *setup, f"exec {call} \\"]
    told = ["    " + " ".join([name, *map(shlex.quote, values)]) for name, *values in flags]
    return "\n".join([*lines, " \\\n".join(told)]) + "\n"


def options(text: str, call: str) -> dict[str, list[str]]:
    """Values of each option of the one line of a script that calls a program.

    Raises:
        ConfigError: There is no line with that *call*.
    """
    joined = text.replace("\\\n", " ")
    lines = [line for line in joined.splitlines() if line.startswith("exec ") and call in line]
    if len(lines) != 1:
        raise ConfigError("launch file", f"must have one line that calls {call}", got=len(lines))
    found: dict[str, list[str]] = {}
    name = ""
    for word in shlex.split(lines[0], comments=False):
        if word.startswith("-") and not word.lstrip("-").isdigit() and word != "-":
            name = word
            found[name] = []
        elif name:
            found[name].append(word)
    return found


def number(found: dict[str, list[str]], name: str, default: int = 1) -> int:
    """The value of an option as a whole number."""
    return int(found[name][0]) if found.get(name) else default
