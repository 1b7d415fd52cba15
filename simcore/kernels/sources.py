"""Folders of kernels in compiled form, each named after the sources that it is made of.

A compiled kernel holds the code of the kernels that it calls, and the constants of the modules that
it imports. So its name has a digest of its own file and of all kernels that this file imports, and
those in turn: whoever edits one finds anew what depends on it and nothing else, and equal sources
share one form, wherever they lie and whenever they were written.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.util import source_hash
from os import utime
from pathlib import Path
from shutil import rmtree
from time import time

from simcore.kernels import cache_folder

_ROOT = Path(__file__).parent
_IMPORT = re.compile(
    r"^\s*(?:from\s+simcore\.kernels([\w.]*)\s+import\s+(\([^)]*\)|.*)"
    r"|import\s+simcore\.kernels([\w.]*))",
    re.MULTILINE,
)
_KEPT_FORMS = 4
_YOUNG_S = 3600.0  # perhaps another process compiles or runs it right now


@cache
def folder_of(source: Path) -> Path:
    """Folder of what was compiled of the file *source* as it now is; made if need be."""
    is_kernel = source.is_relative_to(_ROOT)
    name = ".".join(source.relative_to(_ROOT).with_suffix("").parts) if is_kernel else source.stem
    folder = cache_folder() / f"{name}-{digest(source)}"
    try:
        if time() - folder.stat().st_mtime > _YOUNG_S / 2:
            utime(folder)  # it is in use
    except FileNotFoundError:
        folder.mkdir(mode=0o700, exist_ok=True)
        _forget_old(folder.parent, name, time() - _YOUNG_S)
    return folder


def kernel_file(module: str) -> Path:
    """Source of a module of kernels, as ``events.run_loop``."""
    return _ROOT.joinpath(*module.split(".")).with_suffix(".py")


def digest(source: Path) -> str:
    """64 bits, in hexadecimal digits, of a file and of all kernels that it leads to.

    A kernel counts with its name among the kernels, another file with where it lies: that file may
    import others beside it.
    """
    parts = []
    for path in sorted(closure(source)):
        parts += [str(path.relative_to(_ROOT) if path.is_relative_to(_ROOT) else path), _text(path)]
    return source_hash("\0".join(parts).encode()).hex()


def closure(source: Path) -> set[Path]:
    """The file *source* and those of all kernels that it imports, directly or through others."""
    met, left = {source}, [source]
    while left:
        fresh = _imported(left.pop()) - met
        met |= fresh
        left += fresh
    return met


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def _imported(source: Path) -> frozenset[Path]:
    """Files of the kernels that *source* imports, wherever in it."""
    return frozenset(
        path
        for package, names, module in _IMPORT.findall(_text(source))
        for path in _files(package or module, re.findall(r"\w+", names))
    )


def _files(module: str, names: list[str]) -> Iterator[Path]:
    """Files of a module, as ``.events.layout``, or those of *names* that are modules in it."""
    inner = _ROOT.joinpath(*module.split(".")[1:])
    if not inner.is_dir():
        yield inner.with_suffix(".py")
        return
    yield inner / "__init__.py"
    yield from (path for name in names if (path := inner / f"{name}.py").is_file())


def _forget_old(folder: Path, name: str, young_s: float) -> None:
    """Remove compiled forms of *name*, but for the newest few, which other checkouts may use."""
    made = re.compile(rf"{re.escape(name)}-[0-9a-f]{{16}}")
    with suppress(OSError):
        found = [path for path in folder.iterdir() if made.fullmatch(path.name)]
        ages = sorted((path.stat().st_mtime, path) for path in found)
        for last_s, path in ages[:-_KEPT_FORMS]:
            if last_s < young_s:
                rmtree(path, ignore_errors=True)
