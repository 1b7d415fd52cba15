"""Calls kernels as machine code that is kept on disk, without importing the compiler.

Importing numba takes longer than most runs. So the kernels that Python calls are compiled once, by
numba and LLVM, and kept beside what numba has compiled: linked into a shared library where the
machine has a linker, else as an object file, which LLVM loads. What is kept runs on any processor
of the architecture and calls nothing but the C library.
"""

import ctypes
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.private_folder import is_whole
from simcore.kernels.sources import folder_of, kernel_file

Entry = Callable[..., int]
PREFIX = "simcore_"  # of the names of the entry points


def call(name: str, *arguments: NDArray[Any] | int) -> int:
    """Call a kernel of ``native_entries``.

    Args:
        name: Its name there.
        arguments: Arrays, contiguous and of the kernel's element types, and whole numbers.
    """
    words: list[int] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            assert argument.flags.c_contiguous, name
            words += (argument.__array_interface__["data"][0], argument.size)
        else:
            words.append(int(argument))
    return _entries()[name](*map(ctypes.c_int64, words))


def prepare() -> None:
    """Load the kernels, or compile them, now rather than at the first call."""
    _entries()


def is_compiled() -> bool:
    """True if the first call starts at once; else it compiles."""
    return _is_interpreted() or image_path(".so").exists() or image_path(".o").exists()


def image_path(suffix: str) -> Path:
    """Path of the machine code, a library (``.so``) or an object file (``.o``)."""
    made_by = kernel_file("native_build")  # imports all that is in it
    return folder_of(made_by) / f"native-{sys.platform}-{_machine()}{suffix}"


def _machine() -> str:
    if sys.platform == "win32":
        return os.environ.get("PROCESSOR_ARCHITECTURE", "")
    return os.uname().machine


def _is_interpreted() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


@cache
def _entries() -> Mapping[str, Entry]:
    """The entry points by name: from disk, or else compiled now."""
    if _is_interpreted():
        from simcore.kernels.native_build import interpreted

        return interpreted()
    library, compiled = image_path(".so"), image_path(".o")
    was_linked = library.exists()
    if is_whole(library):
        return from_library(library)
    from simcore.kernels.native_build import build, from_object, link

    if not is_whole(compiled):
        return build(compiled, library)
    if was_linked:
        link(compiled, library)
    return from_object(compiled.read_bytes())


class _Library(dict[str, Entry]):
    """Entry points of a shared library, looked up when they are first called."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._library = ctypes.CDLL(str(path))

    def __missing__(self, name: str) -> Entry:
        entry = self._library[PREFIX + name]
        entry.restype = ctypes.c_int64
        self[name] = entry
        return entry


def from_library(path: Path) -> Mapping[str, Entry]:
    """The entry points of a shared library."""
    return _Library(path)
