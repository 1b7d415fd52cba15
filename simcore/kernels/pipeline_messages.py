"""Messages between the stages of a pipeline, known to their receivers from their start on."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from simcore.kernels import stage_layout as f
from simcore.kernels.stage_layout import Layout

Ints = NDArray[np.int64]


@njit(cache=True)
def unit_address(fixed: Ints, at: Layout, number: int, unit: int) -> int:
    """Address of a unit."""
    return int(fixed[at.program + number * f.PROGRAM_FIELDS + f.UNITS] + unit * f.UNIT_FIELDS)


@njit(cache=True)
def message_to(fixed: Ints, at: Layout, number: int, unit: int) -> int:
    """The message that a unit waits for, -1: none."""
    return int(fixed[unit_address(fixed, at, number, unit) + f.RECEIVED])


@njit(cache=True)
def is_known(fixed: Ints, live: Ints, at: Layout, number: int, unit: int) -> bool:
    """Whether a unit waits for a message of which it is known when it comes."""
    message = message_to(fixed, at, number, unit)
    return message >= 0 and live[at.arrival + 2 * message] >= 0


@njit(cache=True)
def send(fixed: Ints, live: Ints, at: Layout, number: int, unit: int, start: int, end: int) -> None:
    """A message is on its way: its receiver knows when it comes."""
    message = fixed[unit_address(fixed, at, number, unit) + f.SENDS]
    live[at.arrival + 2 * message] = end
    live[at.arrival + 2 * message + 1] = start
    to_unit = fixed[at.message + message * f.MESSAGE_FIELDS + f.TO_UNIT]
    receiver = fixed[at.message + message * f.MESSAGE_FIELDS]
    stage = at.stage + receiver * f.STAGE_FIELDS
    live[stage + f.KNOWN] += 1
    if live[stage + f.MODE] == f.SHUT and live[stage + f.AT_UNIT] == to_unit:
        live[at.due + receiver] = min(live[at.due + receiver], end)
    elif live[stage + f.MODE] == f.FINALE:
        expect(live, at, receiver, end, start, to_unit)


@njit(cache=True)
def expect(live: Ints, at: Layout, number: int, end: int, start: int, unit: int) -> None:
    """A message for a stage in its finale."""
    stage = at.stage + number * f.STAGE_FIELDS
    arrives = live[stage + f.ARRIVES]
    earlier = end == arrives and start < live[stage + f.ARRIVES_SCHEDULED]
    if end < arrives or earlier:
        live[stage + f.ARRIVES] = end
        live[stage + f.ARRIVES_SCHEDULED] = start
        live[stage + f.ARRIVES_UNIT] = unit
        live[at.due + number] = min(live[at.due + number], end)
