"""Executors: the places where workers run."""

import os
from collections import deque
from collections.abc import Sequence
from typing import Any

from dse.evaluate.base import EvaluatorInput
from dse.evaluate.workers.crew import EXECUTORS, Crew, Message
from dse.evaluate.workers.local_pool import LocalCrew
from dse.evaluate.workers.ray_meter import Meter
from dse.evaluate.workers.ray_pool import RayCrew
from dse.evaluate.workers.worker import Limits, WorkerInput, serving
from simcore import ConfigError


def start_crew(
    name: str,
    what: EvaluatorInput | WorkerInput,
    *,
    workers: int | None,
    address: str | None = None,
    limits: Limits | None = None,
    meter: Meter | None = None,
) -> Crew:
    """Start the workers of an executor.

    Args:
        name: One of ``EXECUTORS``.
        what: What every worker builds its evaluator from, or is made of as a whole.
        workers: How many; None: one per core. ``serial`` has one.
        address: A running Ray cluster, for ``ray``.
        limits: Of one evaluation; ``serial`` has none.
        meter: Told of the workers, for ``ray``.

    Raises:
        ConfigError: No such executor, or Ray cannot start.
    """
    if name not in EXECUTORS:
        rule = f"must be one of {', '.join(EXECUTORS)}"
        raise ConfigError("execution.executor", rule, got=name)
    if address is not None and name != "ray":
        rule = "an address needs the executor ray"
        raise ConfigError("execution.address", rule, got=address)
    if name == "serial":
        return SerialCrew(what)
    if name == "ray" and address is not None:
        return RayCrew(what, workers=workers, address=address, limits=limits, meter=meter)
    here = workers or len(os.sched_getaffinity(0))
    if name == "ray":
        return RayCrew(what, workers=here, limits=limits)
    return LocalCrew(what, workers=here, limits=limits)


class SerialCrew(Crew):
    """One worker, which is the caller; no limits, since nobody could replace it."""

    workers = 1
    depth = 1

    def __init__(self, what: EvaluatorInput | WorkerInput) -> None:
        self._what = what
        self._chunks: deque[Sequence[Any]] = deque()
        self._worker = serving(what, "w0")
        self._has_said_ready = False

    def send(self, worker: int, chunk: Sequence[Any]) -> None:
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
        self._worker = serving(self._what, "w0")
        self._has_said_ready = False
        self._chunks.clear()
        return True

    def close(self) -> None:
        self._chunks.clear()
