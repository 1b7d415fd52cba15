"""One cycle of one router: routes, channels, switch, crossbar.

A stage works on a batch: what comes while a batch is in work waits for it, so that a stage of d
cycles costs d to 2 d - 1.
"""

from simcore.kernels.flits.crossing import dispatch, is_open
from simcore.kernels.flits.matching import LARGEST
from simcore.kernels.flits.network import (
    ACTIVE,
    AT_BUSY,
    AT_FLIT,
    AT_ROUTER,
    AT_SENDER,
    AT_WAITER,
    BUSY,
    CHANNEL,
    CHANNEL_CYCLES,
    CHANNELS,
    CHANNELS_DUE,
    CREDITS,
    CROSSING,
    CROSSING_CYCLES,
    DEPTH,
    DUE,
    FIRST,
    FLIT_BITS,
    GUESSES,
    HELD,
    HOLDS,
    IDLE,
    INPUT_WORDS,
    LISTED,
    NONE,
    OUTPUT,
    PORTS,
    READY,
    ROUTE_DUE,
    ROUTER_WORDS,
    ROUTING,
    ROUTING_CYCLES,
    SLOW_LINKS,
    STATE,
    SWITCH_CYCLES,
    SWITCH_KIND,
    WAITING,
    Ints,
    input_row,
    output_row,
)
from simcore.kernels.flits.requests import give_channels, guess
from simcore.kernels.flits.routes.choose import route
from simcore.kernels.flits.routes.rule import keep_ways
from simcore.kernels.flits.switch import let_through
from simcore.kernels.jit import njit


@njit(cache=True, error_model="numpy")
def cycle_of_router(m: Ints, router: int, now: int) -> bool:
    """Let a router work for one cycle; true if it has more to do."""
    own = m[AT_ROUTER] + router * ROUTER_WORDS
    if m[CROSSING_CYCLES] > 1:
        dispatch(m, router, now)
    waiters, senders = _look(m, router, own, now)
    guesses = 0
    if waiters and m[CHANNEL_CYCLES] > 1:
        if m[own + CHANNELS_DUE] < now:
            m[own + CHANNELS_DUE] = now + m[CHANNEL_CYCLES] - 1
            give_channels(m, router, waiters, now)
    elif waiters:
        if m[GUESSES]:
            guesses = guess(m, router, waiters, now)
        give_channels(m, router, waiters, now)
    if senders or guesses or m[HOLDS] or m[SWITCH_CYCLES] > 1 or m[SWITCH_KIND] == LARGEST:
        let_through(m, router, (senders, guesses, now))
    return _has_more(m, router, own)


@njit(cache=True, error_model="numpy")
def _has_more(m: Ints, router: int, own: int) -> bool:
    """True if a router has more to do; an only channel without a flit leaves its list."""
    if m[own + BUSY] == 1:
        c = input_row(m, router, m[m[AT_BUSY] + router * m[PORTS] * m[CHANNELS]])
        if m[c + STATE] == IDLE:
            m[c + LISTED], m[own + BUSY] = 0, 0
    return bool(m[own + BUSY] > 0 or m[own + CROSSING] > 0)


@njit(cache=True, error_model="numpy")
def _look(m: Ints, router: int, own: int, now: int) -> tuple[int, int]:
    """Work out routes; write the heads that wait for a channel, and what may leave; how many."""
    waiters, senders, began = 0, 0, False
    first = router * m[PORTS] * m[CHANNELS]
    busy, rows, j = m[AT_BUSY] + first, input_row(m, router, 0), 0
    is_free = m[own + ROUTE_DUE] < now
    while j < m[own + BUSY]:
        i = m[busy + j]
        c = rows + i * INPUT_WORDS
        state = m[c + STATE]
        if state == IDLE:
            m[own + BUSY] -= 1
            m[busy + j] = m[busy + m[own + BUSY]]
            m[c + LISTED] = 0
            continue
        j += 1
        if m[c + READY] > now:
            continue
        if state == ACTIVE:
            has_slot = m[c + HELD] > 0 and m[output_row(m, router, m[c + CHANNEL]) + CREDITS] > 0
            if has_slot and (not m[SLOW_LINKS] or is_open(m, router, m[c + OUTPUT], now)):
                m[m[AT_SENDER] + senders] = i
                senders += 1
            continue
        if state == ROUTING:
            if m[c + DUE] == NONE and is_free:
                m[c + DUE], began = now + max(m[ROUTING_CYCLES] - 1, 0), True
            if m[c + DUE] != now:
                continue
            flit = m[m[AT_FLIT] + (first + i) * m[DEPTH] + m[c + FIRST]]
            keep_ways(m, router, i, route(m, router, i, flit >> FLIT_BITS))
            m[c + STATE], m[c + DUE] = WAITING, NONE
            m[c + READY] = now + min(m[ROUTING_CYCLES], 1)
            if m[ROUTING_CYCLES] > 0:
                continue
        m[m[AT_WAITER] + waiters] = i
        waiters += 1
    if began and m[ROUTING_CYCLES] > 0:
        m[own + ROUTE_DUE] = now + m[ROUTING_CYCLES] - 1
    return waiters, senders
