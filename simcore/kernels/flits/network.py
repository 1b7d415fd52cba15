"""Routers, links and endpoints as one array of words, and what is on its way.

A link of latency L hands a flit that is sent in cycle t to its end in cycle t + L + 1. Each link
carries one flit per cycle, so that a *wheel* of cycles has a row per link and cycle. Channel v of
port p has number ``p V + v`` in tables of all channels of a router. A flit is the number of its
packet, shifted by ``FLIT_BITS``, its own number in it, and ``TAIL`` if it is the last one.

Everything lies in one array *m* of 64-bit words, as a call with a table of arrays takes longer than
the work of a router: its first words are sizes, sums and where each table begins.

A link may be slower than a flit per cycle: it is then busy for a while after each flit, in parts of
``CYCLE`` of a cycle, and a flit has come when its last part has.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit

Ints = NDArray[np.int64]

IDLE, ROUTING, WAITING, ACTIVE = range(4)
"""States of an input channel: nothing to do, needs a route, needs a channel, sends."""

(
    ROUTERS, PORTS, CHANNELS, DEPTH, NODES, SIZE, ROUTING_CYCLES, CROSSING_CYCLES, GUESSES, HOLDS,
    TAIL_CREDIT, INPUT_PORTS, OUTPUT_PORTS, CHANNEL_KIND, SWITCH_KIND, ITERATIONS,
) = range(16)  # fmt: skip
"""Words of *m* for a network and its routers: sizes, and the fields of ``How``."""

KIND, SIDE, DIMENSIONS, FIRST_PORT, LOW_CHANNEL, NODE_CREDIT, LAST_ROW = range(16, 23)
"""Words for routes, as in ``Rule``, cycles of a credit from a node, and a mask for the wheel."""

TRAFFIC, SPOTS_COUNT, IS_BATCH, MOST_OUT, RANDOM = range(23, 28)
"""Words for what is sent, and the state of what is drawn."""

(
    PACKETS, LATENCY, NETWORK_LATENCY, PASSED, MEASURED_ON_WAY, ARRIVALS, FREE, LAST_CYCLE,
    IN_FLIGHT, AWAKE_COUNT, SENDING, WAITING_NODES,
) = range(28, 40)  # fmt: skip
"""Sums over packets that count: how many arrived, cycles since they were made and since they were
sent, routers passed; how many are on their way; all packets that arrived, the first free row of
packets, the cycle of the last arrival; flits and credits on links; routers with something to do,
nodes that send, and nodes that will."""

(
    AT_LINK, AT_DOOR, AT_TABLE, AT_PLACE, AT_TARGET, AT_INPUT, AT_FLIT, AT_WAY, AT_OUTPUT, AT_BUSY,
    AT_SWITCH_IN, AT_ROUTER, AT_CROSSING, AT_AWAKE, AT_PACKET, AT_NODE, AT_NODE_OUTPUT, AT_SENDING,
    AT_DUE, AT_WHEEL, AT_BACK, AT_COUNT, AT_ASK, AT_GUESS, AT_SPOILT, AT_GRANTED, AT_CHOSEN,
    AT_WIN, AT_BEST, AT_USED, AT_WAITER, AT_SENDER,
) = range(40, 72)  # fmt: skip
"""Words that tell where tables begin; their shapes are in ``flits.memory``."""

WIDTH, WHEEL_WIDTH, BACK_WIDTH, CROSSING_ROWS, SWITCH_INPUTS, SWITCH_OUTPUTS, MAY_PASS = range(
    72, 79
)
"""Sizes: of an allocator's scratch, of rows of the two wheels, of a crossbar's queue, of the
switch; whether a router sends flits that are in nobody's way on in the cycle of their arrival."""

CHANNEL_CYCLES, SWITCH_CYCLES, GOES_ON, GOES_OFF, SENDS_ON = range(79, 84)
"""Words for the cycles of the two allocations, and for nodes that send in bursts the chances to
begin one, to end it and to make a packet within it, as parts of ``CHANCES``; 0: no bursts."""
CHANCES = 1 << 53

ONE_STAGE, TURNS_SIZE, SLOW_LINKS, LIVE, FREE_ROWS, FREE_MESSAGE, ENDED, AT_MESSAGE = range(84, 92)
AT_FOUND, AT_SOON, SOON_WORDS, SOON_NODES = range(92, 96)
"""Words for routers that route, allot and send within a cycle, and the places of an input's turn;
whether any link is slower than a flit per cycle; whether nodes send messages that are told one by
one, free rows of packets then, first free row of messages, first message that has ended, and where
the tables of messages, of the ways that a head has just found and of nodes that wait begin; words
of a row of these, and nodes in them."""
ROUTES_RANDOM, AT_SWITCH_OUT = range(96, 98)
"""Words for the state of what routes draw, as a seed gives the same traffic whatever the routes,
and for where the outputs of the switches begin."""
HEADER_WORDS = 104

TO, TO_CHANNEL, TO_CYCLES, FROM_CYCLES, SLOWNESS, BUSY_UNTIL, TURN, CARRIED, CLAIMED, FLOWS = range(
    10
)
"""Columns of a port: the router that its output leads to and the first channel there; a node as
-1 - node, ``NOWHERE``: no link; cycles of the link, and of the credits of its input; for how long a
flit keeps the output's link busy, and until when it is, in parts of a cycle; place of the input's
first channel in its turn; flits that the output has put onto its link; last cycle in which a head
that passes has asked for the output, and packets that pass whose tail the input has yet to get."""
LINK_WORDS = 10

CYCLE_BITS = 16
CYCLE = 1 << CYCLE_BITS
"""Parts of a cycle."""

NODE_ROUTER, NODE_PORT, EXIT_ROUTER, EXIT_PORT, DOOR_CYCLES, DOOR_SLOWNESS, ENTRY, DOOR_BUSY = (
    range(8)
)
"""Columns of a node's doors: where its flits enter and leave, cycles of the link by which they
enter, for how long a flit keeps it busy, where the words of the first channel begin by which they
enter, and until when the link is busy."""
DOOR_WORDS = 8

(
    STATE, READY, OUTPUT, CHANNEL, ACCEPTS, OWN, LINK, GATE, CREDITED, PORT, VC, LISTED, FIRST,
    HELD, WAYS, DUE,
) = range(16)  # fmt: skip
"""Columns of an input channel: state, cycle from which its next step may come, output port and
channel that it holds, its pointer in the allocation of channels; where the words begin of its
router, of its port's link, of its input of the switch and of the output channel that its credits
go back to; its port and number there, whether the list of busy channels has it, its ring of flits,
how many ways it may take, cycle in which its route is worked out (or ``NONE``)."""
INPUT_WORDS = 16

TAKEN, CREDITS, OFFERS, OF_PORT, ENDS_AT = range(5)
"""Columns of an output channel: first cycle in which it may be taken again, slots, its pointer in
the allocation of channels, its port, and where the words of the input channel begin that its flits
come to; for those to a node the negative of where its own words begin."""
UNTIL_TAIL = 1 << 60
UNTIL_CREDIT = UNTIL_TAIL + 1
"""Cycles of a channel that is free when the tail of its packet is sent, and when the credit of the
tail is back."""
OUTPUT_WORDS = 8

WAY_OUTPUT, WAY_LOW, WAY_HIGH, WAY_PRIORITY = range(4)
"""Columns of a way: output port, first and last channel of it, priority."""
WAY_WORDS = 4
MOST_WAYS = 2
"""Ways that a head may take at a router at most: an escape and another one."""

(
    BUSY, ROUTE_DUE, CROSSING, CROSSING_DUE, AWAKE, ASLEEP_UNTIL, CHANNELS_DUE, SWITCH_DUE,
    NEXT_IN_TURN, NUMBER, FIRST_LINK, FIRST_OUTPUT, FIRST_EXIT, COORDINATES,
) = range(14)  # fmt: skip
"""Columns of a router: busy channels, last cycle of the routes that are being worked out, flits
that wait for the crossbar, last cycle of those in it, whether the list of routers has it, cycle
until which one of one stage has nothing to do (0: none), last cycles of the allocation of channels
and of the switch that are in work; which of several outputs alike comes next; its number, and where
its links, output channels, outputs of the switch and coordinates begin."""
ROUTER_WORDS = 14

SWITCH_ACCEPTS, TURNS, HELD_CHANNEL, HELD_OUTPUT, WON_CHANNEL = range(5)
"""Columns of an input of a switch: its pointer, next channel of it, channel and output that it is
held to, channel that has won it and sends when the allocation is done. Inputs of all kinds have
``INPUT_WORDS``, outputs ``OUTPUT_WORDS``, so that allocators match either."""

SWITCH_OFFERS, FREE_FROM = range(2)
"""Columns of an output of a switch: its pointer, and first cycle in which it is free."""

(
    SOURCE, TARGET, MADE, SENT, HOPS, DIMENSION, WAY, PART, MIDDLE, MEASURED, NEXT_FREE, FLITS,
    MESSAGE, GOAL, EXIT,
) = range(15)  # fmt: skip
"""Columns of a packet: nodes, cycles at which it was made and its head left, routers passed, the
dimension that it is in, with direction and half of the channels, the router that it goes to first
(or ``NONE``), whether it counts, the free row after it, its flits, the message it is of, where the
coordinates begin of the router at which it leaves, and the port there."""
PACKET_WORDS = 15

TO_NODE, TO_MAKE, LAST_FLITS, ON_WAY, FOLLOWS, ENDED_AT = range(6)
"""Columns of a message: node that it goes to, packets that are yet to be made, flits of the last
one, packets that have yet to arrive, the message behind it in its node's queue (or of those that
have ended, or free), and the cycle in which it ended."""
MESSAGE_WORDS = 6

(
    LEFT, OUT, NEXT_MADE, PACKET, DONE, LAST_VC, ON_VC, ARRIVED, RETIRED, RETIRED_IN, IS_ON,
    QUEUE, QUEUE_END,
) = range(13)  # fmt: skip
"""Columns of a node: packets that it has yet to make (a batch), packets on their way, cycle at
which the next one is made, packet that is being sent and flits of it that are, channel taken last,
that of the packet, flits that came here, packets of its own that arrived in the last cycle in which
any did, and that cycle; whether it is in a burst; first and last message of its queue."""
NODE_WORDS = 13

AT, WHAT = range(2)
"""Columns of a flit that arrives: where the words of its input channel begin (or as ``ENDS_AT`` of
an output channel says), flit. A credit is the place where the words of its output channel begin."""
EVENT_WORDS = 2

FLIT_BITS = 17
TAIL = 1 << 16
IN_PACKET = TAIL - 1
"""Mask of a flit's number in its packet."""

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
        node_cycles, node_slowness: (N,) cycles of the link by which a node's flits enter, and for
            how long each keeps it busy, in parts of a cycle.
        slowness: (R, P) for how long a flit keeps the link of an output busy.
        turn: (R, P) place of an input's first channel in its turn, where routers have one stage.
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
    node_cycles: Ints
    node_slowness: Ints
    slowness: Ints
    turn: Ints


class How(NamedTuple):
    """A router's way to work.

    Attributes:
        channels, depth: Virtual channels of a port, and flits that each holds.
        size: Flits of a packet.
        routing, crossing: Cycles of routing and of the crossbar.
        channel_cycles, switch_cycles: Of the allocation of channels and of the switch.
        guesses: Heads ask for the switch while they ask for a channel.
        holds: A packet that has the switch keeps it.
        tail_credit: A channel is free when it is empty again, not when the tail is sent.
        input_ports, output_ports: Ports of the switch for each port of the router.
        channel_kind, switch_kind: Of allocators.
        iterations: Of them.
        turns: Places of an input's turn, where a router does everything in one cycle; 0: it has
            stages.
    """

    channels: int
    depth: int
    size: int
    routing: int
    crossing: int
    channel_cycles: int
    switch_cycles: int
    guesses: bool
    holds: bool
    tail_credit: bool
    input_ports: int
    output_ports: int
    channel_kind: int
    switch_kind: int
    iterations: int
    turns: int = 0


@njit(cache=True, error_model="numpy")
def draw(m: Ints) -> float:
    """Number in [0, 1) for traffic and allocators."""
    return float(_next_number(m, RANDOM))


@njit(cache=True, error_model="numpy")
def draw_way(m: Ints) -> float:
    """Number in [0, 1) for routes."""
    return float(_next_number(m, ROUTES_RANDOM))


@njit(cache=True, error_model="numpy")
def _next_number(m: Ints, state: int) -> float:
    """Number in [0, 1), by xorshift64*, from the word of a state.

    Source: S. Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled",
    ACM TOMS 42(4), 2016.
    """
    x = np.uint64(m[state])
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    m[state] = np.int64(x)
    return float((x * np.uint64(2685821657736338717)) >> np.uint64(11)) / float(1 << 53)


@njit(cache=True, error_model="numpy")
def input_row(m: Ints, router: int, channel: int) -> int:
    """Place where the words of an input channel begin."""
    return int(m[AT_INPUT] + (router * m[PORTS] * m[CHANNELS] + channel) * INPUT_WORDS)


@njit(cache=True, error_model="numpy")
def output_row(m: Ints, router: int, channel: int) -> int:
    """Place where the words of an output channel begin."""
    return int(m[AT_OUTPUT] + (router * m[PORTS] * m[CHANNELS] + channel) * OUTPUT_WORDS)


@njit(cache=True, error_model="numpy")
def packet_row(m: Ints, packet: int) -> int:
    """Place where the words of a packet begin."""
    return int(m[AT_PACKET] + packet * PACKET_WORDS)


@njit(cache=True, error_model="numpy")
def switch_input(m: Ints, router: int, e: int) -> int:
    """Place where the words of an input of a router's switch begin."""
    return int(m[AT_SWITCH_IN] + (router * m[SWITCH_INPUTS] + e) * INPUT_WORDS)


@njit(cache=True, error_model="numpy")
def switch_output(m: Ints, router: int, o: int) -> int:
    """Place where the words of an output of a router's switch begin."""
    return int(m[AT_SWITCH_OUT] + (router * m[SWITCH_OUTPUTS] + o) * OUTPUT_WORDS)
