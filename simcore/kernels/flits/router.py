"""One cycle of one router: routes, channels, switch.

Stages take a cycle each. Allocation is iSLIP with one iteration: each output grants the first
request at or after its pointer, each input accepts the first grant at or after its own, and both
pointers move to one past the match.

Source: N. McKeown, "The iSLIP scheduling algorithm for input-queued switches", IEEE/ACM
Transactions on Networking 7(2), 1999.
"""

from simcore.kernels.flits.network import (
    ACTIVE,
    CHANNEL,
    FIRST,
    HELD,
    HIGH,
    HOPS,
    IDLE,
    LOW,
    OUTPUT,
    READY,
    ROUTING,
    STATE,
    WAITING,
    Ints,
    Links,
    State,
)
from simcore.kernels.flits.routing import Rule, route
from simcore.kernels.jit import njit

NONE = -1
ROUTER, PORT, VC, FLIT = range(4)


@njit(cache=True)
def cycle_of_router(
    links: Links, rule: Rule, state: State, scratch: Ints, router: int, place: tuple[int, int]
) -> None:
    """Let a router work for one cycle.

    Args:
        links: Of the network.
        rule: Of its routes.
        state: Of everything.
        scratch: (4, P * V) of ``NONE``, and left so.
        router: Whose turn it is.
        place: The cycle, and flits of a packet.
    """
    now, _ = place
    waiting, active = _look(rule, state, router, place)
    if waiting:
        _channels(state, scratch, router, now)
    if active:
        _switch(links, state, scratch, router, place)


@njit(cache=True)
def _look(rule: Rule, state: State, router: int, place: tuple[int, int]) -> tuple[bool, bool]:
    """Work out routes; true where something waits for a channel, and where something may leave."""
    now, size = place
    waits, may_leave = False, False
    channels = state.channels[router]
    for port in range(channels.shape[0]):
        for vc in range(channels.shape[1]):
            c = channels[port, vc]
            if c[STATE] == IDLE or c[READY] > now:
                continue
            if c[STATE] == ROUTING:
                packet = state.flits[router, port, vc, c[FIRST]] // size
                c[OUTPUT], c[LOW], c[HIGH] = route(rule, state, router, packet)
                c[STATE], c[READY] = WAITING, now + 1
            elif c[STATE] == WAITING:
                waits = True
            elif c[HELD] > 0:
                may_leave = True
    return waits, may_leave


@njit(cache=True)
def _channels(state: State, scratch: Ints, router: int, now: int) -> None:
    """Give free channels of the next routers to heads."""
    channels, taken = state.channels[router], state.taken[router]
    ports, each = channels.shape[0], channels.shape[1]
    count = ports * each
    offers, accepts = state.offers[router], state.accepts[router]
    granted, asked, chosen = scratch[0], scratch[1], scratch[2]
    outputs = 0
    for i in range(count):
        c = channels[i // each, i % each]
        if c[STATE] != WAITING or c[READY] > now:
            continue
        for vc in range(c[LOW], c[HIGH] + 1):
            if taken[c[OUTPUT], vc]:
                continue
            o = c[OUTPUT] * each + vc
            if granted[o] == NONE:
                asked[outputs] = o
                outputs += 1
                granted[o] = i
            elif (i - offers[o]) % count < (granted[o] - offers[o]) % count:
                granted[o] = i
    for j in range(outputs):
        o = asked[j]
        i = granted[o]
        if chosen[i] == NONE or (o - accepts[i]) % count < (chosen[i] - accepts[i]) % count:
            chosen[i] = o
    for j in range(outputs):
        o = asked[j]
        i = granted[o]
        granted[o], asked[j] = NONE, NONE
        if chosen[i] == o:
            c = channels[i // each, i % each]
            c[CHANNEL], c[STATE], c[READY] = o % each, ACTIVE, now + 1
            taken[o // each, o % each] = 1
            offers[o], accepts[i] = (i + 1) % count, (o + 1) % count
    chosen[:count] = NONE


@njit(cache=True)
def _switch(links: Links, state: State, scratch: Ints, router: int, place: tuple[int, int]) -> None:
    """Let flits through: one of each input, one to each output."""
    channels, credits = state.channels[router], state.credits[router]
    ports, each = channels.shape[0], channels.shape[1]
    pointers = state.switch[router]
    offers, accepts, turns = pointers[0], pointers[1], pointers[2]
    granted, chosen, asking = scratch[0], scratch[1], scratch[2]
    for port in range(ports):
        for j in range(each):
            vc = (turns[port] + j) % each
            c = channels[port, vc]
            if c[STATE] != ACTIVE or c[READY] > place[0] or c[HELD] == 0:
                continue
            o = c[OUTPUT]
            if credits[o, c[CHANNEL]] == 0 or asking[o] == port:
                continue
            asking[o] = port
            if (
                granted[o] == NONE
                or (port - offers[o]) % ports < (granted[o] // each - offers[o]) % ports
            ):
                granted[o] = port * each + vc
    for o in range(ports):
        if granted[o] != NONE:
            i = granted[o] // each
            if chosen[i] == NONE or (o - accepts[i]) % ports < (chosen[i] - accepts[i]) % ports:
                chosen[i] = o
    for port in range(ports):
        o = chosen[port]
        if o != NONE:
            vc = granted[o] % each
            offers[o], accepts[port] = (port + 1) % ports, (o + 1) % ports
            turns[port] = (vc + 1) % each
            _send(links, state, router, (port, vc, o), place)
    scratch[:3, :ports] = NONE


@njit(cache=True)
def _send(
    links: Links, state: State, router: int, way: tuple[int, int, int], place: tuple[int, int]
) -> None:
    """Send the first flit of an input channel over an output; its slot is free again."""
    port, vc, o = way
    now, size = place
    c = state.channels[router, port, vc]
    depth = state.flits.shape[3]
    flit = state.flits[router, port, vc, c[FIRST]]
    c[FIRST], c[HELD] = (c[FIRST] + 1) % depth, c[HELD] - 1
    c[READY] = now + 1
    state.load[router] -= 1
    state.credits[router, o, c[CHANNEL]] -= 1
    rows = state.wheel.shape[0]
    at = (now + links.from_latency[router, port] + 1) % rows
    e = state.credit_wheel[at, state.counts[1, at]]
    e[ROUTER], e[PORT] = links.from_router[router, port], links.from_port[router, port]
    e[VC] = vc
    state.counts[1, at] += 1
    at = (now + 1 + links.latency[router, o] + 1) % rows
    e = state.wheel[at, state.counts[0, at]]
    e[ROUTER], e[PORT] = links.router[router, o], links.port[router, o]
    e[VC], e[FLIT] = c[CHANNEL], flit
    state.counts[0, at] += 1
    if flit % size == 0:
        state.packets[flit // size, HOPS] += 1
    if flit % size == size - 1:
        state.taken[router, o, c[CHANNEL]] = 0
        c[STATE] = ROUTING if c[HELD] else IDLE
