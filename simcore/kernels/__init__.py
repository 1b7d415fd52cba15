"""Compiled inner loops: arrays in, arrays out.

Compiled code is kept in a folder whose name changes with the sources: numba itself notices an edit
in a kernel's own file only, not in the kernels that it calls. The folder lies under
``SIMCORE_CACHE_DIR``, or else in the user's cache, or else among the temporary files. It is chosen
here without importing numba, which takes longer than many a command that never runs a kernel.
"""

import sys
from hashlib import sha256
from os import W_OK, access, environ
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir
from time import time

_KEPT_FOLDERS = 3
_YOUNG_S = 3600.0  # perhaps another process compiles there right now


def cache_folder() -> Path:
    """Where the compiled form of these sources is kept; made if need be."""
    digest = sha256(sys.prefix.encode())  # another environment may have another numba
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    chosen = environ.get("SIMCORE_CACHE_DIR")
    base = Path(chosen) if chosen else Path.home() / ".cache" / "simcore"
    folder = base / f"kernels-{digest.hexdigest()[:16]}"
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            _forget_old(base)
        writable = access(folder, W_OK)
    except OSError:
        writable = False
    return folder if writable else Path(gettempdir()) / "simcore" / folder.name


def _forget_old(base: Path) -> None:
    """Remove what older sources left, but for the newest few, which other checkouts may use."""
    others = sorted(base.glob("kernels-*"), key=lambda path: path.stat().st_mtime)
    for path in others[:-_KEPT_FOLDERS]:
        if time() - path.stat().st_mtime > _YOUNG_S:
            rmtree(path, ignore_errors=True)


environ["NUMBA_CACHE_DIR"] = str(cache_folder())
if "numba" in sys.modules:  # which has read its environment already
    sys.modules["numba"].config.CACHE_DIR = environ["NUMBA_CACHE_DIR"]
