"""Evaluates in Ray actors: one per free core of every node, while there is one."""

import contextlib
import os
import pickle
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dse.evaluate.base import EvaluatorInput
from dse.evaluate.failure import Failure
from dse.evaluate.workers.crew import Crew, Death, Message, Shared, StartGuard
from dse.evaluate.workers.ray_cores import MOST_ASKED, Claims, View, Wait, spread
from dse.evaluate.workers.ray_meter import Meter
from dse.evaluate.workers.ray_start import (
    LOOK_S,
    RayHead,
    connect,
    first_line,
    grace_s,
    leave,
)
from dse.evaluate.workers.worker import Limits, WorkerInput, serving
from simcore import SimcoreError, SimulationError

_BY_VALUE_BYTES = 100_000
"""Size up to which Ray sends a value along with a call, and none needs a place in its store."""


@dataclass(frozen=True, slots=True)
class _Stored(Shared):
    """A value in Ray's object store, on the machine of the driver.

    Attributes:
        reference: Ray's name of it.
    """

    reference: Any = None

    def value(self) -> Any:
        import ray

        return pickle.loads(ray.get(self.reference))


class Actor:
    """A worker in a process of Ray's."""

    def __init__(self, what: EvaluatorInput | WorkerInput) -> None:
        os.environ["OMP_NUM_THREADS"] = "1"
        self._what = what

    def arrive(self) -> str:
        """Ray's name of the node that this process runs on."""
        import ray

        return str(ray.get_runtime_context().get_node_id())

    def start(self, name: str, limits: Limits) -> str:
        """Make ready; returns why that cannot be done, or nothing."""
        try:
            self._worker = serving(self._what, name, limits, alone=True)
            self._worker.start()
        except SimcoreError as error:
            return str(error)
        return ""

    def evaluate(self, chunk: Sequence[Any]) -> list[Any]:
        """Answers to what was sent: of designs, their outcomes."""
        return self._worker.evaluate(chunk)

    def rest(self) -> None:
        """Do what is due in any case; see ``Serving``."""
        self._worker.rest()


@dataclass(slots=True, kw_only=True)
class _Actor:
    """One actor.

    Attributes:
        node: Ray's name of its node; empty: Ray is to find one that has room.
        actor: Its handle.
        made_s: When it was asked for.
        calls: What it has not answered yet, oldest first; the very first two are its start.
        since_s: When it turned to its oldest call.
        is_there: Whether it has got its core, and its process runs.
        is_ready: Whether it has started.
    """

    node: str
    actor: Any
    made_s: float
    calls: deque[Any] = field(default_factory=deque)
    since_s: float = 0.0
    is_there: bool = False
    is_ready: bool = False


class RayCrew(Crew):
    """Actors on cores that are free; retries and restarts are the dispatcher's, never Ray's.

    Actors for cores that a look has shown to be free are pinned to their nodes: what is pinned asks
    no autoscaler for nodes. Those that are missing to a number of workers that was asked for wait
    in Ray's own queue, where they get the next free core of any node, in turn with those of other
    studies, and make an autoscaler bring nodes. Ray forgets them with the driver, however it ends.
    """

    def __init__(
        self,
        what: EvaluatorInput | WorkerInput,
        *,
        workers: int | None,
        address: str | None = None,
        limits: Limits | None = None,
        meter: Meter | None = None,
    ) -> None:
        self._most, self._limits = workers, limits or Limits()
        self._meter = meter or Meter()
        self._is_own = address is None
        self._ray, self._started = connect(workers, address)
        self._head = RayHead(self._ray, grace_s() if address else 0.0)  # nobody mends our own
        # by value: a copy in the object store of a node that dies would be waited for by new nodes
        self._what = what
        self._class = self._ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Actor)
        self._nodes: dict[str, str] = {}
        self._seats: dict[int, _Actor] = {}
        self._warm: set[str] = set()
        self._names = 0
        self._starts, self._claims, self._wait = StartGuard(), Claims(), Wait()
        self._events: list[tuple[str, str]] = []
        self._look()

    @property
    def workers(self) -> int:
        """Actors that have a core, or a good hope of one."""
        since_s = time.monotonic() - self._claims.hope_s
        return sum(
            seat.is_there or ((seat.node != "" or self._is_own) and seat.made_s > since_s)
            for seat in self._seats.values()
        )

    @property
    def waiting(self) -> str:
        return self._wait.reason

    def send(self, worker: int, chunk: Sequence[Any]) -> None:
        seat = self._seats[worker]
        seat.calls.append(seat.actor.evaluate.remote(list(chunk)))
        if isinstance(self._what, WorkerInput):
            seat.actor.rest.remote()  # turned to once the answers are sent
        if len(seat.calls) == 1:
            seat.since_s = time.monotonic()

    def share(self, value: Any) -> Shared:
        packed = pickle.dumps(value)
        if len(packed) <= _BY_VALUE_BYTES:
            return Shared(packed)
        return _Stored(b"", self._ray.put(packed))

    def receive(self, timeout_s: float) -> list[Message]:
        if time.monotonic() - self._looked_s > LOOK_S:
            self._look()
        heads = {seat.calls[0]: worker for worker, seat in self._seats.items() if seat.calls}
        if not heads:
            time.sleep(min(timeout_s, LOOK_S))
            return []
        calls = list(heads)
        ready, rest = self._ray.wait(calls, num_returns=1, timeout=timeout_s)
        if ready and rest:  # whatever else has come in, for the price of one look
            more, _ = self._ray.wait(rest, num_returns=len(rest), timeout=0)
            ready += more
        messages = [self._read(heads[call]) for call in ready]
        return [message for message in messages if message is not None]

    def replace(self, worker: int) -> bool:
        seat = self._seats.pop(worker, None)
        if seat is None:
            return False
        self._kill(seat)
        if seat.node not in self._nodes or not self._is_alive(seat.node):
            return False
        self._seats[worker] = self._start(seat.node)
        return True

    def close(self) -> None:
        self._head.leave()
        for seat in self._seats.values():
            self._kill(seat)
        self._seats.clear()
        self._record()
        if self._started:
            leave(self._ray)

    def events(self) -> list[tuple[str, str]]:
        events, self._events = self._events, []
        for kind, _ in events:
            self._meter.event(kind)
        return events

    def _look(self) -> None:
        """Take up nodes that have come, and cores that are free."""
        self._looked_s = time.monotonic()
        view = self._head.view()
        self._note_nodes(view)
        if self._claims.are_shown_by(view):
            own = Counter(seat.node for seat in self._seats.values())
            free = view.free_beside(own)
            self._take_back(free)
            self._take(free)
            cores = sum(view.cores.values())
            self._events += self._wait.told(cores, workers=self.workers, asked=self._asked)
        self._record()

    def _note_nodes(self, view: View) -> None:
        """Note which nodes have come and gone."""
        alive = view.alive
        for name in [name for name in self._nodes if name not in alive]:
            self._events.append(("node_left", self._nodes.pop(name)))
        for name, cores in view.cores.items():
            if name not in self._nodes:
                self._nodes[name] = f"{alive[name]['NodeManagerAddress']}-{name[:6]}"
                self._events.append(("node_joined", f"{self._nodes[name]} with {cores} cores"))

    def _take_back(self, free: Mapping[str, int]) -> None:
        """Give up workers whose cores others were faster to take."""
        now_s = time.monotonic()
        for worker, seat in list(self._seats.items()):
            is_late = not seat.is_there and now_s - seat.made_s > self._claims.hope_s
            if is_late and seat.node and not free.get(seat.node, 0):
                self._kill(self._seats.pop(worker))
                self._claims.lost()

    def _take(self, free: Mapping[str, int]) -> None:
        """Start a worker on each free core, up to the number that was asked for.

        Those that wait in Ray's queue are among them: it gives them what is free by itself.
        """
        missing = None if self._most is None else self._most - len(self._seats)
        for node in spread(free, missing):
            self._add(node)
        if self._most is not None:
            for _ in range(min(self._most - len(self._seats), MOST_ASKED - self._asked)):
                self._add("")

    @property
    def _asked(self) -> int:
        """Workers that wait in Ray's queue for a core of any node."""
        return sum(not seat.is_there and not seat.node for seat in self._seats.values())

    def _record(self) -> None:
        """Record how the study does, for Prometheus."""
        ready = sum(seat.is_ready for seat in self._seats.values())
        self._meter.record(ready=ready, waiting=self._asked)

    def _add(self, node: str) -> None:
        self._seats[self._names] = self._start(node)
        self._names += 1

    def _is_alive(self, node: str) -> bool:
        return any(n["Alive"] for n in self._head.nodes(now=True) if n["NodeID"] == node)

    def _start(self, node: str) -> _Actor:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        where: Any = "SPREAD"
        if node:
            where = NodeAffinitySchedulingStrategy(node, soft=False)
        actor = self._class.options(scheduling_strategy=where).remote(self._what)
        self._claims.changed()
        calls = deque([actor.arrive.remote()])
        return _Actor(node=node, actor=actor, made_s=time.monotonic(), calls=calls)

    def _arrived(self, worker: int, node: str) -> None:
        """A worker has got its core, on *node*."""
        seat = self._seats[worker]
        seat.node, seat.is_there = node, True
        if node not in self._nodes:
            self._note_nodes(self._head.view(now=True))
        limits = self._limits.on_warm_machine if node in self._warm else self._limits
        name = f"{self._nodes.get(node, node)}.w{worker}"
        seat.calls.append(seat.actor.start.remote(name, limits))

    def _kill(self, seat: _Actor) -> None:
        with contextlib.suppress(Exception):  # it may be dead already
            self._ray.kill(seat.actor, no_restart=True)

    def _read(self, worker: int) -> Message | None:
        seat = self._seats[worker]
        call = seat.calls.popleft()
        try:
            answers = self._ray.get(call)
        except self._ray.exceptions.RayTaskError as error:
            raise SimulationError(f"a worker cannot go on: {first_line(error)}") from None
        except self._ray.exceptions.RayError as error:
            death = self._death(seat, error)
            self._meter.event(death.failure)
            return Message(worker=worker, death=death)
        if not seat.is_there:
            self._arrived(worker, answers)
            return None
        if not seat.is_ready:
            if answers:  # an evaluator that cannot be built fails for every design
                raise SimulationError(f"workers cannot start: {answers}")
            seat.is_ready = True
            self._starts.ready()
            return Message(worker=worker, machine=self._nodes.get(seat.node, seat.node))
        self._warm.add(seat.node)
        seat.since_s = time.monotonic()
        return Message(worker=worker, answers=tuple(answers))

    def _death(self, seat: _Actor, error: Exception) -> Death:
        is_out_of_memory = isinstance(error, self._ray.exceptions.OutOfMemoryError)
        reason = _cause(error)
        if is_out_of_memory:
            reason = "the machine ran low on memory, and Ray ended the worker"
        if seat.node and not self._is_alive(seat.node):
            return Death(failure="lost_node", reason="the machine of the worker is gone")
        if not seat.is_ready:
            self._starts.died(reason)
        failure: Failure = "crash"
        limit_s = self._limits.timeout_s
        if is_out_of_memory:
            failure = "out_of_memory"
        elif limit_s is not None and time.monotonic() - seat.since_s >= limit_s:
            failure, reason = "timeout", f"took longer than {limit_s:g} s"
        return Death(failure=failure, reason=reason)


def _cause(error: Exception) -> str:
    """Ray's cause of a death, without its advice."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "exit" in line.lower() or "died" in line.lower()]
    cause = (telling or lines or [type(error).__name__])[-1]
    for advice in (" There are some potential", " Some common causes"):
        cause = cause.split(advice)[0]
    return cause
