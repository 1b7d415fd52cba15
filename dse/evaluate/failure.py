"""Causes of failed evaluations."""

from typing import Literal

from simcore import SimcoreError, SimulationError

Failure = Literal["", "model_error", "own_code", "timeout", "out_of_memory", "crash", "lost_node"]
"""Cause of a failed evaluation: itself, code of the user's, a limit, or the process or machine."""


class OwnCodeError(SimulationError):
    """A user's function or command has not answered as it must."""


def reason_of(error: Exception) -> str:
    """Sentence on what went wrong; the kind of the error too, where nobody raised it on purpose."""
    if isinstance(error, SimcoreError):
        return str(error)
    return f"{type(error).__name__}: {error}"
