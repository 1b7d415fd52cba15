"""Causes of failed evaluations."""

from typing import Literal

from simcore import SimulationError

Failure = Literal["", "model_error", "own_code", "timeout", "out_of_memory", "crash", "lost_node"]
"""Cause of a failed evaluation: itself, code of the user's, a limit, or the process or machine."""


class OwnCodeError(SimulationError):
    """A user's function or command has not answered as it must."""
