"""All-gathers by matching: whenever a link is free, it takes a chunk that its end still lacks.

The way of TACOS (Won et al., Topology-aware collective algorithm synthesizer, 2024), by events
instead of steps of time, and with a choice of what few nodes have yet.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.synthesis.heaps import drop, push

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@njit(cache=True, nogil=True)
def match(
    owner: Ints,
    npus: int,
    arc_from: Ints,
    arc_to: Ints,
    offsets: Ints,
    arcs: Ints,
    takes: Floats,
    latency: Floats,
    noise: Floats,
    rarest: bool,
    chunk: Ints,
    arc: Ints,
    start: Floats,
) -> int:
    """Match chunks to links of a network without switches until every NPU has every chunk.

    Args:
        owner: (C,) NPU that has each chunk at first.
        npus: NPUs, which are all nodes.
        arc_from: (A,) NPU at which each arc begins.
        arc_to: (A,) NPU at which it ends.
        offsets: (L + 1,) where the arcs of each link begin.
        arcs: (A,) arcs, link by link.
        takes: (L,) time that a chunk keeps each link.
        latency: (L,) time after that until it is there.
        noise: (N,) numbers from 0 up to 1 by which equals are told apart.
        rarest: Whether chunks that fewest NPUs have go first; else all are equals.
        chunk: (S,) the answer: chunk of each send,
        arc: (S,) its arc, and
        start: (S,) its start.

    Returns:
        Sends; fewer than C (npus - 1) where some NPU cannot be reached.
    """
    links, chunks = len(takes), len(owner)
    held = np.zeros((npus, chunks), np.bool_)
    due = np.zeros((npus, chunks), np.bool_)
    spread = np.ones(chunks, np.int64)
    for one in range(chunks):
        held[owner[one], one] = due[owner[one], one] = True
    idle, look = np.ones(links, np.bool_), np.ones(links, np.bool_)
    # a link that is done is item -1 - link, a chunk that has arrived is the number of its send
    key, item = np.empty(len(chunk) + links + 2), np.empty(len(chunk) + links + 2, np.int64)
    events, sends, now = 0, 0, 0.0
    turn = np.argsort(noise[:links])
    while True:
        for link in turn:
            if not (idle[link] and look[link]):
                continue
            look[link] = False
            least, best, way = np.inf, -1, -1
            for one in arcs[offsets[link] : offsets[link + 1]]:
                at, to = held[arc_from[one]], due[arc_to[one]]
                found, rank = _choice(at, to, spread, noise, sends, rarest)
                if rank < least:
                    least, best, way = rank, found, one
            if best < 0:
                continue
            chunk[sends], arc[sends], start[sends] = best, way, now
            due[arc_to[way], best] = True
            spread[best] += 1
            idle[link] = False
            done = now + takes[link]
            push(key, item, 0, events, done, -1 - link)
            push(key, item, 0, events + 1, done + latency[link], sends)
            events, sends = events + 2, sends + 1
        if events == 0:
            return sends
        until = key[0] * (1.0 + 1e-12)
        while events and key[0] <= until:
            what, now = item[0], key[0]
            events -= 1
            drop(key, item, 0, events)
            if what < 0:
                idle[-1 - what] = look[-1 - what] = True
                continue
            node = arc_to[arc[what]]
            held[node, chunk[what]] = True
            _wake(node, look, arc_from, offsets, arcs)


@njit(cache=True, nogil=True)
def _wake(node: int, look: Bools, arc_from: Ints, offsets: Ints, arcs: Ints) -> None:
    """Have the links that leave a node looked at again."""
    for link in range(len(look)):
        for place in range(offsets[link], offsets[link + 1]):
            look[link] |= arc_from[arcs[place]] == node


@njit(cache=True, nogil=True)
def _choice(
    held: Bools, due: Bools, spread: Ints, noise: Floats, shift: int, rarest: bool
) -> tuple[int, float]:
    """Choose a chunk that is held and not due (-1: none), and its rank."""
    best, least = -1, np.inf
    for one in range(len(held)):
        if held[one] and not due[one]:
            rank = noise[(one + 7919 * shift) % len(noise)]
            if rarest:
                rank += spread[one]
            if rank < least:
                best, least = one, rank
    return best, least
