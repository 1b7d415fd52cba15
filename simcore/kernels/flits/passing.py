"""Flits that are in nobody's way at a router: they are sent on in the cycle in which they arrive.

A head that comes in cycle a asks for a channel in a + 1 and for the switch in a + 2, flits behind
it in the cycles after that. So what a flit that arrives now needs of the switch lies at most
``STAGES`` cycles ahead, and a head that arrives later needs it later still. Where no other packet
of a router takes the same input or output, all that a flit meets is known when it arrives: it takes
its channel and the switch for those cycles at once, and no cycle of the router is run for it. The
list of busy channels has, of a router that is not awake, those whose tail has yet to come.

The arrivals of a cycle are looked at one after the other, and sent on only when all have been: two
heads of one cycle may be in each other's way. A router that has such heads, or one without a
channel or a slot, is woken, and works cycle by cycle until it is empty.
"""

from simcore.kernels.flits.allocation import past
from simcore.kernels.flits.crossing import send
from simcore.kernels.flits.network import (
    ACTIVE,
    AT_AWAKE,
    AT_BUSY,
    AT_ROUTER,
    AT_WAY,
    AWAKE,
    AWAKE_COUNT,
    BUSY,
    CHANNEL,
    CHANNELS,
    CREDITS,
    IDLE,
    INPUT_WORDS,
    LISTED,
    MOST_WAYS,
    NONE,
    OUTPUT,
    PORT,
    PORTS,
    READY,
    ROUTER_WORDS,
    ROUTING,
    STATE,
    SWITCH_ACCEPTS,
    SWITCH_INPUTS,
    SWITCH_OFFERS,
    SWITCH_OUTPUTS,
    VC,
    WAITING,
    WAY_OUTPUT,
    WAY_WORDS,
    Ints,
    input_row,
    output_row,
    pointer_row,
)
from simcore.kernels.flits.requests import best_channel, take_alone
from simcore.kernels.flits.routes.choose import route
from simcore.kernels.flits.switch import ends, turn
from simcore.kernels.jit import njit

STAGES = 2
"""Cycles from the arrival of a head to that in which it may have the switch."""


@njit(cache=True, error_model="numpy")
def list_busy(m: Ints, router: int, i: int) -> None:
    """Put an input channel into its router's list of busy ones."""
    c, own = input_row(m, router, i), m[AT_ROUTER] + router * ROUTER_WORDS
    if not m[c + LISTED]:
        m[m[AT_BUSY] + router * m[PORTS] * m[CHANNELS] + m[own + BUSY]] = i
        m[own + BUSY] += 1
        m[c + LISTED] = 1


@njit(cache=True, error_model="numpy")
def wake_router(m: Ints, router: int) -> None:
    """Let a router work cycle by cycle."""
    own = m[AT_ROUTER] + router * ROUTER_WORDS
    if not m[own + AWAKE]:
        m[m[AT_AWAKE] + m[AWAKE_COUNT]] = router
        m[AWAKE_COUNT] += 1
        m[own + AWAKE] = 1


@njit(cache=True, error_model="numpy")
def look_at(m: Ints, router: int, i: int, packet: int, now: int) -> bool:
    """True if a flit that has come to a router that is not awake is in nobody's way so far.

    The route of a head is worked out. A router is woken where it is in the way of another packet.
    """
    c, first = input_row(m, router, i), router * m[PORTS] * m[CHANNELS]
    if m[c + STATE] == ACTIVE:
        return True
    is_free = m[c + READY] <= now
    if is_free:
        is_free = route(m, router, i, packet) == 1
        output, port = m[m[AT_WAY] + (first + i) * MOST_WAYS * WAY_WORDS + WAY_OUTPUT], m[c + PORT]
        m[c + STATE], m[c + READY], m[c + OUTPUT] = WAITING, now + 1, output
        busy, rows = m[AT_BUSY] + first, input_row(m, router, 0)
        for j in range(m[m[AT_ROUTER] + router * ROUTER_WORDS + BUSY]):
            other = rows + m[busy + j] * INPUT_WORDS
            if m[other + OUTPUT] == output or m[other + PORT] == port:
                is_free = False
    else:  # right behind a tail that is yet to have the switch
        m[c + STATE] = ROUTING
    list_busy(m, router, i)
    if not is_free:
        wake_router(m, router)
    return is_free


@njit(cache=True, error_model="numpy")
def pass_on(m: Ints, router: int, i: int, now: int) -> None:
    """Send a flit that has come and is in nobody's way on, if it gets a channel and a slot."""
    own, c = m[AT_ROUTER] + router * ROUTER_WORDS, input_row(m, router, i)
    if m[own + AWAKE]:
        return
    if m[c + STATE] == WAITING:
        o = best_channel(m, router, i, now + 1)
        if o == NONE or m[output_row(m, router, o) + CREDITS] == 0:
            wake_router(m, router)
            return
        take_alone(m, router, i, o, now + 1)
    elif m[output_row(m, router, m[c + CHANNEL]) + CREDITS] == 0:
        wake_router(m, router)
        return
    e, output = ends(m, c, m[c + OUTPUT])
    m[pointer_row(m, router, SWITCH_OFFERS) + output] = past(e, m[SWITCH_INPUTS])
    m[pointer_row(m, router, SWITCH_ACCEPTS) + e] = past(output, m[SWITCH_OUTPUTS])
    turn(m, router, e, m[c + VC])
    send(m, router, i, max(now, m[c + READY]))
    if m[c + STATE] == IDLE:
        _leave(m, router, i)


@njit(cache=True, error_model="numpy")
def _leave(m: Ints, router: int, i: int) -> None:
    """Take a channel out of its router's list of busy ones."""
    own, busy = m[AT_ROUTER] + router * ROUTER_WORDS, m[AT_BUSY] + router * m[PORTS] * m[CHANNELS]
    m[own + BUSY] -= 1
    last = m[busy + m[own + BUSY]]
    if last != i:
        j = busy
        while m[j] != i:
            j += 1
        m[j] = last
    m[input_row(m, router, i) + LISTED] = 0
