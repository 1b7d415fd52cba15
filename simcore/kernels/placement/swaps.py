"""Ranks on NPUs such that much traffic has a short way: greedy, then swap by swap.

The cost is that of the quadratic assignment problem: bytes from rank to rank times the distance of
their NPUs, added up.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_GAIN = 1e-12
"""Part of the cost that a swap has to save: what is less is rounding."""


class Pairs(NamedTuple):
    """Traffic of ranks that send each other something, and the NPUs for them.

    Partners of rank i are ``partner[offsets[i]:offsets[i + 1]]``.

    Attributes:
        offsets: (n + 1,) where the partners of each rank begin.
        partner: (P,) partners.
        out: (P,) bytes to them.
        back: (P,) bytes from them.
        distance: (n, n) from NPU to NPU.
    """

    offsets: Ints
    partner: Ints
    out: Floats
    back: Floats
    distance: Floats


@njit(cache=True, nogil=True)
def place_greedily(pairs: Pairs, order: Ints) -> Ints:
    """Place the rank with most traffic to those placed where that costs least, one by one.

    Args:
        pairs: Traffic, and the distance of NPUs.
        order: (n,) ranks, of which the first that is left begins where none has such traffic.

    Returns:
        (n,) NPU of each rank.
    """
    n, partner, distance = len(order), pairs.partner, pairs.distance
    where = np.full(n, -1)
    is_free = np.ones(n, np.bool_)
    pull = np.zeros(n)
    cost = np.empty(n)
    for _ in range(n):
        rank = -1
        for one in order:
            if where[one] < 0 and (rank < 0 or pull[one] > pull[rank]):
                rank = one
        for npu in range(n):
            cost[npu] = 0.0
        for at in range(pairs.offsets[rank], pairs.offsets[rank + 1]):
            other, out, back = where[partner[at]], pairs.out[at], pairs.back[at]
            if other >= 0:
                for npu in range(n):
                    cost[npu] += out * distance[npu, other] + back * distance[other, npu]
        best = -1
        for npu in range(n):
            if is_free[npu] and (best < 0 or cost[npu] < cost[best] * (1.0 - _GAIN)):
                best = npu
        where[rank] = best
        is_free[best] = False
        for at in range(pairs.offsets[rank], pairs.offsets[rank + 1]):
            pull[partner[at]] += pairs.out[at] + pairs.back[at]
    return where


@njit(cache=True, nogil=True)
def swap_ranks(pairs: Pairs, where: Ints, cost: float, most: int) -> int:
    """Swap the NPUs of two ranks for as long as that saves cost; *where* is changed.

    Args:
        pairs: Traffic, and the distance of NPUs.
        where: (n,) NPU of each rank.
        cost: Of *where*.
        most: Partners looked at, after which no further rank is tried.

    Returns:
        Number of swaps.
    """
    n, swaps, looked, settled, rank = len(where), 0, 0, 0, 0
    offsets = pairs.offsets
    while settled < n and looked < most:
        best, gain = -1, _GAIN * cost
        for other in range(n):
            saved = -_move(pairs, where, rank, other) - _move(pairs, where, other, rank)
            looked += offsets[rank + 1] - offsets[rank] + offsets[other + 1] - offsets[other]
            if saved > gain:
                best, gain = other, saved
        settled += 1
        if best >= 0:
            where[rank], where[best] = where[best], where[rank]
            cost -= gain
            swaps += 1
            settled = 0
        rank = (rank + 1) % n
    return swaps


@njit(cache=True, nogil=True)
def _move(pairs: Pairs, where: Ints, rank: int, other: int) -> float:
    """Cost added if *rank* goes to the NPU of *other*, which comes to that of *rank*.

    What both send each other is counted with half: the move of the other one has the rest.
    """
    here, there, added, distance = where[rank], where[other], 0.0, pairs.distance
    for at in range(pairs.offsets[rank], pairs.offsets[rank + 1]):
        out, back = pairs.out[at], pairs.back[at]
        if pairs.partner[at] == other:
            added += 0.5 * (out - back) * (distance[there, here] - distance[here, there])
            continue
        to = where[pairs.partner[at]]
        added += out * (distance[there, to] - distance[here, to])
        added += back * (distance[to, there] - distance[to, here])
    return added
