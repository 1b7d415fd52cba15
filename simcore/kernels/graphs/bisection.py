"""Narrowest cut of a graph into two parts of given numbers of NPUs, by branch and bound.

Vertices are put on side A or B one by one. A vertex without a side pays, at least, for its cables
to those with one: a switch the lesser of both sums, and of the NPUs as many as side A still lacks
go there, those that it costs least first. That bound is the exact cost of the rest once no two
vertices without a side are joined, so that only a vertex cover is branched on.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit

Ints = NDArray[np.int64]

NONE, SIDE_A, SIDE_B = 0, 1, 2
CUT, IN_A, SWITCH_COST, NPU_COST_B = 0, 1, 2, 3
"""Running sums: cables cut, NPUs on side A, least cost of open switches, cost of open NPUs if all
went to B."""


@njit(cache=True, nogil=True)
def narrowest_cut(
    offsets: Ints,
    to: Ints,
    width: Ints,
    is_npu: Ints,
    order: Ints,
    wanted: int,
    best: int,
    most_steps: int,
    fix_first: bool,
) -> tuple[int, int]:
    """Width of the narrowest cut with *wanted* NPUs on side A.

    Args:
        offsets: (V + 1,) where the neighbours of each vertex begin.
        to: Neighbours.
        width: Cables to each.
        is_npu: (V,) 1 for NPUs.
        order: Vertices to branch on; the others are joined to these alone.
        wanted: NPUs on side A.
        best: A cut as wide as this is known; only narrower ones are looked for.
        most_steps: Where to give up.
        fix_first: Whether the first vertex need be tried on side A alone.

    Returns:
        The narrowest width, and the steps taken: more than *most_steps* if it gave up.
    """
    vertices = len(is_npu)
    side = np.zeros(vertices, np.int64)
    cost = np.zeros((vertices, 3), np.int64)  # of the cables cut if a vertex went to A, or to B
    widest = 0
    for v in range(vertices):
        total = 0
        for k in range(offsets[v], offsets[v + 1]):
            total += width[k]
        widest = max(widest, total)
    dearer = np.zeros(2 * widest + 1, np.int64)  # open NPUs by what A costs more than B
    sums = np.zeros(4, np.int64)
    dearer[widest] = is_npu.sum()
    depth, steps = 0, 0
    tried = np.zeros(len(order) + 1, np.int64)
    while depth >= 0:
        steps += 1
        if steps > most_steps:
            break
        if tried[depth] == 0:
            bound = _bound(sums, dearer, widest, wanted, vertices)
            if bound >= best or depth == len(order):
                best = min(best, bound)
                tried[depth] = 2
        if tried[depth] == 2 or (depth == 0 and fix_first and tried[0] == 1):
            tried[depth] = 0
            depth -= 1
            if depth >= 0:
                _open(order[depth], offsets, to, width, is_npu, side, cost, dearer, widest, sums)
            continue
        vertex = order[depth]
        cheaper = SIDE_A if cost[vertex, SIDE_A] <= cost[vertex, SIDE_B] else SIDE_B
        chosen = cheaper if tried[depth] == 0 else 3 - cheaper
        tried[depth] += 1
        _close(vertex, chosen, offsets, to, width, is_npu, side, cost, dearer, widest, sums)
        depth += 1
        tried[depth] = 0
    return best, steps


@njit(cache=True, nogil=True)
def _bound(sums: Ints, dearer: Ints, widest: int, wanted: int, vertices: int) -> int:
    """Least width of any cut with the sides chosen so far."""
    lacking = wanted - sums[IN_A]
    far = 1 << 40
    if lacking < 0:
        return far
    total = sums[CUT] + sums[SWITCH_COST] + sums[NPU_COST_B]
    for place in range(len(dearer)):
        if lacking == 0:
            break
        taken = min(lacking, dearer[place])
        total += taken * (place - widest)
        lacking -= taken
    return total if lacking == 0 else far


@njit(cache=True, nogil=True)
def _count(
    v: int, sign: int, is_npu: Ints, cost: Ints, dearer: Ints, widest: int, sums: Ints
) -> None:
    """Add what vertex *v*, which is open, pays at least, or take it away."""
    if is_npu[v]:
        dearer[widest + cost[v, SIDE_A] - cost[v, SIDE_B]] += sign
        sums[NPU_COST_B] += sign * cost[v, SIDE_B]
    else:
        sums[SWITCH_COST] += sign * min(cost[v, SIDE_A], cost[v, SIDE_B])


@njit(cache=True, nogil=True)
def _close(
    v: int,
    chosen: int,
    offsets: Ints,
    to: Ints,
    width: Ints,
    is_npu: Ints,
    side: Ints,
    cost: Ints,
    dearer: Ints,
    widest: int,
    sums: Ints,
) -> None:
    """Put vertex *v* on a side."""
    _count(v, -1, is_npu, cost, dearer, widest, sums)
    side[v] = chosen
    sums[CUT] += cost[v, chosen]
    if is_npu[v] and chosen == SIDE_A:
        sums[IN_A] += 1
    for k in range(offsets[v], offsets[v + 1]):
        if side[to[k]] == NONE:
            _count(to[k], -1, is_npu, cost, dearer, widest, sums)
            cost[to[k], 3 - chosen] += width[k]
            _count(to[k], 1, is_npu, cost, dearer, widest, sums)


@njit(cache=True, nogil=True)
def _open(
    v: int,
    offsets: Ints,
    to: Ints,
    width: Ints,
    is_npu: Ints,
    side: Ints,
    cost: Ints,
    dearer: Ints,
    widest: int,
    sums: Ints,
) -> None:
    """Take vertex *v* off its side."""
    chosen = side[v]
    for k in range(offsets[v], offsets[v + 1]):
        if side[to[k]] == NONE:
            _count(to[k], -1, is_npu, cost, dearer, widest, sums)
            cost[to[k], 3 - chosen] -= width[k]
            _count(to[k], 1, is_npu, cost, dearer, widest, sums)
    if is_npu[v] and chosen == SIDE_A:
        sums[IN_A] -= 1
    sums[CUT] -= cost[v, chosen]
    side[v] = NONE
    _count(v, 1, is_npu, cost, dearer, widest, sums)
