"""Trees of which no link carries much more than its part.

Each tree is grown where links are least loaded: the price of a link rises exponentially with its
load, as in multiplicative weights (Plotkin, Shmoys and Tardos, Fast Approximation Algorithms for
Fractional Packing and Covering Problems, 1995). Then trees are taken out one by one and grown anew.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.synthesis.growing import grow

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def shift_load(
    arcs: Ints, hops: int, arc_link: Ints, cost: Floats, load: Floats, sign: int
) -> None:
    """Add (*sign* 1) or take off (-1) the load of a tree's *hops*, ``cost`` (L,) on each link."""
    for hop in range(hops):
        link = arc_link[arcs[hop]]
        load[link] += sign * cost[link]


@njit(cache=True, nogil=True)
def set_prices(
    arcs: Ints,
    hops: int,
    arc_link: Ints,
    cost: Floats,
    load: Floats,
    steep: float,
    aim: float,
    price: Floats,
) -> None:
    """Set the price of the links of *hops* by their load; *aim* is the load that is meant."""
    for hop in range(hops):
        link = arc_link[arcs[hop]]
        price[link] = cost[link] * np.exp(steep * (load[link] / aim - 1.0))


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
    load: Floats,
    steep: float,
    aim: float,
    depth_share: float,
    arcs: Ints,
    before: Ints,
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
        load: (L,) time that each link is busy; changed.
        steep: How much dearer a link is that is as loaded as meant than one without load (log).
        aim: Load that is meant.
        depth_share: As for ``grow``.
        arcs: (T, H) hops of each tree; changed.
        before: (T, H) hop before each; changed.
        hops: (T,) how many there are; changed.

    Returns:
        0, or what ``grow`` says of a tree that it does not grow.
    """
    nodes = len(offsets) - 1
    reach, keys = np.empty(nodes), np.empty(nodes)
    via, hop_into = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    items, places = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    price = cost * np.exp(steep * (load / aim - 1.0))
    for tree in order:
        if not first:
            shift_load(arcs[tree], hops[tree], arc_link, cost, load, -1)
            set_prices(arcs[tree], hops[tree], arc_link, cost, load, steep, aim, price)
        count = grow(
            roots[tree],
            npus,
            copies,
            offsets,
            arc_from,
            arc_to,
            arc_link,
            price,
            depth_share,
            arcs[tree],
            before[tree],
            reach,
            via,
            hop_into,
            keys,
            items,
            places,
        )
        if count < 0:
            return count
        hops[tree] = count
        shift_load(arcs[tree], count, arc_link, cost, load, 1)
        set_prices(arcs[tree], count, arc_link, cost, load, steep, aim, price)
    return 0
