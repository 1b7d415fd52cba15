"""Breadth-first walks from NPUs over a graph of links."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit

Ints = NDArray[np.int64]

FARTHEST, MOST_SWITCHES, DISTANCE_SUM, UNREACHED = 0, 1, 2, 3


@njit(cache=True, nogil=True)
def walk(
    offsets: Ints, to: Ints, npus: int, npus_forward: bool, start: int, links: Ints, queue: Ints
) -> int:
    """Links from node *start* to every node (nodes,), -1 where there is no way.

    Args:
        offsets: (nodes + 1,) where the links of each node begin.
        to: Next node of each link.
        npus: NPUs; the first nodes.
        npus_forward: Whether the way may lead through NPUs.
        start: Where it begins.
        links: (nodes,) the answer.
        queue: (nodes,) the nodes that were reached, in order of distance.

    Returns:
        Nodes reached, *start* among them.
    """
    links[:] = -1
    links[start] = 0
    queue[0] = start
    reached = 1
    at = 0
    while at < reached:
        node = queue[at]
        at += 1
        if node < npus and node != start and not npus_forward:
            continue
        for k in range(offsets[node], offsets[node + 1]):
            other = to[k]
            if links[other] < 0:
                links[other] = links[node] + 1
                queue[reached] = other
                reached += 1
    return reached


@njit(cache=True, nogil=True)
def summarise(
    offsets: Ints, to: Ints, npus: int, npus_forward: bool, starts: Ints, weights: Ints
) -> Ints:
    """Distances between NPUs, over walks from each of *starts*, counted *weights* times.

    Returns:
        (4,) int64: most links between two NPUs; most switches of a pair, on that of its shortest
        ways with the fewest; sum of the distances; pairs with no way.
    """
    nodes = len(offsets) - 1
    links, queue = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    switches = np.empty(nodes, np.int64)
    found = np.zeros(4, np.int64)
    for index in range(len(starts)):
        start, weight = starts[index], weights[index]
        reached = walk(offsets, to, npus, npus_forward, start, links, queue)
        switches[:] = nodes
        switches[start] = 0
        others = 0
        for at in range(reached):
            node = queue[at]
            if node < npus and node != start:
                others += 1
                found[FARTHEST] = max(found[FARTHEST], links[node])
                found[MOST_SWITCHES] = max(found[MOST_SWITCHES], switches[node])
                found[DISTANCE_SUM] += weight * links[node]
                if not npus_forward:
                    continue
            for k in range(offsets[node], offsets[node + 1]):
                other = to[k]
                if links[other] == links[node] + 1:
                    passed = switches[node] + (1 if other >= npus else 0)
                    switches[other] = min(switches[other], passed)
        found[UNREACHED] += weight * (npus - 1 - others)
    return found
