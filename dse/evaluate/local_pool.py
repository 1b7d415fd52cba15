"""Evaluates in processes of this machine, one pipe each, so that one death stays one death."""

import multiprocessing
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from dse.evaluate.base import EvaluatorInput
from dse.evaluate.crew import Crew, Message
from dse.evaluate.worker import Answer, Task, Worker


@dataclass(slots=True, kw_only=True)
class _Seat:
    process: SpawnProcess
    pipe: Connection


class LocalCrew(Crew):
    """Spawned processes that evaluate chunks."""

    def __init__(self, what: EvaluatorInput, *, workers: int) -> None:
        self.workers = workers
        self._what = what
        self._seats = [self._start(index) for index in range(workers)]

    def send(self, worker: int, chunk: Sequence[Task]) -> None:
        try:
            self._seats[worker].pipe.send(list(chunk))
        except OSError:  # a dead worker is found, with its cause, by receive
            return

    def receive(self, timeout_s: float) -> list[Message]:
        pipes = {id(seat.pipe): index for index, seat in enumerate(self._seats)}
        ready = wait([seat.pipe for seat in self._seats], timeout_s)
        messages = []
        for pipe in ready:
            index = pipes[id(pipe)]
            try:
                answers: list[Answer] = self._seats[index].pipe.recv()
                messages.append(Message(worker=index, answers=tuple(answers)))
            except (EOFError, OSError):
                messages.append(Message(worker=index, death=self._cause(index)))
        return messages

    def replace(self, worker: int) -> None:
        _end(self._seats[worker])
        self._seats[worker] = self._start(worker)

    def close(self) -> None:
        for seat in self._seats:
            _end(seat)

    def _start(self, index: int) -> _Seat:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(
            target=_serve, args=(theirs, self._what, f"w{index}"), daemon=True
        )
        process.start()
        theirs.close()
        return _Seat(process=process, pipe=ours)

    def _cause(self, index: int) -> str:
        process = self._seats[index].process
        process.join(5)
        code = process.exitcode
        if code is not None and code < 0:
            return f"the worker process was ended by signal {signal.Signals(-code).name}"
        return f"the worker process ended with code {code}"


def _serve(pipe: Connection, what: EvaluatorInput, name: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to handle
    os.environ["OMP_NUM_THREADS"] = "1"
    worker = Worker(what, name)
    while True:
        try:
            chunk = pipe.recv()
        except (EOFError, OSError):  # the driver is gone or has no more use for this worker
            return
        pipe.send(worker.evaluate(chunk))


def _end(seat: _Seat) -> None:
    seat.pipe.close()
    seat.process.join(0.2)
    if seat.process.is_alive():
        seat.process.kill()
        seat.process.join()
    seat.process.close()
