"""The part of a network that a group of its NPUs uses."""

from dataclasses import replace

import numpy as np

from simcore.graphs.graph import NetworkGraph
from simcore.kernels.graphs.distances import walk
from simcore.synthesis.fabric import Fabric, Ints, fabric_of


def line_fabric(
    graph: NetworkGraph, members: Ints, copies: bool = False, reduces: bool = False
) -> tuple[Fabric, Ints]:
    """The fabric of *members* (G,) of a network, and (L,) which of the network's links it has.

    It holds the members in their order and the switches on shortest ways between them; NPUs of
    others pass chunks on only where members are not joined without them. Equal groups of a regular
    network have equal fabrics.

    Args:
        graph: The network.
        members: NPUs, in the order of their parts.
        copies: Whether switches can send on several times what they were sent once.
        reduces: Whether switches can combine chunks.
    """
    whole = fabric_of(graph, copies, reduces)
    others = np.ones(whole.nodes, np.bool_)
    others[members] = False
    others[whole.npus :] = False
    fabric, links = _cut(whole, np.flatnonzero(~others), members)
    if graph.npus_forward and not _joined(fabric):
        plain = replace(whole, copies=False, reduces=False)  # NPUs on the way are no switches
        fabric, links = _cut(plain, np.arange(whole.nodes), members)
    if fabric.nodes == fabric.npus:
        return fabric, links
    nodes = _passed(fabric)
    inner, own = _cut(fabric, nodes, np.arange(fabric.npus))
    return inner, links[own]


def _cut(fabric: Fabric, nodes: Ints, members: Ints) -> tuple[Fabric, Ints]:
    """The fabric of some *nodes*, *members* first, then the rest in order; and links that it has.

    NPUs that are no members become switches, which pass on and do no more.
    """
    rest = np.setdiff1d(nodes, members)
    number = np.full(fabric.nodes, -1, np.int64)
    number[members] = np.arange(len(members))
    number[rest] = len(members) + np.arange(len(rest))
    own = np.flatnonzero((number[fabric.tail] >= 0) & (number[fabric.head] >= 0))
    tail, head = number[fabric.tail[own]], number[fabric.head[own]]
    order = np.lexsort((fabric.link[own], head, tail))
    kept, link = np.unique(fabric.link[own][order], return_inverse=True)
    # numbered as they come first, so that equal groups are equal
    first = np.full(len(kept), len(order), np.int64)
    np.minimum.at(first, link, np.arange(len(order)))
    rank = np.argsort(np.argsort(first))
    kept = kept[np.argsort(first)]
    found = replace(
        fabric,
        npus=len(members),
        nodes=len(members) + len(rest),
        tail=tail[order],
        head=head[order],
        link=rank[link].astype(np.int64),
        rate=fabric.rate[kept],
        latency=fabric.latency[kept],
    )
    return found, kept


def _far(fabric: Fabric, node: int) -> Ints:
    """(N,) links from a node to each; -1: it cannot be reached. Members pass on in collectives."""
    far, queue = np.empty(fabric.nodes, np.int64), np.empty(fabric.nodes, np.int64)
    walk(fabric.offsets, fabric.head, fabric.npus, True, node, far, queue)
    return far


def _joined(fabric: Fabric) -> bool:
    """True if every member reaches every other."""
    back = fabric.reversed()
    return all(bool((_far(one, 0)[: one.npus] >= 0).all()) for one in (fabric, back))


def _passed(fabric: Fabric) -> Ints:
    """NPUs, and the switches that lie on a shortest way between two of them."""
    used = np.zeros(fabric.nodes, np.bool_)
    used[: fabric.npus] = True
    back = fabric.reversed()
    onward = np.stack([_far(fabric, npu) for npu in range(fabric.npus)])
    homeward = np.stack([_far(back, npu) for npu in range(fabric.npus)])
    reached = (onward >= 0).all(axis=0)
    for npu in range(fabric.npus):
        between = onward[npu, : fabric.npus, None] == onward[npu] + homeward
        used |= (between & (homeward >= 0)).any(axis=0) & (onward[npu] >= 0)
    return np.flatnonzero(used & reached)
