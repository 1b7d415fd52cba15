"""Chooses a folder for code that will be run: nobody but this user can have put anything there.

A library that is loaded, and numba's own files, which are pickles, run with the rights of whoever
loads them. So a folder counts only where this user owns it and nobody else can write to it, or put
another one in its place or in that of one above it. Its files are looked at when they are loaded.
"""

import os
import sys
from collections.abc import Iterable
from functools import cache
from importlib.util import source_hash
from pathlib import Path
from stat import S_ISDIR, S_ISVTX, S_IWGRP, S_IWOTH
from typing import BinaryIO

_OTHERS_WRITE = S_IWGRP | S_IWOTH


def private_folder(bases: Iterable[Path], name: str) -> Path:
    """Make or find folder *name* in the first of *bases* that can hold it safely.

    What is refused because of other users is told in one line each; a base that merely cannot be
    written is passed over. Where no base will do, the folder lasts as long as this process.

    Raises:
        PermissionError: Everything that this process can write lies open to others.
    """
    for base in bases:
        real = Path(os.path.realpath(base))
        try:
            danger = danger_above(real) or _made(real / name)
        except OSError:
            continue
        if not danger:
            return real / name
        sys.stderr.write(f"simcore: {base} keeps no compiled kernels: {danger}.\n")
    folder = _folder_of_this_process() / name
    folder.mkdir(mode=0o700)
    return folder


def user_number() -> int:
    """Number of the user whose rights this process has; 0 where users have no numbers."""
    return os.geteuid() if hasattr(os, "geteuid") else 0


def is_own(about: os.stat_result) -> bool:
    """True if a file or folder belongs to this user, and nobody else can write to it."""
    if sys.platform == "win32":  # keeps the folders of a user to that user, without these numbers
        return True
    return about.st_uid == user_number() and not about.st_mode & _OTHERS_WRITE


def _made(folder: Path) -> str:
    """Fault of *folder*, which is made if need be; empty: it can be trusted.

    Raises:
        OSError: It cannot be made or written.
    """
    if not folder.is_dir():
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    danger = _danger_in(folder)
    if not danger and not os.access(folder, os.W_OK):
        raise PermissionError(folder)
    return danger


def _danger_in(folder: Path) -> str:
    found = folder.lstat()
    if not S_ISDIR(found.st_mode):
        return f"{folder} is no folder; remove it"
    if not is_own(found):
        return f"user {found.st_uid} or others can write to {folder}; remove it"
    if found.st_mode & 0o077:
        folder.chmod(0o700)
    return ""


def danger_above(base: Path) -> str:
    """Name the reason that others could replace *base* or a folder above it; empty: they cannot."""
    if sys.platform == "win32":
        return ""
    for folder in (base, *base.parents):
        try:
            found = folder.stat()
        except FileNotFoundError:
            continue
        if found.st_uid not in (0, user_number()) and not _is_unmapped(found.st_uid):
            return f"{folder} belongs to user {found.st_uid}"
        if found.st_mode & _OTHERS_WRITE and not found.st_mode & S_ISVTX:
            if not found.st_mode & S_IWOTH and found.st_gid == found.st_uid:
                continue  # the group that systems make for one user has that user's number
            return f"other users can write to {folder}"
    return ""


def _is_unmapped(user: int) -> bool:
    """True if *user* stands for owners from outside this container, as that of ``/`` often is."""
    try:
        overflow = int(Path("/proc/sys/kernel/overflowuid").read_text())
        ranges = Path("/proc/self/uid_map").read_text().splitlines()
    except (OSError, ValueError):
        return False
    firsts = [(int(words[0]), int(words[2])) for words in map(str.split, ranges)]
    return user == overflow and not any(0 <= user - first < count for first, count in firsts)


def _folder_of_this_process() -> Path:
    from atexit import register
    from errno import EACCES
    from tempfile import mkdtemp

    made = Path(os.path.realpath(mkdtemp(prefix="simcore-")))
    if danger := danger_above(made.parent):
        made.rmdir()
        rule = "nowhere to keep compiled kernels; set SIMCORE_CACHE_DIR to a folder of your own"
        raise PermissionError(EACCES, f"{rule} ({danger})", str(made.parent))
    register(_remove, made, os.getpid())
    sys.stderr.write("simcore: kernels are compiled for this process only.\n")
    return made


def _remove(folder: Path, owner: int) -> None:
    from shutil import rmtree

    if os.getpid() == owner:  # not a process that was forked from it
        rmtree(folder, ignore_errors=True)


_SEAL_BYTES = 8


def seal(file: BinaryIO) -> None:
    """Append the checksum of all that *file* (open for reading and writing) holds, and sync it."""
    file.seek(0)
    file.write(source_hash(file.read()))
    file.flush()
    os.fsync(file.fileno())
    os.chmod(file.name, 0o600)


def is_whole(path: Path) -> bool:
    """True if a file is there as this user sealed it; others are reported and removed."""
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
