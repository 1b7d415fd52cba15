"""The public names of a package: its stub is their only list, each is imported when first used."""

import re
import sys
from collections.abc import Callable
from importlib import import_module
from os.path import splitext  # pathlib would take a tenth of the start of the command line

_LINE = re.compile(r"^from (\S+) import (\w+) as \2\b", re.MULTILINE)


def lazy_names(
    package: str, file: str
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of a *package*.

    The stub beside its *file* has one line per name, ``from module import Name as Name``, and ends
    the line with ``# provisional`` where the name may still change from one version to the next.
    """
    with open(splitext(file)[0] + ".pyi", encoding="utf-8") as stub:
        homes = {name: home for home, name in _LINE.findall(stub.read())}

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, found)  # asked for here no more
        return found

    return sorted(homes), find, lambda: sorted(homes)
