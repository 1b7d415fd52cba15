"""Shortest paths, with all their equal-cost next hops.

Link *l* has the ports 2 l and 2 l + 1; the peer of a port is ``port ^ 1``.
"""

import numpy as np

from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.layout import Ints

DELAY, SENDING, RATE, LINKS = 0, 1, 2, 3
"""Columns about the first path found between two hosts: sums of delay and of sending time, lowest
rate, number of links."""
PAIR_WORDS = 4


@kernel
def find_next_hops(ports: Ints, at: Ints, owner: Ints, is_switch: Ints, roots: Ints,
                   first: Ints, hops: Ints, pairs: Ints, links: Ints) -> None:  # fmt: skip
    """Write the next hops of every node towards every host, in the order of a breadth-first search.

    Args:
        ports: (2 L,) ports node by node, each node's in the order in which they are looked at.
        at: (N + 1,) first of a node's ports among these.
        owner: (2 L,) node of each port.
        is_switch: (N,) only these relay.
        roots: (H,) hosts.
        first: (H N + 1,) to be written: first hop of node n towards root h, at ``h N + n``.
        hops: (H L,) to be written: ports.
        pairs: (H N, 4) to be written; see ``DELAY``.
        links: (L, 3) delay, time of a full payload, rate.
    """
    nodes = is_switch.size
    distance, order = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    count = 0
    for index in range(roots.size):
        base = index * nodes
        seen = _search(ports, at, owner, is_switch, roots[index], distance, order)
        _measure(ports, at, owner, distance, order[:seen], pairs[base : base + nodes], links)
        first[base : base + nodes + 1] = 0
        for node in order[:seen]:
            for port in ports[at[node] : at[node + 1]]:
                other = owner[port ^ 1]
                if _leads(distance, is_switch, roots[index], node, other):
                    first[base + other + 1] += 1
        first[base] = count
        for node in range(nodes):
            first[base + node + 1] += first[base + node]
        count = first[base + nodes]
        filled = np.zeros(nodes, np.int64)
        for node in order[:seen]:
            for port in ports[at[node] : at[node + 1]]:
                other = owner[port ^ 1]
                if _leads(distance, is_switch, roots[index], node, other):
                    hops[first[base + other] + filled[other]] = port ^ 1
                    filled[other] += 1


@kernel
def _leads(distance: Ints, is_switch: Ints, root: int, node: int, other: int) -> bool:
    """True if *node* is a next hop of *other*."""
    relays = node == root or is_switch[node] != 0
    return relays and distance[other] == distance[node] + 1


@kernel
def _search(ports: Ints, at: Ints, owner: Ints, is_switch: Ints, root: int,
            distance: Ints, order: Ints) -> int:  # fmt: skip
    """Number the nodes in *order* from *root* on; how many are reached."""
    distance[:] = -1
    distance[root] = 0
    order[0] = root
    seen = 1
    done = 0
    while done < seen:
        node = order[done]
        done += 1
        if node != root and is_switch[node] == 0:
            continue
        for port in ports[at[node] : at[node + 1]]:
            other = owner[port ^ 1]
            if distance[other] < 0:
                distance[other] = distance[node] + 1
                order[seen] = other
                seen += 1
    return seen


@kernel
def _measure(ports: Ints, at: Ints, owner: Ints, distance: Ints, order: Ints,
             pairs: Ints, links: Ints) -> None:  # fmt: skip
    """Write the sums along the tree of the search; -1: not reached."""
    pairs[:] = -1
    pairs[order[0], DELAY] = 0
    pairs[order[0], SENDING] = 0
    pairs[order[0], RATE] = np.int64(0x7FFFFFFFFFFFFFFF)
    pairs[order[0], LINKS] = 0
    for node in order:
        for port in ports[at[node] : at[node + 1]]:
            other, link = owner[port ^ 1], port >> 1
            if pairs[other, DELAY] < 0 and distance[other] == distance[node] + 1:
                pairs[other, DELAY] = pairs[node, DELAY] + links[link, DELAY]
                pairs[other, SENDING] = pairs[node, SENDING] + links[link, SENDING]
                pairs[other, RATE] = min(pairs[node, RATE], links[link, RATE])
                pairs[other, LINKS] = distance[other]
