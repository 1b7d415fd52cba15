"""Where workers run."""

from dse.evaluate.base import EvaluatorInput
from dse.evaluate.crew import Crew
from dse.evaluate.local_pool import LocalCrew
from dse.evaluate.ray_pool import RayCrew
from dse.evaluate.serial import SerialCrew
from simcore import ConfigError

EXECUTORS = ("ray", "local", "serial")
"""Ray actors, processes of this machine, or this process."""


def start_crew(
    name: str, what: EvaluatorInput, *, workers: int, address: str | None = None
) -> Crew:
    """Start the workers of an executor.

    Args:
        name: One of ``EXECUTORS``.
        what: What every worker builds its evaluator from.
        workers: How many; ``serial`` has one.
        address: A running Ray cluster, for ``ray``.

    Raises:
        ConfigError: No such executor, or Ray cannot start.
    """
    if name not in EXECUTORS:
        rule = f"must be one of {', '.join(EXECUTORS)}"
        raise ConfigError("execution.executor", rule, got=name)
    if address is not None and name != "ray":
        rule = "an address needs the executor ray"
        raise ConfigError("execution.address", rule, got=address)
    if name == "ray":
        return RayCrew(what, workers=workers, address=address)
    if name == "local":
        return LocalCrew(what, workers=workers)
    return SerialCrew(what)
