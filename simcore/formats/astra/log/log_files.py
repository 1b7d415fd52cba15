"""Writes log lines as ASTRA-sim's loggers do: to a stream and two files, with time and logger."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TextIO

from simcore.errors import ConfigError
from simcore.formats.astra.log.logged import LogLine

_LARGEST_BYTES = 10 * 1024 * 1024
_OLD_FILES = 10
_LEVELS = ("debug", "info", "warning", "error", "critical")


def write_log(told: Iterable[LogLine], stream: TextIO, folder: Path) -> None:
    """Write each line where its level belongs.

    Lines from ``info`` on go to *stream*, all to ``log.log`` and errors to ``err.log`` in *folder*,
    which is made if its parent is there. The files are appended to; one that would grow beyond
    10 MiB becomes ``log.1.log``, the one before ``log.2.log``, up to 10.

    Raises:
        ConfigError: The folder cannot be made.
    """
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        rule = f"must be a folder in one that exists ({error.strerror})"
        raise ConfigError("--logging-folder", rule, got=str(folder)) from None
    with _RotatingFile(folder / "log.log") as log, _RotatingFile(folder / "err.log") as errors:
        for line in told:
            stamp = datetime.now().isoformat(" ", "milliseconds")
            text = f"[{stamp}] [{line.logger}] [{line.level}] {line.text}\n"
            log.write(text)
            if line.level != "debug":
                stream.write(text)
            if _LEVELS.index(line.level) >= _LEVELS.index("error"):
                errors.write(text)
    stream.flush()


class _RotatingFile:
    """A file that makes room by passing its content on to the next older one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream = path.open("ab")
        self._size = self._stream.tell()

    def write(self, text: str) -> None:
        content = text.encode()
        if self._size and self._size + len(content) > _LARGEST_BYTES:
            self._rotate()
        self._stream.write(content)
        self._size += len(content)

    def _rotate(self) -> None:
        self._stream.close()
        for age in range(_OLD_FILES, 0, -1):
            if self._aged(age - 1).exists():
                self._aged(age - 1).replace(self._aged(age))
        self._stream = self._path.open("wb")
        self._size = 0

    def _aged(self, age: int) -> Path:
        return self._path.with_suffix(f".{age}.log") if age else self._path

    def __enter__(self) -> "_RotatingFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
