"""Messages of which it is known that they come later, though not when."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.pipeline_messages import arrival_of, message_to
from simcore.kernels.stages.stage_layout import Layout

Ints = NDArray[np.int64]


@njit(cache=True)
def comes_later(
    fixed: Ints, live: Ints, at: Layout, number: int, message: int, due: int, back: int
) -> bool:
    """True if a message that is not on its way can only come after a stage's event at *due*.

    Its sender does nothing before that event: it is about to end a unit, or it waits for a message
    that can only come later too, and nothing of its own ends before. Where each waits for the next
    one all around, none of them does anything before, unless something that the stage sends up to
    then is there earlier: the first is at *back*.
    """
    asked = message
    for _ in range(at.stages):
        sender = fixed[at.message + asked * f.MESSAGE_FIELDS + f.FROM_STAGE]
        if due == n.NEVER or sender == number:
            return bool(due != n.NEVER and back >= due)
        mode = live[at.stage + sender * f.STAGE_FIELDS + f.MODE]
        if live[at.due + sender] < due or mode == f.FINALE:
            return False
        asked = awaited(fixed, live, at, sender)
        if mode == f.CHAIN_ENDS or live[arrival_of(at, asked)] >= 0:
            return True
    return True


@njit(cache=True)
def awaited(fixed: Ints, live: Ints, at: Layout, number: int) -> int:
    """The message of the unit that a stage waits for or is about to begin, -1: none."""
    stage = at.stage + number * f.STAGE_FIELDS
    ends = live[stage + f.MODE] == f.CHAIN_ENDS
    return message_to(fixed, at, number, live[stage + f.AT_UNIT] + (1 if ends else 0))
