"""Speeds of single NPUs: those that compute slower or faster than others of their kind."""

import re

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError

_ONE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?:(\d+\.?\d*(?:[eE][-+]?\d+)?)")
_LEAST, _MOST = 1e-6, 1e6


def read_speeds(text: str, npus: int, at: str) -> NDArray[np.float64]:
    """Speeds (npus,) that *text* tells, 1 of all others: ``3:0.8,8-15:0.5``, by NPU or range.

    Args:
        text: NPUs, or first and last of a range, and their speed.
        npus: NPUs of the machine.
        at: Place of the text, for messages.

    Raises:
        ConfigError: The text is of another form, there is no such NPU, or a speed is out of range.
    """
    found = np.ones(npus)
    for part in text.split(",") if text else ():
        told = _ONE.fullmatch(part.strip())
        if told is None:
            rule = "must list NPUs with their speeds, such as 3:0.8,8-15:0.5"
            raise ConfigError(at, rule, got=part)
        first, speed = int(told[1]), float(told[3])
        last = first if told[2] is None else int(told[2])
        if last < first:
            raise ConfigError(at, "a range must not end before it begins", got=part)
        if last >= npus:
            raise ConfigError(at, f"must name NPUs, 0 to {npus - 1}", got=last)
        if not _LEAST <= speed <= _MOST:
            rule = f"speeds must be from {_LEAST:g} to {_MOST:g}"
            raise ConfigError(at, rule, got=part)
        found[first : last + 1] = speed
    return found
