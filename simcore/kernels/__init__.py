"""Compiled inner loops: arrays in, arrays out.

Compiled code is kept in a folder whose name changes with the sources: numba itself notices an edit
in a kernel's own file only, not in the kernels that it calls. The folder lies under
``SIMCORE_CACHE_DIR``, or else in the user's cache, or else among the temporary files. It is chosen
here without importing numba, which takes longer than many a command that never runs a kernel.
"""

import sys
from importlib.util import source_hash
from os import W_OK, access, environ
from pathlib import Path

_KEPT_FOLDERS = 3
_YOUNG_S = 3600.0  # perhaps another process compiles there right now


def cache_folder() -> Path:
    """Where the compiled form of these sources is kept; made if need be."""
    kernels = Path(__file__).parent
    sources = [path.read_bytes() for path in sorted(kernels.rglob("*.py"))]
    sources.append(sys.prefix.encode())  # another environment may have another numba
    chosen = environ.get("SIMCORE_CACHE_DIR")
    base = Path(chosen) if chosen else Path.home() / ".cache" / "simcore"
    # the 64 bits by which Python itself tells sources apart; needs no import
    folder = base / f"kernels-{source_hash(b''.join(sources)).hex()}"
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            _forget_old(base)
        writable = access(folder, W_OK)
    except OSError:
        writable = False
    if writable:
        return folder
    from tempfile import gettempdir

    return Path(gettempdir()) / "simcore" / folder.name


def _forget_old(base: Path) -> None:
    """Remove what older sources left, but for the newest few, which other checkouts may use."""
    from shutil import rmtree
    from time import time

    others = sorted(base.glob("kernels-*"), key=lambda path: path.stat().st_mtime)
    for path in others[:-_KEPT_FOLDERS]:
        if time() - path.stat().st_mtime > _YOUNG_S:
            rmtree(path, ignore_errors=True)


environ["NUMBA_CACHE_DIR"] = str(cache_folder())
if "numba" in sys.modules:  # which has read its environment already
    sys.modules["numba"].config.CACHE_DIR = environ["NUMBA_CACHE_DIR"]
