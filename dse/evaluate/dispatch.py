"""Sends designs to workers in chunks sized by time, and survives workers that die or hang."""

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from dse.evaluate.base import Evaluation
from dse.evaluate.crew import Crew, Message
from dse.evaluate.worker import Answer, Task

CHUNK_S = 0.1
"""Work that one message should hold: long against the cost of a message (about 1 ms)."""

MAX_CHUNK = 2048
STARTUP_S = 120.0
"""What a new worker may take to start, on top of the time limit of its first chunk."""


@dataclass(slots=True, kw_only=True)
class _Chunk:
    tasks: list[Task]
    sent_s: float


@dataclass(slots=True, kw_only=True)
class _Seat:
    chunks: deque[_Chunk] = field(default_factory=deque)
    fresh: bool = True


class Dispatcher:
    """A queue of designs in front of a crew.

    A worker's death costs the design that it was busy with one retry, alone; a second death, or
    a time limit passed alone, makes the design a failure, and the study goes on.
    """

    def __init__(self, crew: Crew, *, timeout_s: float | None = None) -> None:
        self._crew, self._timeout_s = crew, timeout_s
        self._queue: deque[Task] = deque()
        self._alone: deque[Task] = deque()
        self._deaths: dict[int, int] = {}
        self._seats = [_Seat() for _ in range(crew.workers)]
        self._given_up: list[Answer] = []
        self._mean_s: float | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._crew.close()

    @property
    def workers(self) -> int:
        """Number of workers."""
        return self._crew.workers

    def submit(self, tasks: Iterable[Task]) -> None:
        """Queue designs; nothing is sent before the next ``finished``."""
        self._queue.extend(tasks)

    def finished(self, timeout_s: float) -> list[Answer]:
        """Answers that have come in; waits at most about *timeout_s*, and may return none."""
        self._send()
        answers: list[Answer] = []
        for message in self._crew.receive(timeout_s):
            answers += self._read(message)
        self._watch()
        answers += self._given_up
        self._given_up = []
        self._send()
        return answers

    def _send(self) -> None:
        """Keep up to two chunks with every worker, so that none waits for the next one."""
        if self._mean_s is None:  # the first evaluation runs alone: it compiles, the others load
            if not self._seats[0].chunks and (self._queue or self._alone):
                self._give(0, [self._next()])
            return
        for depth in (1, 2):
            for index, seat in enumerate(self._seats):
                if len(seat.chunks) < depth and (self._queue or self._alone):
                    self._give(index, self._chunk())

    def _next(self) -> Task:
        return self._alone.popleft() if self._alone else self._queue.popleft()

    def _chunk(self) -> list[Task]:
        if self._alone:
            return [self._alone.popleft()]
        fair = -(-len(self._queue) // (2 * len(self._seats)))
        by_time = int(CHUNK_S / max(self._mean_s or CHUNK_S, 1e-6))
        count = max(1, min(fair, by_time, MAX_CHUNK))
        return [self._queue.popleft() for _ in range(min(count, len(self._queue)))]

    def _give(self, worker: int, tasks: list[Task]) -> None:
        self._seats[worker].chunks.append(_Chunk(tasks=tasks, sent_s=time.monotonic()))
        self._crew.send(worker, tasks)

    def _read(self, message: Message) -> list[Answer]:
        seat = self._seats[message.worker]
        if message.death:
            self._lost(message.worker, message.death)
            return []
        seat.chunks.popleft()
        if seat.chunks:
            seat.chunks[0].sent_s = time.monotonic()
        seat.fresh = False
        for answer in message.answers:
            spent_s = answer.evaluation.duration_s
            # the first evaluation compiles and loads, so that its time says little
            mean_s = CHUNK_S if self._mean_s is None else self._mean_s
            self._mean_s = mean_s + 0.1 * (min(spent_s, 10 * mean_s) - mean_s)
        return list(message.answers)

    def _watch(self) -> None:
        """End workers that exceed the time limit."""
        if self._timeout_s is None:
            return
        for index, seat in enumerate(self._seats):
            if not seat.chunks:
                continue
            chunk = seat.chunks[0]
            limit_s = self._timeout_s * len(chunk.tasks) + (STARTUP_S if seat.fresh else 0.0)
            if time.monotonic() - chunk.sent_s > limit_s:
                if len(chunk.tasks) == 1:
                    self._deaths[chunk.tasks[0].number] = 1
                self._lost(index, f"took longer than {self._timeout_s:g} s")

    def _lost(self, worker: int, reason: str) -> None:
        """A worker is gone: blame its oldest chunk, send the others again."""
        seat = self._seats[worker]
        chunks = list(seat.chunks)
        self._seats[worker] = _Seat()
        self._crew.replace(worker)
        for chunk in reversed(chunks[1:]):
            self._queue.extendleft(reversed(chunk.tasks))
        for task in chunks[0].tasks if chunks else []:
            deaths = self._deaths.get(task.number, 0) + 1
            self._deaths[task.number] = deaths
            if deaths > 1:
                failure = Evaluation(state="failed", reason=f"worker lost twice: {reason}")
                answer = Answer(number=task.number, evaluation=failure, worker=f"w{worker}")
                self._given_up.append(answer)
            else:
                self._alone.append(task)
