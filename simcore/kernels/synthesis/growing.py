"""Trees over a graph of arcs, each grown along the arcs that cost least at the time.

A tree is a list of *hops*: the arc of each, and the hop that brings the data to that arc's tail
(-1: the root). Where switches do not copy, data passes one of them once per NPU that it is sent to.
Trees grow as Prim's, with a part of the way to the root in the price (Alpert et al., Prim-Dijkstra
Tradeoffs for Improved Performance-Driven Routing Tree Design, 1995), so that they stay shallow.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.synthesis.heaps import lower, take

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def grow(
    root: int,
    npus: int,
    copies: bool,
    offsets: Ints,
    arc_from: Ints,
    arc_to: Ints,
    arc_link: Ints,
    price: Floats,
    depth_share: float,
    arcs: Ints,
    before: Ints,
    reach: Floats,
    via: Ints,
    hop_into: Ints,
    keys: Floats,
    items: Ints,
    places: Ints,
) -> int:
    """Grow a tree from *root* to every NPU.

    Args:
        root: Node at which it begins.
        npus: NPUs; the first nodes.
        copies: Whether a switch may send on more than once what it was sent once.
        offsets: (nodes + 1,) where the arcs of each node begin.
        arc_from: (A,) node at which each arc begins.
        arc_to: (A,) node at which it ends.
        arc_link: (A,) link that it is a direction of.
        price: (L,) of passing each link, above 0.
        depth_share: Part of the way to the root that counts.
        arcs: (H,) the arcs of the hops, in an order in which data can flow.
        before: (H,) the hop before each.
        reach: (nodes,) workspace.
        via: (nodes,) workspace.
        hop_into: (nodes,) workspace.
        keys: (nodes,) workspace.
        items: (nodes,) workspace.
        places: (nodes,) workspace.

    Returns:
        Hops of the tree; -1 where an NPU cannot be reached, -2 where there are more than H.
    """
    reach[:] = np.inf
    hop_into[:] = -2  # not in the tree
    hop_into[root] = -1
    reach[root] = 0.0
    missing = npus - 1 if root < npus else npus
    places[:] = -1
    hops = 0
    size = lower(keys, items, places, 0, 0.0, root)
    while missing:
        if size == 0:
            return -1
        node = items[0]
        size -= 1
        take(keys, items, places, size)
        if node < npus and hop_into[node] == -2:
            first = hops
            hops = _walk_back(node, hops, arc_from, via, hop_into, arcs, before)
            if hops < 0:
                return -2
            missing -= 1
            for hop in range(first, hops):
                at = arc_to[arcs[hop]]
                if at < npus or copies:
                    hop_into[at] = hop
                    reach[at] *= depth_share
                    if at != node:
                        size = lower(keys, items, places, size, reach[at], at)
        for arc in range(offsets[node], offsets[node + 1]):
            to = arc_to[arc]
            far = reach[node] + price[arc_link[arc]]
            if hop_into[to] == -2 and far < reach[to]:
                reach[to] = far
                via[to] = arc
                size = lower(keys, items, places, size, far, to)
    return hops


@njit(cache=True, nogil=True)
def _walk_back(
    node: int, hops: int, arc_from: Ints, via: Ints, hop_into: Ints, arcs: Ints, before: Ints
) -> int:
    """Add the hops from the tree to *node*, first hop first: hops then, or -2 if too many."""
    length, at = 0, node
    while hop_into[at] == -2:
        length += 1
        at = arc_from[via[at]]
    if hops + length > len(arcs):
        return -2
    begin = hop_into[at]
    at = node
    for place in range(hops + length - 1, hops - 1, -1):
        arcs[place] = via[at]
        before[place] = place - 1
        at = arc_from[via[at]]
    before[hops] = begin
    return hops + length
