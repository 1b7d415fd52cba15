"""Partings of a network's NPUs into parts that links join least, for as many parts as there are.

Greedy for the Dilworth truncation of a cut function (W. Cunningham, Optimal attack and
reinforcement of a network, Journal of the ACM 32, 1985), one greatest flow per NPU.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.synthesis.cuts import greatest_flow

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def least_parting(
    npus: int,
    offsets: Ints,
    to: Ints,
    twin: Ints,
    capacity: Floats,
    supply: Ints,
    drain: Ints,
    price: float,
    part_of: Ints,
) -> float:
    """Part NPUs so that the capacity around all parts, less *price* for each part, is least.

    Args:
        npus: NPUs, the first nodes; the last two nodes are source and sink.
        offsets: (nodes + 1,) as for ``greatest_flow``.
        to: (A,) as there.
        twin: (A,) as there.
        capacity: (A,) of each arc; of those of source and sink, not used.
        supply: (npus,) arc from the source to each NPU.
        drain: (npus,) arc from each NPU to the sink.
        price: Of a part.
        part_of: (npus,) the answer: a number for each part, that of one of its NPUs.

    Returns:
        The least.
    """
    nodes = len(offsets) - 1
    level, at, way = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    around, worth = np.zeros(nodes), np.zeros(npus)
    for node in range(nodes - 2):
        for arc in range(offsets[node], offsets[node + 1]):
            if to[arc] < nodes - 2:
                around[node] += capacity[arc]
                around[to[arc]] += capacity[arc]
    total = 0.0
    for npu in range(npus):
        room = capacity.copy()
        for other in range(npus):
            room[supply[other]], room[drain[other]] = 0.0, 0.0
            room[twin[supply[other]]], room[twin[drain[other]]] = 0.0, 0.0
            if other > npu:  # has no part yet
                room[drain[other]] = 2.0 * around[other]
            elif other < npu:
                room[supply[other]] = max(worth[other], 0.0)
                room[drain[other]] = max(-worth[other], 0.0)
        room[supply[npu]] = 2.0 * around[npu]
        flow = greatest_flow(nodes - 2, nodes - 1, offsets, to, twin, room, level, at, way)
        worth[npu] = flow - np.maximum(worth[:npu], 0.0).sum() - price
        total += worth[npu]
        part_of[npu] = npu
        for other in range(npu):
            if level[other] >= 0 and part_of[other] != npu:
                part = part_of[other]
                for one in range(npu):
                    if part_of[one] == part:
                        part_of[one] = npu
    return total
