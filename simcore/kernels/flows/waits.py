"""Followers of flows: those that wait for each, from those that each waits for."""

import numpy as np

from simcore.kernels.flows.state import Ints
from simcore.kernels.jit import njit


@njit(cache=True, nogil=True, error_model="numpy")
def followers_of(offsets: Ints, waits_for: Ints) -> tuple[Ints, Ints]:
    """Flows that wait for each flow.

    Args:
        offsets: (F + 1,) where those that each flow waits for begin.
        waits_for: Flows that are waited for.

    Returns:
        (F + 1,) where those that wait for each flow begin, and flows that wait, in order.
    """
    flows = len(offsets) - 1
    after = np.zeros(flows + 1, np.int64)
    for at in range(len(waits_for)):
        after[waits_for[at] + 1] += 1
    for flow in range(flows):
        after[flow + 1] += after[flow]
    followers = np.empty(len(waits_for), np.int64)
    placed = after[:-1].copy()
    for flow in range(flows):
        for at in range(offsets[flow], offsets[flow + 1]):
            other = waits_for[at]
            followers[placed[other]] = flow
            placed[other] += 1
    return after, followers
