"""The folded simulation: of each class of NPUs that must behave identically, one is simulated.

The result equals that of the unfolded simulation, NPU by NPU and to the nanosecond. Where that is
not certain, the run is simulated unfolded.
"""

from dataclasses import replace

from simcore.engines.events.checks import check_inputs
from simcore.engines.events.fold.classes import fold
from simcore.engines.events.fold.relations import CannotFoldError
from simcore.engines.events.input import EngineInput, EngineOutput
from simcore.engines.events.run import run_cast, run_unfolded
from simcore.errors import ConfigError


def run_folded(inputs: EngineInput) -> EngineOutput:
    """Simulate one NPU of each class until nothing is left to happen, or else every NPU.

    Args:
        inputs: The run.

    Returns:
        As ``run_unfolded``, but for fewer events. ``class_of_npu`` says which NPUs were simulated
        as one, ``unfolded_because`` why each was simulated.

    Raises:
        ConfigError: The input breaks a rule.
        SimulationError: The run never comes to an end within the range of time.
    """
    check_inputs(inputs)
    try:
        return run_cast(inputs, fold(inputs))
    except (CannotFoldError, ConfigError) as error:  # whose order may be another
        return replace(run_unfolded(inputs), unfolded_because=str(error))
