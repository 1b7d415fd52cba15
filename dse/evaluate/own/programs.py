"""The programs that commands of a study may name, and hashes of their files.

A study file may come from somebody else, so it may not run whatever this machine has: a program is
a file of the user's own, in the present folder or one of PYTHONPATH, as for modules.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path, PurePosixPath

from dse.evaluate.own.process import import_path
from simcore import ConfigError, danger_above


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program, and the folder of the import path that it lies in."""

    path: Path
    folder: Path


def find_program(name: str) -> Program:
    """The program of that name, as a path from a folder of the import path.

    Raises:
        ConfigError: There is none that may be run.
    """
    path, folder = _file(name)
    if not os.access(path, os.X_OK):
        raise ConfigError("", "must name a file that can be executed (chmod +x)", got=str(path))
    return Program(path=path, folder=folder)


def files_digest(names: Iterable[str]) -> str:
    """Hash of the files *names*, in this order.

    Raises:
        ConfigError: One is not there, or others may write to it.
    """
    found = blake2b(digest_size=12)
    for name in names:
        path, _ = _file(name)
        found.update(f"{name}\n".encode() + blake2b(path.read_bytes()).digest())
    return found.hexdigest()


def is_file_of_import_path(name: str) -> bool:
    """True if *name* means a file from a folder of the import path."""
    return _is_plain(name) and any((folder / name).is_file() for folder in _folders())


def _file(name: str) -> tuple[Path, Path]:
    where = "the present folder or one of PYTHONPATH"
    if not _is_plain(name):
        raise ConfigError("", f"must be a path from {where}, without '..'", got=name)
    for folder in _folders():
        path = folder / name
        if not path.is_file():
            continue
        if not path.resolve().is_relative_to(folder.resolve()) or _is_pythons(path.resolve()):
            rule = f"must be a file of your own in {folder}, not one of Python's or elsewhere"
            raise ConfigError("", rule, got=name)
        if danger := danger_above(path) or danger_above(path.resolve()):
            raise ConfigError("", f"must name code that nobody else can change: {danger}", got=name)
        return path, folder
    raise ConfigError("", f"must name a file in {where}", got=name)


def _is_plain(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _folders() -> Iterator[Path]:
    """Folders of the import path that are neither Python's own nor those of its packages."""
    for text in dict.fromkeys(import_path()):
        folder = Path(text)
        if folder.is_dir() and not _is_pythons(folder.resolve()):
            yield folder


def _is_pythons(path: Path) -> bool:
    """True if *path* belongs to an installation or environment of Python's."""
    roots = {sys.prefix, sys.base_prefix, sys.exec_prefix}
    return any(path.is_relative_to(Path(root).resolve()) for root in roots)
