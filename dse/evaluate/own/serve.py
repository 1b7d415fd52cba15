"""Calls one function for each line that it reads; stands alone.

``serve.py module:function`` imports the function, says so with an empty line, and answers each line
of JSON, ``[design, metrics]``, with one: ``{"gives": ...}``, ``{"infeasible": [rule, reason]}`` or
``{"error": ...}``. What the function itself prints goes nowhere.
"""

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def main(name: str) -> None:
    """Serve the function *name* until there are no more lines."""
    lines, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "r+b") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(nothing.fileno(), 1)
    module, _, attribute = name.partition(":")
    function = getattr(import_module(module), attribute)
    _write(answers, "")
    for line in lines:
        _write(answers, json.dumps(_answer(function, *json.loads(line)), default=_plain))


def _answer(
    function: Callable[..., Any], design: dict[str, Any], metrics: dict[str, float]
) -> dict[str, Any]:
    try:
        return {"gives": function(design, metrics)}
    except MemoryError:
        return {"error": "ran out of memory"}
    except Exception as error:
        if type(error).__name__ == "InfeasibleError" and hasattr(error, "rule"):
            return {"infeasible": [str(error.rule), str(getattr(error, "reason", error))]}
        return {"error": f"{type(error).__name__}: {error}"}


def _plain(value: object) -> object:
    """The number in a scalar of numpy's; a word for what is no number."""
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "ndim", None) == 0 else repr(value)


def _write(stream: Any, text: str) -> None:
    stream.write(text.encode() + b"\n")
    stream.flush()


if __name__ == "__main__":
    main(sys.argv[1])
