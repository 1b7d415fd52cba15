"""Files that we write: never through a link that somebody laid, whole or not at all."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from simcore import ConfigError


def check_plain(path: Path, *, to_write: bool) -> None:
    """See that *path* is a regular file, or nothing at all.

    Args:
        path: What is to be opened.
        to_write: Whether it will be changed in place, so that another name of the same file, a
            hard link, is refused as well.

    Raises:
        ConfigError: It is a link or no regular file.
        OSError: Its folder cannot be searched.
    """
    try:
        _check(path, os.lstat(path), to_write=to_write)
    except FileNotFoundError:
        return


def check_database(path: Path, *, to_write: bool) -> None:
    """``check_plain`` of an SQLite file and of what SQLite keeps beside it."""
    for ending in ("", "-wal", "-shm", "-journal"):
        check_plain(path.with_name(path.name + ending), to_write=to_write)


def open_plain(path: Path) -> int:
    """A descriptor of the regular file at *path*, to read and write; made if there is none.

    Raises:
        ConfigError: It is a link, no regular file or a file of two names.
        OSError: It cannot be written.
    """
    check_plain(path, to_write=True)  # before the opening of a device can do anything
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o666)
    try:
        _check(path, os.fstat(descriptor), to_write=True)
    except ConfigError:
        os.close(descriptor)
        raise
    return descriptor


def _check(path: Path, found: os.stat_result, *, to_write: bool) -> None:
    rule = "must be a file of its own (remove it if it is not yours)"
    if stat.S_ISLNK(found.st_mode):
        raise ConfigError(str(path), rule, got="a link")
    if not stat.S_ISREG(found.st_mode):
        raise ConfigError(str(path), rule, got="no regular file")
    if to_write and found.st_nlink > 1:
        raise ConfigError(str(path), rule, got=f"a file of {found.st_nlink} names")


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A file to write, which takes the place of *path* at the end; a link there is replaced.

    It lies in a new folder of ours beside *path*, where nobody else can lay anything.

    Raises:
        OSError: It cannot be written.
    """
    prefix = f".{path.name}."
    with TemporaryDirectory(".part", prefix, dir=path.parent, ignore_cleanup_errors=True) as folder:
        partial = Path(folder, path.name)
        yield partial
        os.replace(partial, path)
