"""The public names of both packages, each with how it is called: changed on purpose only."""

import inspect
import re
import sys
from collections.abc import Iterator
from difflib import unified_diff
from enum import EnumMeta
from importlib import import_module
from pathlib import Path

from pydantic import BaseModel

KEPT = Path(__file__).with_name("public_api.txt")
_LINE = re.compile(r"^from \S+ import (\w+) as \w+(?:  # (\w+))?$", re.MULTILINE)


def _marks(package: str) -> dict[str, str]:
    """By public name of *package*, whether it is stable or provisional."""
    stub = Path(str(import_module(package).__file__)).with_suffix(".pyi")
    return {name: mark or "stable" for name, mark in _LINE.findall(stub.read_text())}


MARKS = {package: _marks(package) for package in ("simcore", "dse")}
PUBLIC = {
    p: {name: getattr(import_module(p), name) for name in found} for p, found in MARKS.items()
}
CLASSES = [one for found in PUBLIC.values() for one in found.values() if isinstance(one, type)]


def _called(name: str, call: object) -> str:
    """*name* with its parameters: what has a default ends in ``=``."""
    if isinstance(call, type) and issubclass(call, BaseException):
        return name
    told, starred = [], False
    for one in inspect.signature(call).parameters.values():  # type: ignore[arg-type]
        if one.kind is one.KEYWORD_ONLY and not starred:
            told.append("*")
        starred |= one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}
        told.append(stars.get(one.kind, "") + one.name + ("" if one.default is one.empty else "="))  # type: ignore[call-overload]
    return f"{name}({', '.join(told)})"


def _of_class(owner: type) -> Iterator[str]:
    """What a class has that is public, but for what it has from another public one."""
    own = [base for base in owner.__mro__ if base is owner or base not in CLASSES]
    bases = [base for base in own if base.__module__.startswith(("simcore", "dse"))]
    known = {name: base.__dict__[name] for base in reversed(bases) for name in base.__dict__}
    fields = owner.model_fields if issubclass(owner, BaseModel) else ()
    for name in sorted(set(known) - set(fields)):
        value = known[name]
        if isinstance(value, classmethod | staticmethod):
            value = value.__func__
        if name.startswith(("_", "model_")):
            continue
        yield f"    {_called(name, value) if inspect.isfunction(value) else name}"


def _told(name: str, found: object, mark: str) -> Iterator[str]:
    if isinstance(found, EnumMeta):
        yield f"{name}: {', '.join(found.__members__)}  [{mark}]"
    elif isinstance(found, type):
        yield f"{_called(name, found)}  [{mark}]"
        yield from _of_class(found)
    elif inspect.isfunction(found):
        yield f"{_called(name, found)}  [{mark}]"
    else:
        yield f"{name}: {type(found).__name__}  [{mark}]"


def api() -> str:
    """The public API as text."""
    lines = [
        line
        for package, found in PUBLIC.items()
        for name in sorted(found)
        for line in _told(f"{package}.{name}", found[name], MARKS[package][name])
    ]
    return "\n".join(lines) + "\n"


def test_the_public_api_is_the_one_that_is_kept() -> None:
    kept, now = KEPT.read_text(encoding="utf-8"), api()
    changes = unified_diff(kept.splitlines(), now.splitlines(), "kept", "now", lineterm="", n=0)
    how = "To accept this, run python tests/test_public_api.py and tell of it in CHANGELOG.md."
    assert kept == now, "\n".join([*changes, how])


def test_every_public_name_is_marked_and_told_of() -> None:
    for package, found in PUBLIC.items():
        assert set(MARKS[package].values()) <= {"stable", "provisional"}
        assert dir(import_module(package)) == import_module(package).__all__ == sorted(found)
        for name, value in found.items():
            assert not callable(value) or inspect.getdoc(value), f"{package}.{name}"


def test_the_guide_marks_names_as_their_stubs_do() -> None:
    guide = (KEPT.parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")
    rows = re.findall(r"`(simcore|dse)\.(\w+)`.*\| (\w+) \|$", guide, re.MULTILINE)
    assert len(rows) == 10
    for package, name, mark in rows:
        assert MARKS[package][name] == mark, name


if __name__ == "__main__":
    sys.stdout.write(f"{KEPT}: {KEPT.write_text(api(), encoding='utf-8')} characters\n")
