"""Uses of links in the order of their begins: looks for two that may not overlap, but do."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.classes.layout import Ints
from simcore.kernels.jit import njit


@njit(cache=True)
def two_meet(
    order: Ints, begin: Ints, end: Ints, activity: Ints, met: NDArray[np.bool_], latest: Ints
) -> bool:
    """True if uses of two activities that share links were under way at once.

    Args:
        order: (U,) uses by their begin, those that take no time first.
        begin: (U,) when each began.
        end: (U,) when each ended.
        activity: (U,) whose use each is.
        met: (A, A) pairs of activities that share links and were not followed together.
        latest: (A,) work space: the latest end of each activity's uses; lower than all begins.

    A use that takes no time meets those that are under way then or end then, and nothing that
    begins then.
    """
    for use in order:
        own = activity[use]
        takes = end[use] > begin[use]
        for other in range(len(latest)):
            if met[own, other] and latest[other] + (not takes) > begin[use]:
                return True
        if takes and end[use] > latest[own]:
            latest[own] = end[use]
    return False
