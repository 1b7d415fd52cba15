"""Routers, links and endpoints as arrays, and what is on its way.

A link of latency L hands a flit that is sent in cycle t to its end in cycle t + L + 1. Each link
carries one flit per cycle, so that a *wheel* of cycles has a row per link and cycle. Channel v of
port p has number ``p V + v`` in arrays of all channels of a router.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit

Ints = NDArray[np.int64]

IDLE, ROUTING, WAITING, ACTIVE = range(4)
"""States of an input channel: nothing to do, needs a route, needs a channel, sends."""

STATE, READY, OUTPUT, CHANNEL, FIRST, HELD, WAYS, DUE, LISTED = range(9)
"""Columns of an input channel: state, cycle from which its next step may come, output port and
channel that it holds, its ring of flits, how many ways it may take, cycle in which its route is
worked out (or ``NONE``), whether the list of busy channels has it."""
CHANNEL_WORDS = 9

WAY_OUTPUT, WAY_LOW, WAY_HIGH, WAY_PRIORITY = range(4)
"""Columns of a way: output port, first and last channel of it, priority."""

BUSY, ROUTE_DUE, CROSSING, CROSSING_DUE, AWAKE = range(5)
"""Columns of a router: busy channels, last cycle of the routes that are being worked out, flits
that wait for the crossbar, last cycle of those in it, whether the list of routers has it."""
ROUTER_WORDS = 5

(
    CHANNEL_OFFERS, CHANNEL_ACCEPTS, SWITCH_OFFERS, SWITCH_ACCEPTS,
    TURNS, HELD_CHANNEL, HELD_OUTPUT, FREE_FROM,
) = range(8)  # fmt: skip
"""Rows of a router's pointers: of outputs and of inputs in the allocation of channels and of the
switch; next channel of an input; channel and output that an input is
held to; first cycle in which an output is free."""
POINTER_ROWS = 8

SOURCE, TARGET, MADE, SENT, HOPS, DIMENSION, WAY, PART, MIDDLE, MEASURED, NEXT_FREE = range(11)
"""Columns of a packet: nodes, cycles at which it was made and its head left, routers passed, the
dimension that it is in, with direction and half of the channels, the router that it goes to first
(or ``NONE``), whether it counts."""
PACKET_WORDS = 11

NONE = -1
NOWHERE = -(1 << 40)


class Links(NamedTuple):
    """Ends of the links of R routers of P ports.

    Attributes:
        router, port: (R, P) where an output leads; a node as -1 - node, ``NOWHERE``: no link.
        latency: (R, P) cycles of it.
        from_router, from_port, from_latency: Likewise of inputs; cycles are those of a credit.
        node_router, node_port: (N,) where a node's flits enter.
        exit_router, exit_port: (N,) where they leave.
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
    exit_router: Ints
    exit_port: Ints
    node_latency: int


class How(NamedTuple):
    """A router's way to work.

    Attributes:
        channels, depth: Virtual channels of a port, and flits that each holds.
        size: Flits of a packet.
        routing, crossing: Cycles of routing and of the crossbar.
        guesses: Heads ask for the switch while they ask for a channel.
        holds: A packet that has the switch keeps it.
        tail_credit: A channel is free when it is empty again, not when the tail is sent.
        input_ports, output_ports: Ports of the switch for each port of the router.
        channel_kind, switch_kind: Of allocators.
        iterations: Of them.
    """

    channels: int
    depth: int
    size: int
    routing: int
    crossing: int
    guesses: bool
    holds: bool
    tail_credit: bool
    input_ports: int
    output_ports: int
    channel_kind: int
    switch_kind: int
    iterations: int


class State(NamedTuple):
    """Everything that changes.

    Attributes:
        channels: (R, P V, CHANNEL_WORDS) input channels.
        flits: (R, P V, D) what they hold.
        ways: (R, P V, M, 4) ways that heads may take.
        taken, credits: (R, P V) output channels; a channel that waits for the credit of a tail is
            taken with 2.
        busy: (R, P V) input channels that are not idle.
        pointers: (R, POINTER_ROWS, W).
        routers: (R, ROUTER_WORDS).
        crossing: (R, C, 3) outputs, channels and flits that wait for the crossbar.
        awake: (R + 1,) routers with something to do, their number last.
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
    ways: Ints
    taken: Ints
    credits: Ints
    busy: Ints
    pointers: Ints
    routers: Ints
    crossing: Ints
    awake: Ints
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
