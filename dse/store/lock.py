"""One driver per study: a lock that dies with the process that holds it."""

import fcntl
import json
import os
import socket
import time
from pathlib import Path
from typing import IO

from simcore import ConfigError

LOCK = "study.lock"


class DriverLock:
    """An advisory lock on a file that names its owner."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Become the driver of the study; may be called again by the one that is.

        Raises:
            ConfigError: Another process is; says which, on which host, since when.
            OSError: The folder cannot be written.
        """
        if self._file is not None:
            return
        file = self._path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _owner(file)
            file.close()
            rule = "only one process at a time may run a study (wait for it, or stop it first)"
            raise ConfigError(str(self._path.parent), rule, got=owner) from None
        file.truncate(0)
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        json.dump({"pid": os.getpid(), "host": socket.gethostname(), "since": since}, file)
        file.flush()
        self._file = file

    def release(self) -> None:
        """Let another process be the driver."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _owner(file: IO[str]) -> str:
    file.seek(0)
    try:
        data = json.loads(file.read(4096))
        return f"process {data['pid']} on {data['host']} since {data['since']}"
    except (ValueError, KeyError, TypeError):  # it has not written its name yet
        return "another process"
