"""Evaluates in Ray actors: one per core of every node that there is, while there is."""

import contextlib
import os
import pickle
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dse.evaluate.base import EvaluatorInput
from dse.evaluate.failure import Failure
from dse.evaluate.workers.crew import Crew, Death, Message, Shared, StartGuard
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

    def __init__(self, what: EvaluatorInput | WorkerInput, name: str, limits: Limits) -> None:
        os.environ["OMP_NUM_THREADS"] = "1"
        self._worker = serving(what, name, limits, alone=True)

    def start(self) -> str:
        """Make ready; returns why that cannot be done, or nothing."""
        try:
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
        node: Ray's name of its node.
        actor: Its handle.
        calls: What it has not answered yet, oldest first; the very first one is its start.
        since_s: When it turned to its oldest call.
        is_ready: Whether it has started.
    """

    node: str
    actor: Any
    calls: deque[Any] = field(default_factory=deque)
    since_s: float = 0.0
    is_ready: bool = False


class RayCrew(Crew):
    """Actors that are pinned to nodes; retries and restarts are the dispatcher's, never Ray's."""

    def __init__(
        self,
        what: EvaluatorInput | WorkerInput,
        *,
        workers: int | None,
        address: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._most, self._limits = workers, limits or Limits()
        self._ray, self._started = connect(workers, address)
        self._head = RayHead(self._ray, grace_s() if address else 0.0)  # nobody mends our own
        # by value: a copy in the object store of a node that dies would be waited for by new nodes
        self._what = what
        self._class = self._ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Actor)
        self._nodes: dict[str, str] = {}
        self._seats: dict[int, _Actor] = {}
        self._warm: set[str] = set()
        self._names = 0
        self._starts = StartGuard()
        self._events: list[tuple[str, str]] = []
        self._look()

    @property
    def workers(self) -> int:
        """One per core of the cluster, or as many as were asked for."""
        return len(self._seats)

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
        return [self._read(heads[call]) for call in ready]

    def replace(self, worker: int) -> bool:
        seat = self._seats.pop(worker, None)
        if seat is None:
            return False
        self._kill(seat)
        if seat.node not in self._nodes or not self._is_alive(seat.node):
            return False
        self._seats[worker] = self._start(seat.node, worker)
        return True

    def close(self) -> None:
        self._head.leave()
        for seat in self._seats.values():
            self._kill(seat)
        if self._started:
            leave(self._ray)

    def events(self) -> list[tuple[str, str]]:
        events, self._events = self._events, []
        return events

    def _look(self) -> None:
        """Take up nodes that have come, and cores of theirs that are free of workers."""
        self._looked_s = time.monotonic()
        alive = {node["NodeID"]: node for node in self._head.nodes() if node["Alive"]}
        for name in [name for name in self._nodes if name not in alive]:
            self._events.append(("node_left", self._nodes.pop(name)))
        for name, node in alive.items():
            cores = int(node["Resources"].get("CPU", 0))
            if name in self._nodes or not cores:
                continue
            self._nodes[name] = f"{node['NodeManagerAddress']}-{name[:6]}"
            self._events.append(("node_joined", f"{self._nodes[name]} with {cores} cores"))
            for _ in range(cores):
                if self._most is None or len(self._seats) < self._most:
                    self._seats[self._names] = self._start(name, self._names)
                    self._names += 1

    def _is_alive(self, node: str) -> bool:
        return any(n["Alive"] for n in self._head.nodes(now=True) if n["NodeID"] == node)

    def _start(self, node: str, worker: int) -> _Actor:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        pinned = self._class.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)
        )
        limits = self._limits.on_warm_machine if node in self._warm else self._limits
        actor = pinned.remote(self._what, f"{self._nodes[node]}.w{worker}", limits)
        return _Actor(node=node, actor=actor, calls=deque([actor.start.remote()]))

    def _kill(self, seat: _Actor) -> None:
        with contextlib.suppress(Exception):  # it may be dead already
            self._ray.kill(seat.actor, no_restart=True)

    def _read(self, worker: int) -> Message:
        seat = self._seats[worker]
        call = seat.calls.popleft()
        try:
            answers = self._ray.get(call)
        except self._ray.exceptions.RayTaskError as error:
            raise SimulationError(f"a worker cannot go on: {first_line(error)}") from None
        except self._ray.exceptions.RayError as error:
            return Message(worker=worker, death=self._death(seat, error))
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
        if not self._is_alive(seat.node):
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
