"""Files of this user that end with a checksum, so that others' and damaged ones are not used.

Machine code that was cut or changed by a full disk or a lost write ends the process that runs it.
What ends an ELF library, an object file or a pickle is not read, so a sealed one can be used as it
is.
"""

import os
import sys
from functools import cache
from importlib.util import source_hash
from pathlib import Path
from typing import BinaryIO

from simcore.kernels.private_folder import is_own

_SEAL_BYTES = 8


def seal(file: BinaryIO) -> None:
    """Append the checksum of all that *file* (open for reading and writing) holds, and sync it."""
    file.seek(0)
    file.write(source_hash(file.read()))
    file.flush()
    os.fsync(file.fileno())
    os.chmod(file.name, 0o600)


def is_whole(path: Path) -> bool:
    """Whether a file is there as this user sealed it; another one is told of and removed."""
    try:
        with path.open("rb") as file:
            about, content = os.fstat(file.fileno()), file.read()
    except FileNotFoundError:
        return False
    if is_own(about) and source_hash(content[:-_SEAL_BYTES]) == content[-_SEAL_BYTES:]:
        return True
    _tell(path.parent)
    path.unlink(missing_ok=True)
    return False


@cache
def _tell(folder: Path) -> None:
    told = f"simcore: damaged kernels in {folder} are made anew."
    sys.stderr.write(f"{told}\n")
