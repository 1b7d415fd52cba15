"""One driver per study: a lock that dies with the process that holds it."""

import fcntl
import json
import os
import socket
import time
from pathlib import Path

from dse.plain_files import open_plain
from simcore import ConfigError

LOCK = "study.lock"


class DriverLock:
    """An advisory lock on a file that names its owner."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Become the driver of the study; may be called again by the one that is.

        Raises:
            ConfigError: Another process is, which is told with its host and start; or the lock is
                a link or no regular file.
            OSError: The folder cannot be written.
        """
        if self._descriptor is not None:
            return
        descriptor = open_plain(self._path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _owner(descriptor)
            os.close(descriptor)
            rule = "only one process at a time may run a study (wait for it, or stop it first)"
            raise ConfigError(str(self._path.parent), rule, got=owner) from None
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        owner = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since})
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, owner.encode(), 0)

    def release(self) -> None:
        """Let another process be the driver."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _owner(descriptor: int) -> str:
    try:
        data = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {data['pid']} on {data['host']} since {data['since']}"
    except (ValueError, KeyError, TypeError):  # it has not written its name yet
        return "another process"
