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
def send(fixed: Ints, live: Ints, at: Layout, number: int, unit: int, start: int, end: int) -> None:
    """A message is on its way: its receiver knows when it comes."""
    message = fixed[unit_address(fixed, at, number, unit) + f.SENDS]
    live[at.arrival + 2 * message] = end
    live[at.arrival + 2 * message + 1] = start
    to_unit = fixed[at.message + message * f.MESSAGE_FIELDS + f.TO_UNIT]
    stage = at.stage + fixed[at.message + message * f.MESSAGE_FIELDS] * f.STAGE_FIELDS
    live[stage + f.KNOWN] += 1
    if live[stage + f.MODE] == f.SHUT and live[stage + f.AT_UNIT] == to_unit:
        live[stage + f.NEXT] = min(live[stage + f.NEXT], end)
    elif live[stage + f.MODE] == f.FINALE:
        expect(live, stage, end, start, to_unit)


@njit(cache=True)
def expect(live: Ints, stage: int, end: int, start: int, unit: int) -> None:
    """A message for a stage in its finale."""
    arrives = live[stage + f.ARRIVES]
    earlier = end == arrives and start < live[stage + f.ARRIVES_SCHEDULED]
    if end < arrives or earlier:
        live[stage + f.ARRIVES] = end
        live[stage + f.ARRIVES_SCHEDULED] = start
        live[stage + f.ARRIVES_UNIT] = unit
        live[stage + f.NEXT] = min(live[stage + f.NEXT], end)
