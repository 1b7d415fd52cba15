"""Sends designs to workers in chunks sized by time, and survives workers that die or hang."""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from dse.evaluate.base import Evaluation
from dse.evaluate.workers.crew import Absence, Crew, Death, Message
from dse.evaluate.workers.worker import Answer, Limits, Task

CHUNK_S = 0.4
"""Work that one message should hold: long against the cost of a message (1 to 3 ms on Ray)."""

FIRST_S = 0.2
"""Time that an evaluation is taken to last until one is seen."""

MAX_CHUNK = 2048

LATE_S = 10.0
"""Time after its limit at which a chunk counts as lost, should a worker not end by itself."""


@dataclass(slots=True, kw_only=True)
class _Chunk:
    tasks: list[Task]
    sent_s: float


@dataclass(slots=True, kw_only=True)
class _Seat:
    """A worker that is ready.

    Attributes:
        machine: Where it runs.
        chunks: What it has not answered yet, oldest first.
        is_first: Whether it has not answered anything.
        is_fresh: Whether it has seen nothing but designs that are tried alone.
    """

    machine: str
    chunks: deque[_Chunk] = field(default_factory=deque)
    is_first: bool = True
    is_fresh: bool = True


def _ignore(kind: str, text: str) -> None:
    """Nobody listens."""


class Dispatcher:
    """A queue of designs in front of a crew that may grow and shrink.

    A design whose evaluation ends its worker is tried once more, alone on a fresh worker; if that
    one ends too, the design is a failure with its class and reason, and the study goes on. Where
    nobody knows which design of a chunk it was, all are tried alone, and none is blamed yet.
    """

    def __init__(
        self,
        crew: Crew,
        *,
        limits: Limits | None = None,
        waiting: Callable[[], None] = lambda: None,
        happened: Callable[[str, str], None] = _ignore,
    ) -> None:
        self._crew, self._limits = crew, limits or Limits()
        self._waiting, self._happened = waiting, happened
        self._queue: deque[Task] = deque()
        self._alone: deque[Task] = deque()
        self._blamed: set[int] = set()
        self._tries: Counter[int] = Counter()
        self._seats: dict[int, _Seat] = {}
        self._given_up: list[Answer] = []
        self._mean_s: dict[str, float] = {}
        self._absence = Absence()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._crew.close()

    @property
    def workers(self) -> int:
        """Number of workers."""
        return self._crew.workers

    @property
    def is_deserted(self) -> bool:
        """True if nobody evaluates, since others have all cores."""
        return not self._seats and bool(self._crew.waiting)

    @property
    def _are_coming(self) -> bool:
        """True if some worker is about to be ready."""
        return self._crew.workers > len(self._seats)

    def take_over(self, ready: Mapping[int, str]) -> None:
        """Go on with a crew of which somebody else has made use so far.

        Args:
            ready: Machine of each worker that is ready; none of them has anything to do.
        """
        self._seats = {worker: _Seat(machine=machine) for worker, machine in ready.items()}
        self._absence.end()

    def submit(self, tasks: Iterable[Task]) -> None:
        """Queue designs; nothing is sent before the next ``finished``."""
        self._queue.extend(tasks)

    def finished(self, timeout_s: float) -> list[Answer]:
        """Answers that have come in; waits at most about *timeout_s*, and may return none.

        Raises:
            SimulationError: There have been no workers for long, or they cannot start.
        """
        self._send()
        self._waiting()
        answers: list[Answer] = []
        for message in self._crew.receive(timeout_s):
            answers += self._read(message)
        for kind, text in self._crew.events():
            self._happened(kind, text)
        self._watch()
        answers += self._given_up
        self._given_up = []
        self._send()
        return answers

    def _send(self) -> None:
        """Keep as many chunks with every worker as its crew wants."""
        for depth in range(1, self._crew.depth + 1):
            if not self._queue and not self._alone:
                break
            for worker, seat in self._seats.items():
                if len(seat.chunks) < depth and self._may_have(seat):
                    self._give(worker, seat)
        if self._alone and not self._are_coming:
            self._freshen()

    def _may_have(self, seat: _Seat) -> bool:
        """One worker of each machine goes first: it compiles, the others load what it compiled."""
        if seat.machine in self._mean_s:
            return True
        return not any(s.chunks for s in self._seats.values() if s.machine == seat.machine)

    def _give(self, worker: int, seat: _Seat) -> None:
        if self._alone and seat.is_fresh:
            tasks = [self._alone.popleft()]
        elif self._queue:
            count = self._chunk_size(seat)
            tasks = [self._queue.popleft() for _ in range(min(count, len(self._queue)))]
            seat.is_fresh = False
        else:
            return
        seat.chunks.append(_Chunk(tasks=tasks, sent_s=time.monotonic()))
        self._crew.send(worker, tasks)

    def _chunk_size(self, seat: _Seat) -> int:
        """Designs for about ``CHUNK_S`` on that machine, and a fair share of what there is."""
        mean_s = self._mean_s.get(seat.machine)
        if mean_s is None:
            return 1
        fair = -(-len(self._queue) // (self._crew.depth * len(self._seats)))
        return max(1, min(fair, int(CHUNK_S / max(mean_s, 1e-6)), MAX_CHUNK))

    def _freshen(self) -> None:
        """Make an idle worker fresh where designs wait for one that is."""
        if any(seat.is_fresh for seat in self._seats.values()):
            return
        for worker, seat in self._seats.items():
            if not seat.chunks:
                self._replace(worker)
                return

    def _read(self, message: Message) -> list[Answer]:
        if message.machine:
            self._seats[message.worker] = _Seat(machine=message.machine)
            return []
        if message.death is not None:
            self._lost(message.worker, message.death)
            return []
        return self._answered(message)

    def _answered(self, message: Message) -> list[Answer]:
        seat = self._seats[message.worker]
        chunk = seat.chunks.popleft()
        if seat.chunks:
            seat.chunks[0].sent_s = time.monotonic()
        seat.is_first = False
        answers = list(message.answers)
        for answer in answers:
            # the first evaluation compiles and loads, so that its time says little
            mean_s = self._mean_s.get(seat.machine, FIRST_S)
            spent_s = min(answer.evaluation.duration_s, 10 * mean_s)
            self._mean_s[seat.machine] = mean_s + 0.1 * (spent_s - mean_s)
        if answers and answers[-1].evaluation.failure == "out_of_memory":
            reason = answers.pop().evaluation.reason
            seat.chunks.appendleft(chunk)
            done = len(answers)
            death = Death(failure="out_of_memory", reason=reason, position=done)
            self._lost(message.worker, death, done=done)
        return [self._counted(answer) for answer in answers]

    def _counted(self, answer: Answer) -> Answer:
        if answer.number not in self._tries:
            return answer
        self._blamed.discard(answer.number)
        attempts = 1 + self._tries.pop(answer.number)
        return answer._replace(evaluation=replace(answer.evaluation, attempts=attempts))

    def _watch(self) -> None:
        """Give up chunks that nobody has answered for long, and studies without workers."""
        now_s = time.monotonic()
        self._absence.watch(is_manned=bool(self._seats or self._crew.waiting))
        if self._limits.timeout_s is None:
            return
        for worker, seat in list(self._seats.items()):
            if not seat.chunks:
                continue
            chunk = seat.chunks[0]
            limit_s = self._limits.timeout_s * len(chunk.tasks) + LATE_S
            limit_s += self._limits.first_s if seat.is_first else 0.0
            if now_s - chunk.sent_s > limit_s:
                reason = f"took longer than {self._limits.timeout_s:g} s"
                self._lost(worker, Death(failure="timeout", reason=reason))

    def _replace(self, worker: int) -> None:
        self._seats.pop(worker, None)
        self._crew.replace(worker)

    def _lost(self, worker: int, death: Death, *, done: int = 0) -> None:
        """A worker is gone: blame what it was busy with, send everything else again."""
        seat = self._seats.get(worker)
        chunks = list(seat.chunks) if seat is not None else []
        self._replace(worker)
        for chunk in reversed(chunks[1:]):
            self._queue.extendleft(reversed(chunk.tasks))
        tasks = chunks[0].tasks[done:] if chunks else []
        suspects, again = _divided(tasks, death.position, done)
        self._queue.extendleft(reversed(again))
        self._happened(death.failure, f"w{worker}: {death.reason}")
        for task in suspects:
            self._tries[task.number] += 1
            if len(suspects) > 1:
                self._alone.append(task)
            else:
                self._blame(task, death, worker)

    def _blame(self, task: Task, death: Death, worker: int) -> None:
        if task.number not in self._blamed:
            self._blamed.add(task.number)
            self._alone.append(task)
            return
        self._blamed.discard(task.number)
        attempts = self._tries.pop(task.number)
        failed = Evaluation(
            state="failed",
            reason=f"{death.reason} (tried {attempts} times, at last alone on a fresh worker)",
            failure=death.failure,
            attempts=attempts,
        )
        answer = Answer(number=task.number, evaluation=failed, worker=f"w{worker}")
        self._given_up.append(answer)


def _divided(tasks: list[Task], position: int | None, done: int) -> tuple[list[Task], list[Task]]:
    """Tasks that may have ended a worker, and others; *done* tasks before them are answered."""
    if position is None:
        return tasks, []
    at = position - done
    if not 0 <= at < len(tasks):
        return [], tasks
    return [tasks[at]], tasks[:at] + tasks[at + 1 :]
