"""Evaluates in this process: for tests, tiny studies and debugging."""

from collections import deque
from collections.abc import Sequence

from dse.evaluate.base import EvaluatorInput
from dse.evaluate.workers.crew import Crew, Message
from dse.evaluate.workers.worker import Task, Worker


class SerialCrew(Crew):
    """One worker, which is the caller; no limits, since nobody could replace it."""

    workers = 1

    def __init__(self, what: EvaluatorInput) -> None:
        self._what = what
        self._chunks: deque[Sequence[Task]] = deque()
        self._worker = Worker(what, "w0")
        self._has_said_ready = False

    def send(self, worker: int, chunk: Sequence[Task]) -> None:
        self._chunks.append(chunk)

    def receive(self, timeout_s: float) -> list[Message]:
        if not self._has_said_ready:
            self._has_said_ready = True
            return [Message(worker=0, machine="here")]
        if not self._chunks:
            return []
        answers = self._worker.evaluate(self._chunks.popleft())
        return [Message(worker=0, answers=tuple(answers))]

    def replace(self, worker: int) -> bool:
        self._worker = Worker(self._what, "w0")
        self._has_said_ready = False
        self._chunks.clear()
        return True

    def close(self) -> None:
        self._chunks.clear()
