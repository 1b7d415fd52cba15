"""Causes of failed evaluations."""

import re
from typing import Literal

from simcore import SimcoreError, SimulationError

Failure = Literal["", "model_error", "own_code", "timeout", "out_of_memory", "crash", "lost_node"]
"""Cause of a failed evaluation: itself, code of the user's, a limit, or the process or machine."""


_LONGEST = 1000
"""Characters of a sentence that are kept."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""Address in the memory of a process, as Python tells it: another one in each process."""


class OwnCodeError(SimulationError):
    """A user's function or command has not answered as it must."""


def reason_of(error: Exception) -> str:
    """Sentence on what went wrong; the kind of the error too, where nobody raised it on purpose."""
    if isinstance(error, SimcoreError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def one_line(text: str) -> str:
    """*text* as one line of at most 1,000 characters, printable and the same in every process.

    What others' code says may have lines, commands to a terminal and addresses.
    """
    line = " ".join(_ADDRESS.sub("", text).split())
    plain = line
    if not line.isprintable():
        told = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
        plain = "".join(told)
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 3]}..."
