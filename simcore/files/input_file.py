"""The one door through which every file that somebody gives comes in.

Only regular files pass, and none above a size that real files of its kind stay far below. A named
pipe does not hang the program, a device does not fill the memory, a packed file does not unfold
into more than its kind may hold. What the content may be is for the reader of each format to say.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from errno import EACCES, EPERM
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, Any

from simcore.errors import ConfigError

if TYPE_CHECKING:
    from gzip import GzipFile

    File = str | os.PathLike[str]

MIB = 1 << 20
MAX_TABLE_BYTES = 4 * MIB
"""Longest file in YAML; the longest shipped one has 0.01 MiB."""
MAX_TEXT_BYTES = 64 * MIB
"""Longest other text: ASTRA-sim's JSON files, text workloads, rows of measured runs."""
MAX_PROFILE_BYTES = 1024 * MIB
"""Longest JSON trace of a profiler, unpacked."""
MAX_TRACE_BYTES = 1 << 36
"""Longest Chakra trace, unpacked; it is read block by block."""
MAX_UNPACKING = 50
"""Most that a packed file may grow when unpacked, as a factor; the first 64 MiB are free."""
MAX_DEPTH = 64
"""Levels of lists and tables inside each other."""

GZIP_MAGIC = b"\x1f\x8b"

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_FLAGS |= getattr(os, "O_BINARY", 0)
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class MissingFileError(ConfigError):
    """No file of that name."""


def open_descriptor(path: "File", at_most_bytes: int = MAX_TRACE_BYTES) -> tuple[int, int]:
    """A descriptor of the file, to be closed by the caller, and its size in bytes.

    Costs one system call more than a bare ``open``; never waits for the other end of a pipe.

    Raises:
        MissingFileError: There is no such file.
        ConfigError: It cannot be read, is no regular file or is larger than *at_most_bytes*.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError as error:
        at, got = os.fspath(path), error.strerror
        raise MissingFileError(at, "must be a readable file", got=got) from None
    except OSError as error:
        raise unreadable(path, error) from None
    except ValueError:
        rule = "must be the name of a file"
        raise ConfigError("", rule, got=os.fspath(path)) from None
    try:
        return descriptor, _checked_size(path, os.fstat(descriptor), at_most_bytes)
    except ConfigError:
        os.close(descriptor)
        raise


def _checked_size(path: "File", found: os.stat_result, at_most_bytes: int) -> int:
    if not stat.S_ISREG(found.st_mode):
        got = _KINDS.get(stat.S_IFMT(found.st_mode), "something else")
        raise ConfigError(os.fspath(path), "must be a regular file", got=got)
    if found.st_size > at_most_bytes:
        rule = f"must be at most {at_most_bytes:,} bytes long"
        raise ConfigError(os.fspath(path), rule, got=found.st_size)
    return found.st_size


@contextmanager
def open_input(path: "File", at_most_bytes: int = MAX_TRACE_BYTES) -> Iterator[BufferedReader]:
    """The bytes of a regular file.

    Raises:
        ConfigError: It cannot be read, also later on, or is not what ``open_descriptor`` lets in.
    """
    descriptor, _ = open_descriptor(path, at_most_bytes)
    try:
        with open(descriptor, "rb") as stream:
            yield stream
    except OSError as error:
        if error.filename is not None:  # of another file, which whoever reads this one has opened
            raise
        raise unreadable(path, error) from None


@contextmanager
def open_unpacked(path: "File", at_most_bytes: int = MAX_TRACE_BYTES) -> Iterator[BufferedReader]:
    """The bytes of a regular file, unpacked where it starts like gzip, whatever its name.

    Raises:
        ConfigError: As ``open_input``, or the packed data is damaged or too long unpacked.
    """
    with open_input(path, at_most_bytes) as raw:
        packed = raw.read(2) == GZIP_MAGIC
        raw.seek(0)
        if packed:
            with _unpacked(raw, path, at_most_bytes) as stream:
                yield stream
        else:
            yield raw


def read_bytes(path: "File", at_most_bytes: int = MAX_TEXT_BYTES) -> bytes:
    """All bytes of a regular file.

    Raises:
        ConfigError: As ``open_descriptor``, or the file grows meanwhile.
    """
    with open_input(path, at_most_bytes) as stream:
        size = os.fstat(stream.fileno()).st_size
        content = stream.read(size + 1)
        if len(content) > size:
            raise ConfigError(os.fspath(path), "must not grow while it is read", got="more bytes")
        return content


def read_text(path: "File", at_most_bytes: int = MAX_TEXT_BYTES) -> str:
    """All of a text file in UTF-8, each line ending with a line feed alone; no byte order mark.

    Raises:
        ConfigError: As ``read_bytes``, or there are other bytes; says the line.
    """
    return text_of(read_bytes(path, at_most_bytes), path)


def text_of(content: bytes, path: "File") -> str:
    """*content*, which was read from *path*, as text.

    Raises:
        ConfigError: It is not UTF-8; says the line.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        place, got = f"{os.fspath(path)} line {line}", "other bytes"
        raise ConfigError(place, "must be UTF-8 text", got=got) from None
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def is_there(path: "File") -> bool:
    """True if something has this name, be it readable or not; False for what can be no name."""
    try:
        os.stat(path)
    except OSError as error:
        return error.errno in (EACCES, EPERM)
    except ValueError:
        return False
    return True


def is_writable(text: str) -> bool:
    """True if *text* can be written as UTF-8: a lone half of a surrogate pair cannot."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def unreadable(path: "File", error: OSError) -> ConfigError:
    """The error for a file that the operating system does not let us read."""
    return ConfigError(os.fspath(path), "must be a readable file", got=error.strerror or str(error))


@contextmanager
def _unpacked(raw: BufferedReader, path: "File", at_most_bytes: int) -> Iterator[BufferedReader]:
    import gzip  # most files are not packed
    from zlib import error as ZlibError

    size = os.fstat(raw.fileno()).st_size
    limit = min(at_most_bytes, max(64 * MIB, MAX_UNPACKING * size))
    try:
        with gzip.GzipFile(fileobj=raw) as unpacked:
            yield BufferedReader(_Bounded(unpacked, path, limit))
    except (EOFError, gzip.BadGzipFile, ZlibError) as error:
        rule = "must be whole gzip data"
        raise ConfigError(os.fspath(path), rule, got=str(error)) from None


class _Bounded(RawIOBase):
    """Unpacked bytes, up to a limit."""

    def __init__(self, unpacked: "GzipFile", path: "File", limit: int) -> None:
        self._unpacked, self._path, self._limit = unpacked, path, limit
        self._left = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        got = self._unpacked.readinto(buffer)
        self._left -= got
        if self._left < 0:
            rule = f"must unpack to at most {self._limit:,} bytes"
            raise ConfigError(os.fspath(self._path), rule, got="more")
        return got


_TEXTS: ContextVar[dict[str, str] | None] = ContextVar("texts of files", default=None)


@contextmanager
def files_kept(texts: dict[str, str]) -> Iterator[None]:
    """Read no file whose text is kept; keep the text of every other one that is read.

    Args:
        texts: Texts by absolute path; grows by what is read.
    """
    token = _TEXTS.set(texts)
    try:
        yield
    finally:
        _TEXTS.reset(token)


def texts_kept() -> dict[str, str] | None:
    """Texts of files that are kept, by absolute path; None: none are."""
    return _TEXTS.get()


def kept_text(path: str | os.PathLike[str], read: Callable[[], str]) -> str:
    """The text of the file at *path*: what is kept of it, or what *read* gives."""
    texts = _TEXTS.get()
    if texts is None:
        return read()
    place = os.path.abspath(path)
    if place not in texts:
        texts[place] = read()
    return texts[place]


def is_kept(path: str | os.PathLike[str]) -> bool:
    """True if the text of the file at *path* is kept, so that there need be no file any more."""
    texts = _TEXTS.get()
    return texts is not None and os.path.abspath(path) in texts
