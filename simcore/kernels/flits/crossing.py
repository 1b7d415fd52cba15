"""Flits that leave a router: from their channel, through the crossbar, onto a link."""

from simcore.kernels.flits.network import (
    ACTIVE,
    CHANNEL,
    CROSSING,
    CROSSING_DUE,
    FIRST,
    FREE_FROM,
    HELD,
    HOPS,
    IDLE,
    OUTPUT,
    READY,
    ROUTING,
    STATE,
    How,
    Links,
    State,
)
from simcore.kernels.jit import njit

ROUTER, PORT, VC, FLIT = range(4)
"""Columns of what arrives at the end of a link."""


@njit(cache=True)
def may_ask(state: State, router: int, channel: int, now: int) -> bool:
    """True if a channel has a flit to send and a slot behind its output."""
    c = state.channels[router, channel]
    if c[STATE] != ACTIVE or c[READY] > now or c[HELD] == 0:
        return False
    return bool(state.credits[router, c[CHANNEL]] > 0)


@njit(cache=True)
def send(links: Links, how: How, state: State, router: int, channel: int, now: int) -> bool:
    """Send the first flit of an input channel, whose slot is free again; true if it is a tail."""
    c, size = state.channels[router, channel], how.size
    o, flit = c[CHANNEL], state.flits[router, channel, c[FIRST]]
    c[FIRST] = c[FIRST] + 1 if c[FIRST] + 1 < how.depth else 0
    c[HELD] -= 1
    c[READY] = now + 1
    state.credits[router, o] -= 1
    port = channel // how.channels
    rows = state.wheel.shape[0]
    at = (now + links.from_latency[router, port] + 1) % rows
    e = state.credit_wheel[at, state.counts[1, at]]
    e[ROUTER], e[PORT] = links.from_router[router, port], links.from_port[router, port]
    e[VC] = channel % how.channels
    state.counts[1, at] += 1
    what = c[OUTPUT], o % how.channels, flit
    if how.crossing == 1:
        put_in_turn(links, state, router, what, now + 1)
    else:
        own = state.routers[router]
        w = state.crossing[router, own[CROSSING]]
        w[0], w[1], w[2] = what
        own[CROSSING] += 1
    number = flit % size
    if number == 0:
        state.packets[flit // size, HOPS] += 1
    if number < size - 1:
        return False
    state.taken[router, o] = 2 if how.tail_credit else 0
    c[STATE] = ROUTING if c[HELD] else IDLE
    return True


@njit(cache=True)
def dispatch(links: Links, how: How, state: State, router: int, now: int) -> None:
    """Let the flits that wait for the crossbar into it, unless others are in it."""
    own = state.routers[router]
    if own[CROSSING] == 0 or own[CROSSING_DUE] >= now:
        return
    due = now + how.crossing - 1
    for j in range(own[CROSSING]):
        w = state.crossing[router, j]
        put_in_turn(links, state, router, (w[0], w[1], w[2]), due)
    own[CROSSING], own[CROSSING_DUE] = 0, due


@njit(cache=True)
def put_in_turn(
    links: Links, state: State, router: int, what: tuple[int, int, int], when: int
) -> None:
    """Put a flit onto the link of an output, behind those that are before it."""
    free = state.pointers[router, FREE_FROM]
    at = max(when, free[what[0]])
    free[what[0]] = at + 1
    _put(links, state, router, what, at)


@njit(cache=True)
def _put(links: Links, state: State, router: int, what: tuple[int, int, int], when: int) -> None:
    output, vc, flit = what
    at = (when + links.latency[router, output] + 1) % state.wheel.shape[0]
    e = state.wheel[at, state.counts[0, at]]
    e[ROUTER], e[PORT] = links.router[router, output], links.port[router, output]
    e[VC], e[FLIT] = vc, flit
    state.counts[0, at] += 1
