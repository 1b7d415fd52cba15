"""Cheapest ways from NPUs, and ways of chunks that load links evenly."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.synthesis.heaps import lower, take

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_MOST = 500.0
"""Logarithm of a price, above which none is: ways over full links are dear, and still ways."""


@njit(cache=True, nogil=True)
def cheapest_ways(
    start: int,
    npus: int,
    npus_forward: bool,
    offsets: Ints,
    arc_to: Ints,
    arc_link: Ints,
    price: Floats,
    reach: Floats,
    via: Ints,
    keys: Floats,
    items: Ints,
    places: Ints,
) -> None:
    """Price (``reach``) of the cheapest way from *start* to every node, and its last arc (``via``).

    Args:
        start: Node at which the ways begin.
        npus: NPUs, the first nodes.
        npus_forward: Whether ways lead through NPUs.
        offsets: (nodes + 1,) where the arcs of each node begin.
        arc_to: (A,) node at which each arc ends.
        arc_link: (A,) link that it occupies.
        price: (L,) of each link.
        reach: (nodes,) the answer.
        via: (nodes,) the answer.
        keys: (nodes,) workspace.
        items: (nodes,) workspace.
        places: (nodes,) workspace.
    """
    reach[:] = np.inf
    places[:] = -1
    reach[start] = 0.0
    size = lower(keys, items, places, 0, 0.0, start)
    while size:
        node = items[0]
        size -= 1
        take(keys, items, places, size)
        if node < npus and node != start and not npus_forward:
            continue
        for arc in range(offsets[node], offsets[node + 1]):
            far = reach[node] + price[arc_link[arc]]
            if far < reach[arc_to[arc]]:
                reach[arc_to[arc]] = far
                via[arc_to[arc]] = arc
                size = lower(keys, items, places, size, far, arc_to[arc])


@njit(cache=True, nogil=True)
def priced_ways(
    npus: int,
    npus_forward: bool,
    offsets: Ints,
    arc_from: Ints,
    arc_to: Ints,
    arc_link: Ints,
    price: Floats,
    load: Floats,
) -> tuple[float, float]:
    """Sum and the most of the prices of the cheapest ways between all NPUs.

    What they put on links, a unit from each NPU to each other, is added to ``load`` (L,), or (0,)
    where nobody asks for it.
    """
    nodes = len(offsets) - 1
    reach, keys = np.empty(nodes), np.empty(nodes)
    via, items = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    places = np.empty(nodes, np.int64)
    total, most = 0.0, 0.0
    for start in range(npus):
        cheapest_ways(
            start,
            npus,
            npus_forward,
            offsets,
            arc_to,
            arc_link,
            price,
            reach,
            via,
            keys,
            items,
            places,
        )
        total += reach[:npus].sum()
        most = max(most, reach[:npus].max())
        for target in range(npus if len(load) else 0):
            node = target
            while node != start and reach[target] < np.inf:
                load[arc_link[via[node]]] += 1.0
                node = arc_from[via[node]]
    return total, most


@njit(cache=True, nogil=True)
def spread_ways(
    order: Ints,
    first: bool,
    batch: int,
    source: Ints,
    target: Ints,
    npus: int,
    npus_forward: bool,
    offsets: Ints,
    arc_from: Ints,
    arc_to: Ints,
    arc_link: Ints,
    cost: Floats,
    late: Floats,
    load: Floats,
    steep: float,
    aim: float,
    arcs: NDArray[np.int32],
    hops: Ints,
) -> bool:
    """Choose the way of each chunk anew, out of what the others have left.

    Args:
        order: (D,) chunks; those of one source follow each other.
        first: Whether they have no ways yet.
        batch: Most chunks of one source whose ways are chosen by the same prices.
        source: (D,) NPU at which each chunk begins.
        target: (D,) NPU for which it is.
        npus: As for ``cheapest_ways``, and so on to ``arc_link``.
        npus_forward: As there.
        offsets: As there.
        arc_from: (A,) node at which each arc begins.
        arc_to: As there.
        arc_link: As there.
        cost: (L,) time that one chunk takes on each link.
        late: (L,) price of passing each link, whatever its load, against that of a link loaded as
            is meant.
        load: (L,) time that each link is busy; changed.
        steep: How much dearer a link is that is as loaded as meant than one without load (log).
        aim: Load that is meant.
        arcs: (D, H) arcs of each way, last one first; changed.
        hops: (D,) how many there are; changed.

    Returns:
        False where a way has more than H arcs.
    """
    nodes = len(offsets) - 1
    reach, keys = np.empty(nodes), np.empty(nodes)
    via, items = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    places = np.empty(nodes, np.int64)
    price = cost * (late + np.exp(np.minimum(steep * (load / aim - 1.0), _MOST)))
    begin = 0
    while begin < len(order):
        start, end = source[order[begin]], begin
        while end < len(order) and end < begin + batch and source[order[end]] == start:
            chunk = order[end]
            end += 1
            for hop in range(0 if first else hops[chunk]):
                _shift(arc_link[arcs[chunk, hop]], -1, cost, late, load, price, steep, aim)
        cheapest_ways(
            start,
            npus,
            npus_forward,
            offsets,
            arc_to,
            arc_link,
            price,
            reach,
            via,
            keys,
            items,
            places,
        )
        for place in range(begin, end):
            chunk = order[place]
            node, hop = target[chunk], 0
            while node != start:
                if hop == arcs.shape[1]:
                    return False
                arcs[chunk, hop] = arc = via[node]
                hop += 1
                _shift(arc_link[arc], 1, cost, late, load, price, steep, aim)
                node = arc_from[arc]
            hops[chunk] = hop
        begin = end
    return True


@njit(cache=True, nogil=True)
def _shift(
    link: int,
    sign: int,
    cost: Floats,
    late: Floats,
    load: Floats,
    price: Floats,
    steep: float,
    aim: float,
) -> None:
    """Add a chunk to a link's load, or take one off, and set its price by that."""
    load[link] += sign * cost[link]
    excess = min(steep * (load[link] / aim - 1.0), _MOST)
    price[link] = cost[link] * (late[link] + np.exp(excess))
