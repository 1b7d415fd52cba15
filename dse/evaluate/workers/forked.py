"""Starts workers as forks of a server that has imported what all of them need.

A process that begins with nothing takes two CPU seconds until it evaluates. Here the server takes
them once for a driver and all of its studies; each worker, and each that takes the place of a dead
one, is there in milliseconds and shares the server's memory.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess

from simcore import SimulationError

PRELOADED = "dse.evaluate.workers.preloaded"

_STARTS = 8
"""Servers that may be gone, one after another, when they are asked for the same worker.

Each takes seconds to begin, and who kills processes at random, every half of a second, hits that
of a single worker as often as not.
"""

_GONE_S = 0.1
"""Time after which a server that has been killed is seen to be gone, and another one starts."""

_OF_THE_SERVER = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}
"""A fork has no threads but its own, and imports nothing from the folder it happens to be in."""


UNGUARDED = 97
"""Exit code of a worker that imported a script which begins to run a study once more."""


def worker_context(also: str) -> ForkServerContext | SpawnContext:
    """Context of ``multiprocessing`` that starts workers: its server runs, where there can be one.

    Workers do not see what has changed in the driver's environment since the server began: whoever
    starts one hands its environment over (``take_environment``).

    Args:
        also: A module that a server which is not there yet imports too.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        os._exit(UNGUARDED)  # Python would say so in a traceback of each worker
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    from multiprocessing.forkserver import ensure_running  # which not every system has

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PRELOADED, also])
    with _environment(_OF_THE_SERVER), _interrupts_held():
        ensure_running()
    return context


def start_worker(process: BaseProcess) -> None:
    """Start *process*, by another server where one ends while it is asked.

    A server can be killed as any process can; it also ends by itself where who asks it is killed
    in the middle of asking.

    Raises:
        SimulationError: Servers end again and again.
    """
    for _ in range(_STARTS):
        try:
            return process.start()
        except (EOFError, ConnectionError):
            time.sleep(_GONE_S)
    told = f"workers cannot start: the process that starts them has ended {_STARTS} times in a row"
    raise SimulationError(told)


def take_environment(environment: Mapping[str, str]) -> None:
    """Make *environment* that of this process, which ignores Ctrl-C: it is the driver's to handle.

    Interrupts, which the server holds, reach what this process may start.
    """
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C, which a server that began meanwhile would answer with a traceback."""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
