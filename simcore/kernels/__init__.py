"""Compiled inner loops: arrays in, arrays out.

Compiled code is kept in a folder whose name changes with the sources: numba itself notices an edit
in a kernel's own file only, not in the kernels that it calls. The folder lies under
``SIMCORE_CACHE_DIR``, or else in the user's cache, or else among the temporary files: in the first
of them that no other user can write to. It is chosen here without importing numba, which takes
longer than many a command that never runs a kernel.
"""

import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import source_hash
from os import environ, scandir
from pathlib import Path

from simcore.kernels.private_folder import private_folder, user_number

_KEPT_FOLDERS = 3
_YOUNG_S = 3600.0  # perhaps another process compiles there right now


def cache_folder() -> Path:
    """Folder of the compiled form of these sources; made if need be.

    Raises:
        PermissionError: Others can write to every folder that this process can write to.
    """
    kernels = Path(__file__).parent
    sources = [path.read_bytes() for path in sorted(kernels.rglob("*.py"))]
    sources.append(sys.prefix.encode())  # another environment may have another numba
    # the 64 bits by which Python itself tells sources apart; needs no import
    folder = private_folder(_bases(), f"kernels-{source_hash(b''.join(sources)).hex()}")
    with suppress(OSError), scandir(folder) as kept:
        if next(kept, None) is None:
            _forget_old(folder)
    return folder


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
    from time import time

    user = folder.stat().st_uid
    found = [(path, path.lstat()) for path in folder.parent.glob("kernels-*")]
    own = [(about.st_mtime, path) for path, about in found if about.st_uid == user]
    for last_s, path in sorted(own)[:-_KEPT_FOLDERS]:
        if time() - last_s > _YOUNG_S:
            rmtree(path, ignore_errors=True)


_folder = cache_folder()
environ["SIMCORE_CACHE_DIR"] = str(_folder.parent)  # workers need not choose, nor tell it again
environ["NUMBA_CACHE_DIR"] = str(_folder)
if "numba" in sys.modules:  # which has read its environment already
    sys.modules["numba"].config.CACHE_DIR = environ["NUMBA_CACHE_DIR"]
