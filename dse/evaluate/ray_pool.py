"""Evaluates in Ray actors: on this machine, or on a running cluster."""

import contextlib
import logging
import os
import socket
from collections import deque
from collections.abc import Sequence
from typing import Any

from dse.evaluate.base import EvaluatorInput
from dse.evaluate.crew import Crew, Message
from dse.evaluate.worker import Task, Worker
from simcore import ConfigError

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "1",
}
REACH_S = 5.0
"""Time that a cluster may take to answer."""

_STORE_BYTES = 128 * 1024 * 1024


class RayCrew(Crew):
    """One actor per worker; retries and restarts are the dispatcher's, never Ray's."""

    def __init__(self, what: EvaluatorInput, *, workers: int, address: str | None = None) -> None:
        self.workers = workers
        self._ray, self._started = _connect(workers, address)
        self._shared = self._ray.put(what)
        self._actor_class = self._ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Worker)
        self._actors: list[Any] = [self._start(index) for index in range(workers)]
        self._chunks: list[deque[Any]] = [deque() for _ in range(workers)]

    def send(self, worker: int, chunk: Sequence[Task]) -> None:
        self._chunks[worker].append(self._actors[worker].evaluate.remote(list(chunk)))

    def receive(self, timeout_s: float) -> list[Message]:
        heads = {chunks[0]: index for index, chunks in enumerate(self._chunks) if chunks}
        if not heads:
            return []
        ready, _ = self._ray.wait(list(heads), num_returns=1, timeout=timeout_s)
        return [self._read(heads[ref]) for ref in ready]

    def replace(self, worker: int) -> None:
        with contextlib.suppress(Exception):  # it may be dead already
            self._ray.kill(self._actors[worker], no_restart=True)
        self._chunks[worker].clear()
        self._actors[worker] = self._start(worker)

    def close(self) -> None:
        for actor in self._actors:
            with contextlib.suppress(Exception):  # it may be dead already
                self._ray.kill(actor, no_restart=True)
        if self._started:
            self._ray.shutdown()

    def _start(self, index: int) -> Any:
        return self._actor_class.remote(self._shared, f"w{index}")

    def _read(self, worker: int) -> Message:
        reference = self._chunks[worker].popleft()
        try:
            answers = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            # an evaluator that cannot be built is an error of the study, not of one design
            raise error.cause if isinstance(error.cause, Exception) else error from None
        except self._ray.exceptions.RayError as error:
            return Message(worker=worker, death=_first_line(error))
        return Message(worker=worker, answers=tuple(answers))


def _connect(workers: int, address: str | None) -> tuple[Any, bool]:
    """Ray, and whether this call started or joined it."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        rule = "ray needs the package ray; install it or use local"
        raise ConfigError("execution.executor", rule, got="no such package") from None
    if ray.is_initialized():
        return ray, False
    if address is not None:
        _check_reachable(address)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        options |= {
            "address": "local",
            "num_cpus": workers,
            "include_dashboard": False,
            "object_store_memory": _STORE_BYTES,
            "_node_ip_address": "127.0.0.1",
        }
    else:
        options["address"] = address
    try:
        ray.init(**options)
    except Exception as error:
        where = "execution.address" if address else "execution.executor"
        rule = "Ray must start here (--executor local does without it)"
        raise ConfigError(where, rule, got=_first_line(error)) from None
    return ray, True


def _check_reachable(address: str) -> None:
    """See whether something listens at ``host:port``, where Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=REACH_S).close()
    except (OSError, OverflowError) as error:
        rule = "must be host:port of the head of a running Ray cluster"
        raise ConfigError("execution.address", rule, got=f"{address} ({error})") from None


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
