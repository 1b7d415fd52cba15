"""Evaluates in processes of this machine, one pipe each, so that one death stays one death."""

import ctypes
import os
import selectors
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from dse.evaluate.base import EvaluatorInput
from dse.evaluate.workers.crew import Crew, Death, Message, StartGuard
from dse.evaluate.workers.forked import (
    UNGUARDED,
    start_worker,
    take_environment,
    worker_context,
)
from dse.evaluate.workers.worker import IDLE, MANY, Limits, WorkerInput, serving
from simcore import ConfigError, SimcoreError, SimulationError

LATE_S = 2.0
"""Time after a limit at which a worker that the kernel did not end is ended by us."""

_POSITION, _SINCE = 0, 1


@dataclass(slots=True, kw_only=True)
class _Process:
    """One worker process.

    Attributes:
        process: The process.
        pipe: Our end of its pipe.
        progress: Shared with it: position in the chunk, and since when (0: idle).
        is_ready: Whether it has started.
        has_answered: Whether its first chunk, which may take longer, is done.
        overdue: Whether we ended it because of a limit.
    """

    process: BaseProcess
    pipe: Connection
    progress: Any
    is_ready: bool = False
    has_answered: bool = False
    overdue: bool = False


class LocalCrew(Crew):
    """Processes that evaluate chunks."""

    def __init__(
        self, what: EvaluatorInput | WorkerInput, *, workers: int, limits: Limits | None = None
    ) -> None:
        self._what, self._limits = what, limits or Limits()
        self._starts = StartGuard()
        self._is_warm = False
        self._kernel_kills = _kernel_kills()
        self._pipes = selectors.DefaultSelector()
        self._seats = [self._start(index) for index in range(workers)]

    @property
    def workers(self) -> int:
        """One per process."""
        return len(self._seats)

    def send(self, worker: int, chunk: Sequence[Any]) -> None:
        try:
            self._seats[worker].pipe.send(list(chunk))
        except OSError:  # a dead worker is found, with its cause, by receive
            return

    def receive(self, timeout_s: float) -> list[Message]:
        self._end_overdue()
        return [self._read(key.data) for key, _ in self._pipes.select(timeout_s)]

    def replace(self, worker: int) -> bool:
        self._pipes.unregister(self._seats[worker].pipe)
        _end(self._seats[worker])
        self._seats[worker] = self._start(worker)
        return True

    def close(self) -> None:
        self._pipes.close()
        for seat in self._seats:
            seat.pipe.close()
        for seat in self._seats:
            _end(seat)

    def _start(self, index: int) -> _Process:
        context = worker_context(type(self._what).__module__)
        ours, theirs = context.Pipe()
        progress = context.RawArray(ctypes.c_double, 2)
        limits = self._limits.on_warm_machine if self._is_warm else self._limits
        arguments = (theirs, self._what, f"w{index}", limits, progress, dict(os.environ))
        # what does more than to evaluate may have a worker of its own, which daemons must not
        is_daemon = not isinstance(self._what, WorkerInput)
        process = context.Process(target=_serve, args=arguments, daemon=is_daemon)
        start_worker(process)
        theirs.close()
        self._pipes.register(ours, selectors.EVENT_READ, index)
        return _Process(process=process, pipe=ours, progress=progress)

    def _read(self, worker: int) -> Message:
        seat, is_gone = self._seats[worker], False
        answers: Any = None
        try:
            answers = seat.pipe.recv()
        except (EOFError, OSError):
            is_gone = True
        if is_gone:  # told here: that the pipe ended is no cause of what is then raised
            return Message(worker=worker, death=self._death(seat))
        if isinstance(answers, str):  # an evaluator that cannot be built fails for every design
            raise SimulationError(f"workers cannot start: {answers}")
        if not seat.is_ready:
            seat.is_ready = True
            self._starts.ready()
            return Message(worker=worker, machine="here")
        seat.has_answered = self._is_warm = True
        return Message(worker=worker, answers=tuple(answers))

    def _death(self, seat: _Process) -> Death:
        seat.process.join(5)
        code = seat.process.exitcode
        cause = f"the worker process ended with code {code}"
        if code is not None and code < 0:
            cause = f"the worker process was ended by signal {signal.Signals(-code).name}"
        if code == UNGUARDED and not seat.is_ready:
            rule = "needs a script to run studies under `if __name__ == '__main__':`"
            raise ConfigError("execution.executor", f"{rule}, for workers import it", got="local")
        if not seat.is_ready:
            self._starts.died(cause)
        position: int | None = int(seat.progress[_POSITION]) if seat.progress[_SINCE] else IDLE
        if position == MANY:
            position = None
        if code == -signal.SIGALRM or seat.overdue:
            reason = f"took longer than {self._limits.timeout_s:g} s"
            return Death(failure="timeout", reason=reason, position=position)
        kills = _kernel_kills()
        if code == -signal.SIGKILL and kills > self._kernel_kills:
            self._kernel_kills = kills
            reason = "the machine ran out of memory, and its kernel ended the worker process"
            return Death(failure="out_of_memory", reason=reason, position=position)
        return Death(failure="crash", reason=cause, position=position)

    def _end_overdue(self) -> None:
        """End workers that no signal of their own could end: stopped, or stuck in the kernel."""
        if self._limits.timeout_s is None:
            return
        now_s = time.monotonic()
        for seat in self._seats:
            limit_s = self._limits.timeout_s + LATE_S
            limit_s += 0.0 if seat.has_answered else self._limits.first_s
            since_s = seat.progress[_SINCE]
            if seat.progress[_POSITION] == MANY:
                continue  # whose time depends on their number: the dispatcher gives up the chunk
            if since_s and now_s - since_s > limit_s:
                seat.overdue = True
                seat.process.kill()


def _serve(
    pipe: Connection,
    what: EvaluatorInput | WorkerInput,
    name: str,
    limits: Limits,
    progress: Any,
    environment: Mapping[str, str],
) -> None:
    take_environment({**environment, "OMP_NUM_THREADS": "1"})

    def starting(position: int) -> None:
        progress[_POSITION] = position
        progress[_SINCE] = 0.0 if position == IDLE else time.monotonic()

    worker = serving(what, name, limits, starting, alone=True)
    try:
        worker.start()
    except SimcoreError as error:
        pipe.send(str(error))
        return
    try:
        pipe.send([])
        while True:
            chunk = pipe.recv()
            pipe.send(worker.evaluate(chunk))
            worker.rest()
    except (EOFError, OSError):  # the driver is gone or has no more use for this worker
        return


def _end(seat: _Process) -> None:
    """End a worker; one whose end a signal to the driver interrupted is ended once more.

    So the process is not closed, which it can be only once: what it holds goes with the seat.
    """
    seat.pipe.close()
    seat.process.join(0.2)
    if seat.process.is_alive():
        seat.process.kill()
        seat.process.join()


def _kernel_kills() -> int:
    """Count of processes that this machine's kernel has ended for lack of memory."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
