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
from tempfile import gettempdir


def cache_folder() -> Path:
    """Where the compiled form of these sources is kept; made if need be."""
    digest = sha256(sys.prefix.encode())  # another environment may have another numba
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


environ["NUMBA_CACHE_DIR"] = str(cache_folder())
if "numba" in sys.modules:  # which has read its environment already
    sys.modules["numba"].config.CACHE_DIR = environ["NUMBA_CACHE_DIR"]
