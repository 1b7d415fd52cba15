"""Processes of a user's code: they get a text, and answer in time or are ended."""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from dse.evaluate.failure import OwnCodeError

MAX_ANSWER_BYTES = 1 << 20
"""Longest answer: some ten thousand metrics."""

_LAUNCHER = Path(__file__).with_name("launch.py")
_TAIL_BYTES = 300
_LOOK_S, _SOON_S = 0.05, 0.001
"""Time between two looks whether a process has ended: whose output others may hold open, and one
that has nothing more to say."""


class OwnProcess:
    """A process of its own group, which nothing of it outlives."""

    def __init__(self, command: Sequence[str], *, folder: Path, memory_bytes: int) -> None:
        """Start *command* in *folder*.

        Args:
            command: A program and its arguments.
            folder: Where it runs.
            memory_bytes: Most address space that it may take; 0: no limit.

        Raises:
            OwnCodeError: It cannot be started.
        """
        python = [sys.executable, "-E", "-S", "-P", str(_LAUNCHER)]
        try:
            self._process = subprocess.Popen(
                [*python, str(os.getpid()), str(memory_bytes), *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(import_path())},
                start_new_session=True,
            )
        except OSError as error:
            raise OwnCodeError(f"cannot be started: {error}") from None
        self._stdin, self._stdout, self._stderr = map(_opened, self._pipes)
        self._said = b""

    @property
    def _pipes(self) -> tuple[IO[bytes] | None, ...]:
        return self._process.stdin, self._process.stdout, self._process.stderr

    @property
    def has_ended(self) -> bool:
        """True if it has ended; its number stays its own until ``end``."""
        if self._process.returncode is not None:
            return True
        looked = os.WEXITED | os.WNOHANG | os.WNOWAIT
        try:
            return os.waitid(os.P_PID, self._process.pid, looked) is not None
        except ChildProcessError:  # somebody else has taken note of its end
            return True

    def line(self, request: bytes, timeout_s: float) -> bytes:
        """Answer to *request*: the next line that it writes.

        Raises:
            OwnCodeError: There is none in time, or it is too long.
        """
        return self._exchange(request, timeout_s, is_line=True)

    def output(self, request: bytes, timeout_s: float) -> bytes:
        """All that it writes until it ends, once it has read *request*.

        Raises:
            OwnCodeError: It does not end in time or not well, or writes too much.
        """
        found = self._exchange(request, timeout_s, is_line=False)
        if code := self._ended():
            raise OwnCodeError(self._how(code))
        return found

    def end(self) -> int:
        """End it, and whatever it has started; gives its exit code."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            for pipe in self._pipes:
                with suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]
        return self._process.wait()

    def _ended(self) -> int:
        """Its exit code, once it has ended by itself."""
        while not self.has_ended:
            time.sleep(_SOON_S)
        return self.end()

    def _exchange(self, request: bytes, timeout_s: float, *, is_line: bool) -> bytes:
        until_s = time.monotonic() + timeout_s
        found = bytearray()
        with selectors.DefaultSelector() as ready:
            ready.register(self._stdin, selectors.EVENT_WRITE)
            ready.register(self._stdout, selectors.EVENT_READ)
            ready.register(self._stderr, selectors.EVENT_READ)
            while not self._is_whole(ready, found, is_line=is_line):
                left_s = until_s - time.monotonic()
                if left_s <= 0:
                    self.end()
                    raise OwnCodeError(f"took longer than its {timeout_s:g} s")
                look_s = _LOOK_S if ready.get_map() else _SOON_S
                for key, _ in ready.select(min(left_s, look_s)):
                    if key.fileobj is self._stdin:
                        request = self._written(ready, request, is_last=not is_line)
                    else:
                        self._read(ready, key, found)
                if len(found) > MAX_ANSWER_BYTES:
                    self.end()
                    raise OwnCodeError(f"answered with more than {MAX_ANSWER_BYTES:,} bytes")
        if is_line and not found.endswith(b"\n"):
            raise OwnCodeError(self._how(self._ended()))
        return bytes(found)

    def _is_whole(self, ready: selectors.BaseSelector, found: bytearray, *, is_line: bool) -> bool:
        if is_line and found.endswith(b"\n"):
            return True
        if not self.has_ended:
            return False
        for key in list(ready.get_map().values()):  # what is left in its pipes
            if key.fileobj is not self._stdin:
                while self._read(ready, key, found) and len(found) <= MAX_ANSWER_BYTES:
                    pass
        return True

    def _written(self, ready: selectors.BaseSelector, request: bytes, *, is_last: bool) -> bytes:
        """Rest of *request* once some of it is written."""
        try:
            request = request[os.write(self._stdin, request) :]
        except BlockingIOError:
            return request
        except OSError:  # it does not read; its answer tells whether that matters
            request = b""
        if not request:
            ready.unregister(self._stdin)
            if is_last and self._process.stdin is not None:
                self._process.stdin.close()
        return request

    def _read(
        self, ready: selectors.BaseSelector, key: selectors.SelectorKey, found: bytearray
    ) -> bool:
        """Take what there is to read at *key*; True if there was some."""
        try:
            data = os.read(key.fd, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            with suppress(KeyError):
                ready.unregister(key.fileobj)
        if key.fileobj is self._stderr:
            self._said = (self._said + data)[-_TAIL_BYTES:]
        else:
            found += data
        return bool(data)

    def _how(self, code: int) -> str:
        """The end of the process, in words."""
        lines = [line.strip() for line in self._said.decode(errors="replace").splitlines()]
        last = next((line for line in reversed(lines) if line), "")
        how = f"ended with code {code}"
        if code < 0:
            how = f"was ended by signal {signal.Signals(-code).name}"
        return f"{how} ({last})" if last else how


def _opened(pipe: IO[bytes] | None) -> int:
    """Number of *pipe*, which keeps nobody waiting."""
    assert pipe is not None, "all three are pipes"
    os.set_blocking(pipe.fileno(), False)
    return pipe.fileno()


def python_command(script: str, *arguments: str) -> list[str]:
    """Command that runs *script*, a file beside this one, without its folder on the import path."""
    return [sys.executable, "-P", str(Path(__file__).with_name(script)), *arguments]


def import_path() -> list[str]:
    """Folders that this process imports from, as absolute paths."""
    return [os.path.abspath(folder) for folder in sys.path]
