"""Times of a schedule whose chunks have another size: every link keeps its order."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@njit(cache=True, nogil=True)
def retimed(
    link: Ints, at: Ints, to: Ints, into_switch: Bools, takes: Floats, latency: Floats, places: int
) -> float:
    """End of the last of sends (S,), given in the order in which links carry them.

    Args:
        link: (S,) link of each.
        at: (S,) place from which it leaves, a chunk at a node, or one that a switch has to pass on;
            -1: it was there at the beginning.
        to: (S,) place to which it comes.
        into_switch: (S,) true if that is a switch, which passes a chunk on as it comes in, not
            before all of it comes in as fast as it leaves.
        takes: (L,) time for which a chunk keeps each link.
        latency: (L,) time after that until it is there.
        places: Places.
    """
    free, last = np.zeros(len(takes)), 0.0
    begins, there = np.zeros(places), np.zeros(places)
    for send in range(len(link)):
        on = link[send]
        start = free[on]
        if at[send] >= 0:
            start = max(start, begins[at[send]], there[at[send]] - takes[on])
        free[on] = start + takes[on]
        arrival = free[on] + latency[on]
        begin = start + latency[on] if into_switch[send] else arrival
        begins[to[send]] = max(begins[to[send]], begin)
        there[to[send]] = max(there[to[send]], arrival)
        last = max(last, arrival)
    return last
