"""Shortest routes hop by hop: at each node one of the links to a node nearer to the destination.

Flows come in order of their destinations. Distances to a destination are walked backwards from it,
only as far as its flows begin.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit

Ints = NDArray[np.int64]

LOWEST, HASHED, MODULO = 0, 1, 2
"""Rules of the choice among several links: the lowest number; by a hash of flow and node; by the
destination's number divided and taken modulo."""


@njit(cache=True, nogil=True)
def distances_to(
    offsets: Ints,
    before: Ints,
    npus: int,
    npus_forward: bool,
    target: int,
    sources: Ints,
    links: Ints,
    queue: Ints,
) -> tuple[int, int]:
    """Links from nodes to *target*, as far as all *sources* are reached.

    Args:
        offsets: (nodes + 1,) where the links into each node begin.
        before: Node at which each of them begins.
        npus: NPUs; the first nodes.
        npus_forward: Whether the way may lead through NPUs.
        target: Where it ends.
        sources: Nodes to be reached.
        links: (nodes,) the answer; -1 everywhere before and where there is no way.
        queue: (nodes,) nodes reached, in order.

    Returns:
        Nodes reached, and how many of *sources* were not.
    """
    links[target] = 0
    queue[0] = target
    reached, at, missing = 1, 0, 0
    while at < reached:
        node = queue[at]
        at += 1
        if node < npus and node != target and not npus_forward:
            continue
        for k in range(offsets[node], offsets[node + 1]):
            other = before[k]
            if links[other] < 0:
                links[other] = links[node] + 1
                queue[reached] = other
                reached += 1
        missing = 0
        for source in sources:
            missing += links[source] < 0
            if missing:
                break
        if missing == 0:
            break
    missing = 0
    for source in sources:
        missing += links[source] < 0
    return reached, missing


@njit(cache=True, nogil=True)
def hops(
    into: Ints, before: Ints, npus: int, npus_forward: bool, source: Ints, target: Ints
) -> Ints:
    """(F,) links from each source to its target, -1 where there is no way; targets ascend."""
    nodes = len(into) - 1
    links, queue = np.full(nodes, -1, np.int64), np.empty(nodes, np.int64)
    found = np.empty(len(source), np.int64)
    first = 0
    while first < len(source):
        last = first
        while last < len(source) and target[last] == target[first]:
            last += 1
        reached, _ = distances_to(
            into, before, npus, npus_forward, target[first], source[first:last], links, queue
        )
        for flow in range(first, last):
            found[flow] = links[source[flow]]
        for at in range(reached):
            links[queue[at]] = -1
        first = last
    return found


@njit(cache=True, nogil=True)
def hop_by_hop(
    into: Ints,
    before: Ints,
    outward: Ints,
    ids: Ints,
    to: Ints,
    npus: int,
    npus_forward: bool,
    source: Ints,
    target: Ints,
    number: Ints,
    rule: int,
    seed: int,
    divisors: Ints,
    begin: Ints,
    route: Ints,
) -> None:
    """Write the links of each flow into *route* from *begin* (F,) on; targets ascend.

    Args:
        into: (nodes + 1,) where the links into each node begin.
        before: Node at which each of them begins.
        outward: (nodes + 1,) where the links out of each node begin, ascending.
        ids: Their numbers.
        to: Node to which each leads.
        npus: NPUs; the first nodes.
        npus_forward: Whether ways may lead through NPUs.
        source: (F,) nodes at which flows begin; all reach their targets.
        target: (F,) nodes at which they end.
        number: (F,) numbers of the flows, for the hash.
        rule: How to choose.
        seed: Of the hash.
        divisors: Of the modulo rule, by the number of choices made before.
        begin: (F,) where the links of each flow go.
        route: The answer.
    """
    nodes = len(into) - 1
    links, queue = np.full(nodes, -1, np.int64), np.empty(nodes, np.int64)
    first = 0
    while first < len(source):
        last = first
        while last < len(source) and target[last] == target[first]:
            last += 1
        reached, _ = distances_to(
            into, before, npus, npus_forward, target[first], source[first:last], links, queue
        )
        for flow in range(first, last):
            node, place, choices = source[flow], begin[flow], 0
            while node != target[flow]:
                low, high = outward[node], outward[node + 1]
                count = 0
                for k in range(low, high):
                    count += _is_nearer(links, to[k], node, target[flow], npus, npus_forward)
                wanted = 0
                if rule == HASHED:
                    wanted = _hashed(number[flow], node, seed, count)
                elif rule == MODULO and count > 1:
                    wanted = target[flow] // divisors[choices] % count
                    choices += 1
                for k in range(low, high):
                    if _is_nearer(links, to[k], node, target[flow], npus, npus_forward):
                        if wanted == 0:
                            route[place] = ids[k]
                            node = to[k]
                            break
                        wanted -= 1
                place += 1
        for at in range(reached):
            links[queue[at]] = -1
        first = last


@njit(cache=True, nogil=True)
def _is_nearer(
    links: Ints, other: int, node: int, target: int, npus: int, npus_forward: bool
) -> bool:
    """True if node *other* is one link nearer to the target than *node*, and may be passed."""
    if links[other] != links[node] - 1:
        return False
    return npus_forward or other >= npus or other == target


@njit(cache=True, nogil=True)
def _hashed(flow: int, node: int, seed: int, count: int) -> int:
    """Number of the link chosen among *count*: the finaliser of SplitMix64 over 64 bits.

    G. Steele, D. Lea and C. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
    """
    z = np.uint64(flow) * np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64(node) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(seed)
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.int64(z % np.uint64(count))


@njit(cache=True, nogil=True)
def choose_by_load(
    capacity: NDArray[np.float64],
    size: NDArray[np.float64],
    straight: Ints,
    straight_links: Ints,
    detour: Ints,
    detour_links: Ints,
) -> NDArray[np.bool_]:
    """(F,) true where a flow takes its detour: less load times links, flow after flow.

    The load of a route is that of its fullest link: time that the bytes sent over it so far take.

    Args:
        capacity: (L,) of each link.
        size: (F,) bytes of each flow.
        straight: (F + 1,) where the links of each flow's shortest route begin.
        straight_links: Its links.
        detour: (F + 1,) where the links of each flow's detour begin.
        detour_links: Its links.
    """
    load = np.zeros(len(capacity))
    chosen = np.zeros(len(size), np.bool_)
    for flow in range(len(size)):
        one = _worst(load, straight_links, straight[flow], straight[flow + 1])
        other = _worst(load, detour_links, detour[flow], detour[flow + 1])
        hops_one = straight[flow + 1] - straight[flow]
        hops_other = detour[flow + 1] - detour[flow]
        chosen[flow] = other * hops_other < one * hops_one
        links, begin, end = straight_links, straight[flow], straight[flow + 1]
        if chosen[flow]:
            links, begin, end = detour_links, detour[flow], detour[flow + 1]
        for k in range(begin, end):
            load[links[k]] += size[flow] / capacity[links[k]]
    return chosen


@njit(cache=True, nogil=True)
def _worst(load: NDArray[np.float64], links: Ints, begin: int, end: int) -> float:
    most = 0.0
    for k in range(begin, end):
        most = max(most, load[links[k]])
    return most
