"""Executors: the places where workers run."""

import os

from dse.evaluate.base import EvaluatorInput
from dse.evaluate.workers.crew import Crew
from dse.evaluate.workers.limits import Limits
from dse.evaluate.workers.local_pool import LocalCrew
from dse.evaluate.workers.ray_pool import RayCrew
from dse.evaluate.workers.serial import SerialCrew
from simcore import ConfigError

EXECUTORS = ("ray", "local", "serial")
"""Ray actors, processes of this machine, or this process."""


def start_crew(
    name: str,
    what: EvaluatorInput,
    *,
    workers: int | None,
    address: str | None = None,
    limits: Limits | None = None,
) -> Crew:
    """Start the workers of an executor.

    Args:
        name: One of ``EXECUTORS``.
        what: What every worker builds its evaluator from.
        workers: How many; None: one per core. ``serial`` has one.
        address: A running Ray cluster, for ``ray``.
        limits: Of one evaluation; ``serial`` has none.

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
        return RayCrew(what, workers=workers, address=address, limits=limits)
    here = workers or len(os.sched_getaffinity(0))
    if name == "ray":
        return RayCrew(what, workers=here, limits=limits)
    return LocalCrew(what, workers=here, limits=limits)
