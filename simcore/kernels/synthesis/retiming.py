"""Times of a schedule whose chunks have another size: every link keeps its order."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def retimed(
    link: Ints, before: Ints, at: Ints, to: Ints, takes: Floats, latency: Floats, places: int
) -> float:
    """End of the last of sends (S,), given in the order in which links carry them.

    Args:
        link: (S,) link of each.
        before: (S,) send that brings the chunk to the switch that passes it on as it comes in; -1:
            none does.
        at: (S,) place, a chunk at a node, from which it leaves; -1: it was there at the beginning.
        to: (S,) place to which it comes.
        takes: (L,) time for which a chunk keeps each link.
        latency: (L,) time after that until it is there.
        places: Places.
    """
    arrival, free = np.zeros(len(link)), np.zeros(len(takes))
    there = np.zeros(places)
    last = 0.0
    for send in range(len(link)):
        on = link[send]
        start = free[on]
        if before[send] >= 0:
            came = before[send]
            start = max(start, arrival[came] - min(takes[link[came]], takes[on]))
        elif at[send] >= 0:
            start = max(start, there[at[send]])
        free[on] = start + takes[on]
        arrival[send] = free[on] + latency[on]
        there[to[send]] = max(there[to[send]], arrival[send])
        last = max(last, arrival[send])
    return last
