"""Trees of which no link carries much more than its part.

Each tree is grown where links are least loaded: the price of a link rises exponentially with its
load, as in multiplicative weights (Plotkin, Shmoys and Tardos, Fast Approximation Algorithms for
Fractional Packing and Covering Problems, 1995). Then trees are taken out one by one and grown anew.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.synthesis.growing import (
    Meant,
    grow,
    set_prices,
    shift_load,
    steeply,
    workspace,
)

Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def arriving(nodes: int, arc_to: Ints) -> tuple[Ints, Ints]:
    """Arcs in order of the node at which they end, and (nodes + 1,) where those of each begin."""
    begins = np.zeros(nodes + 1, np.int64)
    for to in arc_to:
        begins[to + 1] += 1
    for node in range(nodes):
        begins[node + 1] += begins[node]
    place, arcs = begins.copy(), np.empty(len(arc_to), np.int64)
    for arc in range(len(arc_to)):
        arcs[place[arc_to[arc]]] = arc
        place[arc_to[arc]] += 1
    return begins, arcs


@njit(cache=True, nogil=True)
def pack(
    order: Ints,
    roots: Ints,
    first: bool,
    npus: int,
    copies: bool,
    offsets: Ints,
    arc_from: Ints,
    arc_to: Ints,
    arc_link: Ints,
    cost: Floats,
    delay: Floats,
    load: Floats,
    meant: Meant,
    arcs: Shorts,
    before: Shorts,
    hops: Ints,
) -> int:
    """Grow the trees of ``order`` one after the other, each out of what the others have left.

    Args:
        order: (n,) numbers of trees.
        roots: (T,) node at which each tree begins.
        first: Whether they are not there yet.
        npus: As for ``grow``, and so on to ``arc_link``.
        copies: As for ``grow``.
        offsets: As for ``grow``.
        arc_from: As for ``grow``.
        arc_to: As for ``grow``.
        arc_link: As for ``grow``.
        cost: (L,) time that one chunk takes on each link.
        delay: As for ``grow``.
        load: (L,) time that each link is busy; changed.
        meant: As for ``grow``.
        arcs: (T, H) hops of each tree; changed.
        before: (T, H) hop before each; changed.
        hops: (T,) how many there are; changed.

    Returns:
        0, or what ``grow`` says of a tree that it does not grow.
    """
    nodes = len(offsets) - 1
    into = arriving(nodes, arc_to)
    net = offsets, arc_from, arc_to, arc_link, into[0], into[1]
    work = workspace(nodes, len(load))
    steep, aim = meant[0], meant[1]
    price = np.empty(len(cost))
    for link in range(len(cost)):
        price[link] = cost[link] * steeply(steep * (load[link] / aim - 1.0))
    for tree in order:
        if not first:
            shift_load(arcs[tree], hops[tree], arc_link, cost, load, -1)
            set_prices(arcs[tree], hops[tree], arc_link, cost, load, steep, aim, price)
        count = grow(
            roots[tree],
            npus,
            copies,
            net,
            cost,
            delay,
            load,
            meant,
            price,
            arcs[tree],
            before[tree],
            work,
        )
        if count < 0:
            return count
        hops[tree] = count
    return 0
