"""Cycles of a whole network with its endpoints.

In each cycle endpoints and routers take what arrives, nodes make packets and send at most one flit,
and routers work. Flits that arrive at their node are consumed at once.
"""

from typing import NamedTuple

import numpy as np

from simcore.kernels.flits.network import (
    DIMENSION,
    FIRST,
    HELD,
    HOPS,
    IDLE,
    MADE,
    MEASURED,
    NEXT_FREE,
    READY,
    ROUTING,
    SENT,
    SOURCE,
    STATE,
    TARGET,
    Ints,
    Links,
    State,
    draw,
)
from simcore.kernels.flits.router import FLIT, NONE, PORT, ROUTER, VC, cycle_of_router
from simcore.kernels.flits.routing import Rule
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

UNIFORM, TABLE, LISTED = range(3)


class Traffic(NamedTuple):
    """Packets that nodes send.

    Attributes:
        kind: ``UNIFORM``: to any node; ``TABLE``: node i to ``targets[i]``; ``LISTED``: to any of
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
def run_until(links: Links, rule: Rule, state: State, traffic: Traffic, span: Ints) -> int:
    """Run the cycles from ``span[0]`` to before ``span[1]``.

    Args:
        links: Of the network.
        rule: Of its routes.
        state: Of everything; changed.
        traffic: What is sent.
        span: First cycle; the one after the last; first cycle, and the one after the last, in
            which packets are made that count; packets at whose arrival to stop, 0: never, -1: as
            soon as none that counts is left.

    Returns:
        The cycle after the last one that was run.
    """
    ports, each = state.taken.shape[1], state.taken.shape[2]
    scratch = np.full((4, ports * each), NONE, np.int64)
    now = span[0]
    while now < span[1]:
        _arrivals(links, state, traffic.size, now)
        for node in range(state.nodes.shape[0]):
            _make(state, traffic, node, (now, span[2], span[3]))
            _inject(links, state, traffic.size, node, now)
            state.nodes[node, OUT] -= state.nodes[node, RETIRED]
            state.nodes[node, RETIRED] = 0
        for router in range(state.load.shape[0]):
            if state.load[router] > 0:
                cycle_of_router(links, rule, state, scratch, router, (now, traffic.size))
        now += 1
        if span[4] > 0 and state.totals[ARRIVALS] >= span[4]:
            break
        if span[4] < 0 and state.totals[MEASURED_ON_WAY] == 0 and _all_made(state, span[3]):
            break
    return now


@njit(cache=True)
def _all_made(state: State, end: int) -> bool:
    """True if no node has yet to begin a packet that was made before *end*."""
    return bool(state.nodes[:, NEXT_MADE].min() >= end)


@njit(cache=True)
def _arrivals(links: Links, state: State, size: int, now: int) -> None:
    rows, depth = state.wheel.shape[0], state.flits.shape[3]
    at = now % rows
    for i in range(state.counts[0, at]):
        e = state.wheel[at, i]
        if e[ROUTER] < 0:
            node = -1 - e[ROUTER]
            back = (now + links.node_latency + 1) % rows
            credit = state.credit_wheel[back, state.counts[1, back]]
            credit[ROUTER], credit[PORT] = links.node_router[node], links.node_port[node]
            credit[VC] = e[VC]
            state.counts[1, back] += 1
            state.nodes[node, ARRIVED] += 1
            if e[FLIT] % size == size - 1:
                _retire(state, e[FLIT] // size, now)
            continue
        c = state.channels[e[ROUTER], e[PORT], e[VC]]
        state.flits[e[ROUTER], e[PORT], e[VC], (c[FIRST] + c[HELD]) % depth] = e[FLIT]
        c[HELD] += 1
        state.load[e[ROUTER]] += 1
        if c[STATE] == IDLE:
            c[STATE], c[READY] = ROUTING, now
    state.counts[0, at] = 0
    for i in range(state.counts[1, at]):
        e = state.credit_wheel[at, i]
        if e[ROUTER] < 0:
            state.node_credits[-1 - e[ROUTER], e[VC]] += 1
        else:
            state.credits[e[ROUTER], e[PORT], e[VC]] += 1
    state.counts[1, at] = 0


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
    p[DIMENSION], p[MEASURED] = NONE, int(begin <= made < end)
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
def _inject(links: Links, state: State, size: int, node: int, now: int) -> None:
    """Send a flit of a node's packet if there is a slot."""
    n = state.nodes[node]
    packet = n[PACKET]
    if packet == NONE:
        return
    credits, taken = state.node_credits[node], state.node_taken[node]
    each = len(credits)
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
        taken[vc] = 0
        n[PACKET] = NONE
