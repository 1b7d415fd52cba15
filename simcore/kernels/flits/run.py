"""Cycles of a whole network with its endpoints.

In each cycle endpoints and routers take what arrives, nodes make packets and send at most one flit,
and routers work. Flits that arrive at their node are consumed at once.
"""

from typing import NamedTuple

import numpy as np

from simcore.kernels.flits.allocation import Scratch
from simcore.kernels.flits.crossing import FLIT, PORT, ROUTER, VC
from simcore.kernels.flits.network import (
    AWAKE,
    BUSY,
    DIMENSION,
    FIRST,
    HELD,
    HOPS,
    IDLE,
    LISTED,
    MADE,
    MEASURED,
    MIDDLE,
    NEXT_FREE,
    NONE,
    READY,
    ROUTING,
    SENT,
    SOURCE,
    STATE,
    TARGET,
    How,
    Ints,
    Links,
    State,
    draw,
)
from simcore.kernels.flits.router import cycle_of_router
from simcore.kernels.flits.rule import Rule
from simcore.kernels.jit import njit

LEFT, OUT, NEXT_MADE, PACKET, DONE, LAST_VC, ON_VC, ARRIVED, RETIRED = range(9)
"""Columns of a node: packets that it has yet to make (a batch), packets on their way, cycle at
which the next one is made, packet that is being sent and flits of it that are, channel taken last,
that of the packet, flits that came here, packets of its own that arrived in this cycle."""
NODE_WORDS = 9

PACKETS, LATENCY, NETWORK_LATENCY, PASSED, MEASURED_ON_WAY, ARRIVALS, FREE, LAST_CYCLE = range(8)
"""Sums over packets that count: how many arrived, cycles since they were made and since they were
sent, routers passed; how many are on their way; all packets that arrived, the first free row of
packets, the cycle of the last arrival."""
TOTAL_WORDS = 8

UNIFORM, TABLE, SPOTS = range(3)


class Traffic(NamedTuple):
    """Packets that nodes send.

    Attributes:
        kind: ``UNIFORM``: to any node; ``TABLE``: node i to ``targets[i]``; ``SPOTS``: to any of
            *targets*.
        targets: Nodes.
        size: Flits of a packet.
        is_batch: Nodes send what they have left as fast as they can, not at random.
        chance: Of a packet per cycle and node, where they send at random.
        most_out: Packets of a node that may be on their way; 0: any number.
    """

    kind: int
    targets: Ints
    size: int
    is_batch: bool
    chance: float
    most_out: int


@njit(cache=True)
def run_until(
    links: Links, rule: Rule, how: How, state: State, scratch: Scratch, traffic: Traffic, span: Ints
) -> int:
    """Run the cycles from ``span[0]`` to before ``span[1]``.

    Args:
        links: Of the network.
        rule: Of its routes.
        how: Its routers work.
        state: Of everything; changed.
        scratch: Room for a router's work.
        traffic: What is sent.
        span: First cycle; the one after the last; first cycle, and the one after the last, in
            which packets are made that count; packets at whose arrival to stop, 0: never, -1: as
            soon as none that counts is left.

    Returns:
        The cycle after the last one that was run.
    """
    now = span[0]
    while now < span[1]:
        _arrivals(links, how, state, now)
        for node in range(state.nodes.shape[0]):
            _make(state, traffic, node, (now, span[2], span[3]))
            _inject(links, how, state, node, now)
            state.nodes[node, OUT] -= state.nodes[node, RETIRED]
            state.nodes[node, RETIRED] = 0
        _routers(links, rule, how, state, scratch, now)
        now += 1
        if span[4] > 0 and state.totals[ARRIVALS] >= span[4]:
            break
        if span[4] < 0 and state.totals[MEASURED_ON_WAY] == 0 and _all_made(state, span[3]):
            break
    return now


@njit(cache=True)
def _routers(links: Links, rule: Rule, how: How, state: State, scratch: Scratch, now: int) -> None:
    """Let the routers work that have something to do."""
    awake = state.awake
    last, j = len(awake) - 1, 0
    while j < awake[last]:
        router = awake[j]
        if cycle_of_router(links, rule, how, state, scratch, router, now):
            j += 1
            continue
        state.routers[router, AWAKE] = 0
        awake[last] -= 1
        awake[j] = awake[awake[last]]


@njit(cache=True)
def _all_made(state: State, end: int) -> bool:
    """True if no node has yet to begin a packet that was made before *end*."""
    return bool(state.nodes[:, NEXT_MADE].min() >= end)


@njit(cache=True)
def _arrivals(links: Links, how: How, state: State, now: int) -> None:
    at, size = now % state.wheel.shape[0], how.size
    for i in range(state.counts[0, at]):
        e = state.wheel[at, i]
        if e[ROUTER] >= 0:
            _latch(how, state, (e[ROUTER], e[PORT] * how.channels + e[VC], e[FLIT]), now)
            continue
        node = -1 - e[ROUTER]
        back = (now + links.node_latency + 1) % state.wheel.shape[0]
        credit = state.credit_wheel[back, state.counts[1, back]]
        credit[ROUTER], credit[PORT] = links.exit_router[node], links.exit_port[node]
        credit[VC] = e[VC]
        state.counts[1, back] += 1
        state.nodes[node, ARRIVED] += 1
        if e[FLIT] % size == size - 1:
            _retire(state, e[FLIT] // size, now)
    state.counts[0, at] = 0
    for i in range(state.counts[1, at]):
        e = state.credit_wheel[at, i]
        if e[ROUTER] < 0:
            _credit(
                how, state.node_credits[-1 - e[ROUTER]], state.node_taken[-1 - e[ROUTER]], e[VC]
            )
        else:
            o = e[PORT] * how.channels + e[VC]
            _credit(how, state.credits[e[ROUTER]], state.taken[e[ROUTER]], o)
    state.counts[1, at] = 0


@njit(cache=True)
def _latch(how: How, state: State, what: tuple[int, int, int], now: int) -> None:
    """Put a flit that arrived into its channel, and wake channel and router."""
    router, i, flit = what
    c = state.channels[router, i]
    slot = c[FIRST] + c[HELD]
    state.flits[router, i, slot if slot < how.depth else slot - how.depth] = flit
    c[HELD] += 1
    if c[STATE] != IDLE:
        return
    c[STATE], c[READY] = ROUTING, now
    own = state.routers[router]
    if not c[LISTED]:
        state.busy[router, own[BUSY]] = i
        own[BUSY] += 1
        c[LISTED] = 1
    if not own[AWAKE]:
        state.awake[state.awake[-1]] = router
        state.awake[-1] += 1
        own[AWAKE] = 1


@njit(cache=True)
def _credit(how: How, credits: Ints, taken: Ints, channel: int) -> None:
    """Add a credit; a channel that waited for its tail's is free when it is empty."""
    credits[channel] += 1
    if taken[channel] == 2 and credits[channel] == how.depth:
        taken[channel] = 0


@njit(cache=True)
def _retire(state: State, packet: int, now: int) -> None:
    p, totals = state.packets[packet], state.totals
    totals[ARRIVALS] += 1
    totals[LAST_CYCLE] = now
    state.nodes[p[SOURCE], RETIRED] += 1
    if p[MEASURED]:
        totals[MEASURED_ON_WAY] -= 1
        totals[PACKETS] += 1
        totals[LATENCY] += now - p[MADE]
        totals[NETWORK_LATENCY] += now - p[SENT]
        totals[PASSED] += p[HOPS]
    p[NEXT_FREE] = totals[FREE]
    totals[FREE] = packet


@njit(cache=True)
def _make(state: State, traffic: Traffic, node: int, when: tuple[int, int, int]) -> None:
    """Begin the next packet of a node that sends none."""
    now, begin, end = when
    n = state.nodes[node]
    if n[PACKET] != NONE:
        return
    if traffic.is_batch:
        if n[LEFT] == 0 or (traffic.most_out > 0 and n[OUT] >= traffic.most_out):
            return
        n[LEFT] -= 1
        made = now
    else:
        if n[NEXT_MADE] > now:
            return
        made = n[NEXT_MADE]
        n[NEXT_MADE] = made + pause(state, traffic.chance)
    packet = state.totals[FREE]
    p = state.packets[packet]
    state.totals[FREE] = p[NEXT_FREE]
    target = node
    if traffic.kind == UNIFORM:
        target = int(draw(state.random) * state.nodes.shape[0])
    elif traffic.kind == TABLE:
        target = traffic.targets[node]
    else:
        target = traffic.targets[int(draw(state.random) * len(traffic.targets))]
    p[SOURCE], p[TARGET], p[MADE], p[HOPS] = node, target, made, 0
    p[DIMENSION], p[MIDDLE], p[MEASURED] = NONE, NONE, int(begin <= made < end)
    state.totals[MEASURED_ON_WAY] += p[MEASURED]
    n[OUT] += 1
    n[PACKET], n[DONE], n[ON_VC] = packet, 0, NONE


@njit(cache=True)
def pause(state: State, chance: float) -> int:
    """Cycles from one packet of a node to the next one."""
    if chance >= 1.0:
        return 1
    return 1 + int(np.log(1.0 - draw(state.random)) / np.log(1.0 - chance))


@njit(cache=True)
def _inject(links: Links, how: How, state: State, node: int, now: int) -> None:
    """Send a flit of a node's packet if there is a slot."""
    n = state.nodes[node]
    packet = n[PACKET]
    if packet == NONE:
        return
    credits, taken = state.node_credits[node], state.node_taken[node]
    each, size = how.channels, how.size
    if n[ON_VC] == NONE:
        for i in range(each):
            vc = (n[LAST_VC] + 1 + i) % each
            if not taken[vc] and credits[vc] > 0:
                n[ON_VC] = n[LAST_VC] = vc
                taken[vc] = 1
                state.packets[packet, SENT] = now
                break
    vc = n[ON_VC]
    if vc == NONE or credits[vc] == 0:
        return
    credits[vc] -= 1
    at = (now + 2) % state.wheel.shape[0]
    e = state.wheel[at, state.counts[0, at]]
    e[ROUTER], e[PORT], e[VC] = links.node_router[node], links.node_port[node], vc
    e[FLIT] = packet * size + n[DONE]
    state.counts[0, at] += 1
    n[DONE] += 1
    if n[DONE] == size:
        taken[vc] = 2 if how.tail_credit else 0
        n[PACKET] = NONE
