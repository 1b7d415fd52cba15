"""Links between two NPUs: the one place where kernels know what a topology is.

A dimension is a row of ``phase_row.LINK_WORDS`` numbers; where its topology is ``TABLE``, two
tables of n x n numbers follow: links between two NPUs, and those of them that belong to NPUs.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.collectives.phase_row import LINK_WORDS, NPUS, TOPOLOGY
from simcore.kernels.collectives.topology_codes import FULLY_CONNECTED, RING, SWITCH, TABLE
from simcore.kernels.jit import njit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True)
def hops_by_rule(topology: int, npus: int, a: int, b: int) -> int:
    """Links between two NPUs *a* and *b* of a topology that is not ``TABLE``."""
    if topology == FULLY_CONNECTED:
        return 1
    if topology == SWITCH:
        return 2
    apart = abs(a - b)  # ring
    return min(apart, npus - apart)


@njit(cache=True)
def hops(network: Floats, d: int, a: int, b: int) -> int:
    """Links that a message crosses between coordinates *a* and *b* of dimension *d*."""
    topology, npus = int(network[d, TOPOLOGY]), int(network[d, NPUS])
    if topology == TABLE:
        return int(network[d, LINK_WORDS + a * npus + b])
    return hops_by_rule(topology, npus, a, b)


@njit(cache=True)
def npu_links(network: Floats, d: int, a: int, b: int) -> int:
    """Links of NPUs among them.

    Next to a switch, and where all are joined to all, a message leaves over one link of its
    sender. On a ring it takes a link of every NPU that it passes, whose messages need it too.
    """
    topology, npus = int(network[d, TOPOLOGY]), int(network[d, NPUS])
    if topology == TABLE:
        return int(network[d, LINK_WORDS + (npus + a) * npus + b])
    return hops_by_rule(topology, npus, a, b) if topology == RING else 1


@njit(cache=True)
def lowest_difference(network: Floats, a: int, b: int) -> tuple[int, int, int]:
    """Lowest dimension in which NPUs *a* and *b* differ, and their coordinates; -1: in none."""
    for d in range(network.shape[0]):
        npus = int(network[d, NPUS])
        x, y = a % npus, b % npus
        if x != y:
            return d, x, y
        a //= npus
        b //= npus
    return -1, 0, 0
