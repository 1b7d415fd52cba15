"""Flows over all shortest ways, in equal parts at every node."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.graphs.routes import distances_to
from simcore.kernels.jit import njit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def spread(
    back_offsets: Ints,
    back_from: Ints,
    offsets: Ints,
    ids: Ints,
    to: Ints,
    npus: int,
    npus_forward: bool,
    source: Ints,
    target: Ints,
) -> tuple[Ints, Ints, Floats]:
    """Links of flows (F,), of which those to one target stand side by side.

    Args:
        back_offsets: (nodes + 1,) where the links into each node begin.
        back_from: The nodes that they leave.
        offsets: (nodes + 1,) where the links out of each node begin.
        ids: Their numbers.
        to: The nodes that they enter.
        npus: NPUs; the first nodes.
        npus_forward: Whether ways lead through NPUs.
        source: First node of each flow.
        target: Last node of each.

    Returns:
        (F + 1,) where the links of each flow begin, the links, ascending, and the part of the flow
        that each carries. A flow that has no way has none.
    """
    nodes = len(offsets) - 1
    far, queue = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    share = np.zeros(nodes)
    first = np.zeros(len(source) + 1, np.int64)
    links, parts = np.empty(1024, np.int64), np.empty(1024)
    count = 0
    for flow in range(len(source)):
        end = target[flow]
        if flow == 0 or target[flow - 1] != end:
            far[:] = -1
            last = flow + 1
            while last < len(source) and target[last] == end:
                last += 1
            own = source[flow:last]  # nodes nearer than these are then known as well
            distances_to(back_offsets, back_from, npus, npus_forward, end, own, far, queue)
        begin = count
        if far[source[flow]] > 0:
            queue[0] = source[flow]
            share[source[flow]] = 1.0
            reached, at = 1, 0
            while at < reached:
                node = queue[at]
                at += 1
                near = far[node] - 1
                ways = 0
                for k in range(offsets[node], offsets[node + 1]):
                    ways += _leads(far, to[k], near, npus, npus_forward, end)
                if count + ways > len(links):
                    links = np.concatenate((links, np.empty(len(links) + ways, np.int64)))
                    parts = np.concatenate((parts, np.empty(len(parts) + ways)))
                for k in range(offsets[node], offsets[node + 1]):
                    other = to[k]
                    if _leads(far, other, near, npus, npus_forward, end):
                        if share[other] == 0.0 and other != end:
                            queue[reached] = other
                            reached += 1
                        share[other] += share[node] / ways
                        links[count], parts[count] = ids[k], share[node] / ways
                        count += 1
            for at in range(reached):
                share[queue[at]] = 0.0
            share[end] = 0.0
        order = np.argsort(links[begin:count])
        links[begin:count] = links[begin:count][order]
        parts[begin:count] = parts[begin:count][order]
        first[flow + 1] = count
    return first, links[:count], parts[:count]


@njit(cache=True, nogil=True, inline="always")
def _leads(far: Ints, other: int, near: int, npus: int, npus_forward: bool, end: int) -> bool:
    """True if a flow may go on to the node *other*, which must be *near* links from its end."""
    return far[other] == near and (npus_forward or other >= npus or other == end)
