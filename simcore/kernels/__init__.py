"""Compiled inner loops: arrays in, arrays out.

Compiled code is kept in a folder named after the compiler, where `sources` gives each module a
folder named after its sources. It lies under ``SIMCORE_CACHE_DIR``, or else in the user's cache, or
else among the temporary files: in the first of them that no other user can write to. It is chosen
here without importing numba, which takes longer than many a command that never runs a kernel.
"""

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec, source_hash
from os import environ, scandir, utime
from pathlib import Path
from time import time

from simcore.kernels.private_folder import private_folder, user_number

_KEPT_FOLDERS = 3
_YOUNG_S = 3600.0  # perhaps another process compiles there right now


@cache
def cache_folder() -> Path:
    """Folder of all that the compiler at hand has compiled; made if need be.

    Raises:
        PermissionError: Others can write to every folder that this process can write to.
    """
    # the 64 bits by which Python itself tells sources apart; needs no import
    folder = private_folder(_bases(), f"kernels-{source_hash(_compiler()).hex()}")
    with suppress(OSError), scandir(folder) as kept:
        if next(kept, None) is None:
            _forget_old(folder)
        elif time() - folder.stat().st_mtime > _YOUNG_S / 2:
            utime(folder)  # it is in use: nobody who makes another one is to remove it
    return folder


def _compiler() -> bytes:
    """Versions of what makes machine code of kernels, as these packages' own files tell them."""
    files = []
    for package, name in (
        ("numba", "_version.py"),
        ("llvmlite", "_version.py"),
        ("numpy", "version.py"),
    ):
        found = find_spec(package)
        folders = found.submodule_search_locations if found else None
        files += [path for folder in folders or () if (path := Path(folder) / name).is_file()]
    return b"".join(path.read_bytes() for path in files)


def _bases() -> Iterator[Path]:
    chosen = environ.get("SIMCORE_CACHE_DIR")
    if chosen:
        yield Path(chosen)
    with suppress(RuntimeError):  # a user without a home
        yield Path.home() / ".cache" / "simcore"
    from tempfile import gettempdir

    yield Path(gettempdir()) / f"simcore-{user_number()}"


def _forget_old(folder: Path) -> None:
    """Remove what older sources left, but for the newest few, which other checkouts may use."""
    from shutil import rmtree

    user = folder.stat().st_uid
    found = [(path, path.lstat()) for path in folder.parent.glob("kernels-*")]
    own = [(about.st_mtime, path) for path, about in found if about.st_uid == user]
    for last_s, path in sorted(own)[:-_KEPT_FOLDERS]:
        if time() - last_s > _YOUNG_S:
            rmtree(path, ignore_errors=True)


environ["SIMCORE_CACHE_DIR"] = str(cache_folder().parent)  # workers need not choose, nor tell again
