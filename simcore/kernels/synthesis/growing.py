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
Shorts = NDArray[np.int32]
Floats = NDArray[np.float64]
Net = tuple[Ints, Ints, Ints, Ints, Ints, Ints]
State = tuple[Floats, Floats, Floats, Ints, Ints]
Now = tuple[Floats, Floats, Floats]
Lateness = tuple[float, float, float]
Meant = tuple[float, float, float, float]
Work = tuple[State, tuple[Floats, Ints, Ints], Floats, Ints]


_STRAIGHT = 40.0


@njit(cache=True, nogil=True)
def steeply(excess: float) -> float:
    """Price by an excess: exponential, and far above what is meant along the tangent: finite."""
    if excess > _STRAIGHT:
        return float(np.exp(_STRAIGHT) * (1.0 + excess - _STRAIGHT))
    return float(np.exp(excess))


@njit(cache=True, nogil=True)
def shift_load(
    arcs: Shorts, hops: int, arc_link: Ints, cost: Floats, load: Floats, sign: int
) -> None:
    """Add (*sign* 1) or take off (-1) the load of a tree's *hops*, ``cost`` (L,) on each link."""
    for hop in range(hops):
        link = arc_link[arcs[hop]]
        load[link] += sign * cost[link]


@njit(cache=True, nogil=True)
def set_prices(
    arcs: Shorts,
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
        price[link] = cost[link] * steeply(steep * (load[link] / aim - 1.0))


@njit(cache=True, nogil=True)
def workspace(nodes: int, links: int) -> Work:
    """Room for what ``grow`` notes on nodes and links."""
    values, numbers = np.empty((4, nodes)), np.empty((4, nodes), np.int64)
    state = values[0], values[1], values[2], numbers[0], numbers[1]
    heap = values[3], numbers[2], numbers[3]
    return state, heap, np.empty(links), np.empty(2 * nodes, np.int64)


@njit(cache=True, nogil=True)
def grow(
    root: int,
    npus: int,
    copies: bool,
    net: Net,
    cost: Floats,
    delay: Floats,
    load: Floats,
    meant: Meant,
    price: Floats,
    arcs: Shorts,
    before: Shorts,
    work: Work,
) -> int:
    """Grow a tree from *root* to every NPU.

    Where switches do not copy, a tree may pass one link many times, each time at the price that the
    link has then: what was reached over it is looked at again before it is taken.

    Args:
        root: Node at which it begins.
        npus: NPUs; the first nodes.
        copies: Whether a switch may send on more than once what it was sent once.
        net: Of nodes, where their arcs begin; tails, heads and links of arcs; of nodes, where arcs
            into them begin; those arcs.
        cost: (L,) time that the tree's chunk takes on each link.
        delay: (L,) time until it can go on from the other end.
        load: (L,) time that each link is busy; changed.
        meant: How much dearer a link is that is as loaded as meant than one without load (log); the
            load that is meant; the time until the last NPU has the chunk, if all links are free for
            it, that is meant; the factor up to which prices are taken as equal.
        price: (L,) of passing each link, above 0; changed.
        arcs: (H,) the arcs of the hops, in an order in which data can flow.
        before: (H,) the hop before each.
        work: What ``workspace`` gives.

    Returns:
        Hops of the tree; -1 where an NPU cannot be reached, -2 where there are more than H.
    """
    offsets, arc_from, arc_to, arc_link = net[0], net[1], net[2], net[3]
    state, (keys, items, places), free, path = work
    rank, paid, when, via, hop_into = state
    rank[:], hop_into[:], places[:], free[:] = np.inf, -2, -1, 0.0
    hop_into[root], rank[root], paid[root], when[root] = -1, 0.0, 0.0, 0.0
    missing = npus - 1 if root < npus else npus
    # the price of being as late as is meant
    steep, aim, deep, alike = meant
    lateness, now, hops = (cost.mean(), steep, deep), (price, free, delay), 0
    size = lower(keys, items, places, 0, 0.0, root)
    while missing:
        if size == 0:
            return -1
        node = items[0]
        size -= 1
        take(keys, items, places, size)
        if hop_into[node] == -2:
            _look_again(node, npus, net, now, lateness, alike, state, path)
            if size and rank[node] > alike * keys[0]:
                size = lower(keys, items, places, size, rank[node], node)
                continue
            if node < npus:
                first = hops
                hops = _walk_back(node, hops, arc_from, via, hop_into, arcs, before)
                if hops < 0:
                    return -2
                missing -= 1
                shift_load(arcs[first:], hops - first, arc_link, cost, load, 1)
                set_prices(arcs[first:], hops - first, arc_link, cost, load, steep, aim, price)
                for hop in range(first, hops):
                    at = arc_to[arcs[hop]]
                    _send_on(arcs[hop], at, arc_from, arc_link, cost, delay, free, when)
                    if at < npus or copies:
                        hop_into[at], rank[at], paid[at] = hop, 0.0, 0.0
                        if at != node:
                            size = lower(keys, items, places, size, 0.0, at)
        for arc in range(offsets[node], offsets[node + 1]):
            to = arc_to[arc]
            if hop_into[to] == -2:
                far, then = _further(arc, paid[node], when[node], arc_link, now)
                key = _key(far, then, lateness)
                if key < rank[to] and not _leads_by(node, to, arc_from, via, hop_into):
                    rank[to], paid[to], when[to], via[to] = key, far, then, arc
                    if places[to] < 0 or key < keys[places[to]]:
                        size = lower(keys, items, places, size, key, to)
    return hops


@njit(cache=True, nogil=True)
def _send_on(
    arc: int,
    to: int,
    arc_from: Ints,
    arc_link: Ints,
    cost: Floats,
    delay: Floats,
    free: Floats,
    when: Floats,
) -> None:
    """Send the chunk along an arc as soon as its link is free of the tree."""
    on = arc_link[arc]
    begin = max(when[arc_from[arc]], free[on])
    free[on], when[to] = begin + cost[on], begin + delay[on]


@njit(cache=True, nogil=True)
def _leads_by(node: int, other: int, arc_from: Ints, via: Ints, hop_into: Ints) -> bool:
    """True if the way to a node leads by another: what is known of both may be of unlike age."""
    while hop_into[node] == -2:
        if node == other:
            return True
        node = arc_from[via[node]]
    return False


@njit(cache=True, nogil=True)
def _further(arc: int, paid: float, when: float, arc_link: Ints, now: Now) -> tuple[float, float]:
    """Price and time at the end of an arc."""
    price, free, delay = now
    on = arc_link[arc]
    return paid + price[on], max(when, free[on]) + delay[on]


@njit(cache=True, nogil=True)
def _key(paid: float, when: float, lateness: Lateness) -> float:
    """Price of a way with that of its end's being late."""
    late, steep, deep = lateness
    return paid + late * steeply(steep * (when / deep - 1.0))


@njit(cache=True, nogil=True)
def _look_again(
    node: int,
    npus: int,
    net: Net,
    now: Now,
    lateness: Lateness,
    alike: float,
    state: State,
    path: Ints,
) -> None:
    """Find the way to *node* anew as far as it is dearer than when it was found."""
    _, arc_from, _, arc_link, in_offsets, in_arcs = net
    rank, paid, when, via, hop_into = state
    length, at = 0, node
    while hop_into[at] == -2:
        path[length] = at
        length += 1
        at = arc_from[via[at]]
    for place in range(length - 1, -1, -1):
        at = path[place]
        since = arc_from[via[at]]
        far, then = _further(via[at], paid[since], when[since], arc_link, now)
        key = _key(far, then, lateness)
        if key <= alike * rank[at]:
            if key > rank[at]:
                rank[at], paid[at], when[at] = key, far, then
            continue
        rank[at] = np.inf
        for one in range(in_offsets[at], in_offsets[at + 1]):
            arc = in_arcs[one]
            since = arc_from[arc]
            if hop_into[since] == -2 and (since < npus or np.isinf(rank[since])):
                continue
            far, then = _way_now(since, at, net, now, state, path[length:])
            far, then = _further(arc, far, then, arc_link, now)
            key = _key(far, then, lateness)
            if key < rank[at]:
                rank[at], paid[at], when[at], via[at] = key, far, then, arc


@njit(cache=True, nogil=True)
def _way_now(
    node: int, without: int, net: Net, now: Now, state: State, path: Ints
) -> tuple[float, float]:
    """Price and time now of the way that is known to a node, infinite if it leads by another."""
    arc_from, arc_link = net[1], net[3]
    _, paid, when, via, hop_into = state
    length, at = 0, node
    while hop_into[at] == -2:
        if at == without:
            return np.inf, np.inf
        path[length] = via[at]
        length += 1
        at = arc_from[via[at]]
    far, then = paid[at], when[at]
    for place in range(length - 1, -1, -1):
        far, then = _further(path[place], far, then, arc_link, now)
    return far, then


@njit(cache=True, nogil=True)
def _walk_back(
    node: int, hops: int, arc_from: Ints, via: Ints, hop_into: Ints, arcs: Shorts, before: Shorts
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


@njit(cache=True, nogil=True)
def end_of(
    arcs: Shorts,
    before: Shorts,
    hops: int,
    arc_link: Ints,
    cost: Floats,
    delay: Floats,
) -> float:
    """Time until the last node of a tree has its chunk, if nothing else is on the links."""
    free, there = np.zeros(len(cost)), np.zeros(hops)
    last = 0.0
    for hop in range(hops):
        on = arc_link[arcs[hop]]
        begin = free[on]
        if before[hop] >= 0:
            begin = max(begin, there[before[hop]])
        free[on], there[hop] = begin + cost[on], begin + delay[on]
        last = max(last, there[hop])
    return last
