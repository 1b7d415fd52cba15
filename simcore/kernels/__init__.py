"""Compiled inner loops: arrays in, arrays out.

Compiled code is kept in a folder whose name changes with the sources: numba itself notices an edit
in a kernel's own file only, not in the kernels that it calls.
"""

from hashlib import sha256
from os import W_OK, access, environ
from pathlib import Path
from tempfile import gettempdir

from numba import __version__ as numba_version
from numba import config as numba_config


def _cache_folder() -> Path:
    digest = sha256(numba_version.encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    chosen = environ.get("SIMCORE_CACHE_DIR")
    base = Path(chosen) if chosen else Path.home() / ".cache" / "simcore"
    folder = base / f"kernels-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = access(folder, W_OK)
    except OSError:
        writable = False
    return folder if writable else Path(gettempdir()) / "simcore" / folder.name


numba_config.CACHE_DIR = str(_cache_folder())  # type: ignore[attr-defined]
