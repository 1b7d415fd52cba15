"""Routers, links and endpoints as arrays, and what is on its way.

A link of latency L hands a flit that is sent in cycle t to its end in cycle t + L + 1. Each link
carries one flit per cycle, so that a *wheel* of cycles has a row per link and cycle.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit

Ints = NDArray[np.int64]

IDLE, ROUTING, WAITING, ACTIVE = range(4)
"""States of an input channel: nothing to do, needs a route, needs a channel, sends."""

STATE, READY, OUTPUT, LOW, HIGH, CHANNEL, FIRST, HELD = range(8)
"""Columns of an input channel: state, cycle from which its next step may come, output port, range
of channels that it may take, the one that it holds, and its ring of flits."""
CHANNEL_WORDS = 8

SOURCE, TARGET, MADE, SENT, HOPS, DIMENSION, WAY, PART, MEASURED, NEXT_FREE = range(10)
"""Columns of a packet: nodes, cycles at which it was made and its head left, routers passed, the
dimension that it is in, with direction and half of the channels, whether it counts."""
PACKET_WORDS = 10


class Links(NamedTuple):
    """Ends of the links of R routers of P ports.

    Attributes:
        router, port: (R, P) where an output leads; a node as -1 - node, ``NOWHERE``: no link.
        latency: (R, P) cycles of it.
        from_router, from_port, from_latency: Likewise of inputs.
        node_router, node_port: (N,) router and port of each node, in and out.
        node_latency: Cycles of a credit from a node to its router.
    """

    router: Ints
    port: Ints
    latency: Ints
    from_router: Ints
    from_port: Ints
    from_latency: Ints
    node_router: Ints
    node_port: Ints
    node_latency: int


NOWHERE = -(1 << 40)


class State(NamedTuple):
    """Everything that changes.

    Attributes:
        channels: (R, P, V, CHANNEL_WORDS) input channels.
        flits: (R, P, V, D) what they hold.
        taken, credits: (R, P, V) output channels.
        offers, accepts: (R, P * V) pointers of the allocation of channels.
        switch: (R, 3, P) pointers of the switch: of outputs, of inputs, of channels at inputs.
        load: (R,) flits in each router.
        packets: (K, PACKET_WORDS).
        nodes: (N, NODE_WORDS).
        node_taken, node_credits: (N, V) channels into the network.
        wheel, credit_wheel: (W, L, 4) what arrives when.
        counts: (2, W) how much of it.
        totals: (TOTAL_WORDS,) sums.
        random: (1,) uint64.
    """

    channels: Ints
    flits: Ints
    taken: Ints
    credits: Ints
    offers: Ints
    accepts: Ints
    switch: Ints
    load: Ints
    packets: Ints
    nodes: Ints
    node_taken: Ints
    node_credits: Ints
    wheel: Ints
    credit_wheel: Ints
    counts: Ints
    totals: Ints
    random: NDArray[np.uint64]


@njit(cache=True)
def draw(random: NDArray[np.uint64]) -> float:
    """Number in [0, 1), by xorshift64*.

    Source: S. Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled",
    ACM TOMS 42(4), 2016.
    """
    x = random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    random[0] = x
    return float((x * np.uint64(2685821657736338717)) >> np.uint64(11)) / float(1 << 53)
