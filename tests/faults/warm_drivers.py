"""Drivers that are forked from a process which has imported all that they need.

They are processes of their own, with a session, an environment and an end of their own. To import
again takes seconds for each, and there are dozens.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from math import inf
from typing import IO, Any

SERVE = "serve"
Job = tuple[str, str, dict[str, Any]]
"""Name of a function, folder of a study, options."""


class WarmDriver:
    """A driver as ``subprocess.Popen`` has it, as far as tests ask."""

    def __init__(self, status: int, told: int) -> None:
        self._status = status
        self.stderr: IO[str] | None = open(told)  # noqa: SIM115
        self.pid = int(self._line())
        self.returncode: int | None = None

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            more = os.read(self._status, 1)
            assert more, "the process that waits for a driver has ended"
            line += more
        return line

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.returncode = int(self._line())
            os.close(self._status)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end; gets what was told on stderr."""
        end_s = time.monotonic() + (inf if timeout is None else timeout)
        told: list[str] = []
        if self.stderr is not None:
            opened, self.stderr = self.stderr, None
            reader = threading.Thread(target=lambda: told.append(opened.read()), daemon=True)
            reader.start()
            reader.join(timeout)
            if reader.is_alive():
                raise subprocess.TimeoutExpired("driver", timeout or 0.0)
            opened.close()
        while self.poll() is None:
            if time.monotonic() > end_s:
                raise subprocess.TimeoutExpired("driver", timeout or 0.0)
            time.sleep(0.005)
        return "", "".join(told)


class Server:
    """The process that drivers are forked from."""

    def __init__(self, script: str, environment: Mapping[str, str]) -> None:
        here, there = socket.socketpair()
        words = [sys.executable, script, SERVE, str(there.fileno())]
        null = subprocess.DEVNULL
        options: dict[str, Any] = {"stdin": null, "stdout": null, "start_new_session": True}
        with there:
            self._process = subprocess.Popen(
                words, pass_fds=[there.fileno()], env=environment, **options
            )
        self._socket = here
        atexit.register(self._end)

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()

    def start(self, job: Job, environment: Mapping[str, str]) -> WarmDriver:
        status, status_of_driver = os.pipe()
        told, told_by_driver = os.pipe()
        given = json.dumps([*job, dict(environment)]).encode()
        size = len(given).to_bytes(8, "little")
        socket.send_fds(self._socket, [size], [status_of_driver, told_by_driver])
        self._socket.sendall(given)
        os.close(status_of_driver)
        os.close(told_by_driver)
        return WarmDriver(status, told)


def serve(number: int) -> Job | None:
    """Fork a driver for each that is asked for: returns there with its job, here at the end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    asked = socket.socket(fileno=number)
    while True:
        size, descriptors, _, _ = socket.recv_fds(asked, 8, 2)
        if not size:
            return None
        given = b""
        while len(given) < int.from_bytes(size, "little"):
            given += asked.recv(1 << 20)
        if os.fork() == 0:
            asked.close()
            return _forked(given, *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _forked(given: bytes, status: int, told: int) -> Job:
    """Fork once more: the child is the driver, this process waits for it and tells how it ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid:
        os.close(told)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.write(status, b"%d\n" % pid)
        _, found = os.waitpid(pid, 0)
        with suppress(BrokenPipeError):  # nobody asked
            os.write(status, b"%d\n" % os.waitstatus_to_exitcode(found))
        os._exit(0)
    os.close(status)
    os.setsid()
    os.dup2(told, 2)
    os.close(told)
    name, out, options, environment = json.loads(given)
    os.environ.clear()
    os.environ.update(environment)
    return name, out, options
