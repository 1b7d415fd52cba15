"""Flits that are in nobody's way at a router: they are sent on in the cycle in which they arrive.

A head that comes in cycle a asks for a channel in a + 1 and for the switch in a + 2, flits behind
it in the cycles after that. So what a flit that arrives now needs of the switch lies at most
``STAGES`` cycles ahead, and a head that arrives later needs it later still. Where no other packet
of a router takes the same input or output, all that a flit meets is known when it arrives: it takes
its channel and the switch for those cycles at once, and no cycle of the router is run for it. The
list of busy channels has, of a router that is not awake, those whose tail has yet to come; their
outputs are claimed, and their inputs have flows.

The arrivals of a cycle are looked at one after the other, and sent on only when all have been: two
heads of one cycle may be in each other's way. A router that has such heads, or one without a
channel or a slot, is woken, and works cycle by cycle until it is empty.
"""

from simcore.kernels.flits.allocation import past
from simcore.kernels.flits.crossing import leave, put_flit
from simcore.kernels.flits.network import (
    ACTIVE,
    AT_AWAKE,
    AT_BUSY,
    AT_FLIT,
    AT_FOUND,
    AT_INPUT,
    AT_LINK,
    AT_ROUTER,
    AWAKE,
    AWAKE_COUNT,
    BUSY,
    CARRIED,
    CHANNEL,
    CHANNEL_ACCEPTS,
    CHANNELS,
    CLAIMED,
    CREDITS,
    DEPTH,
    FIRST,
    FLIT_BITS,
    FLOWS,
    HELD,
    IDLE,
    INPUT_WORDS,
    LINK_WORDS,
    LISTED,
    NONE,
    OF_ROUTER,
    OUTPUT,
    POINTER_ROWS,
    PORT,
    PORTS,
    READY,
    ROUTER_WORDS,
    STATE,
    SWITCH_ACCEPTS,
    SWITCH_INPUTS,
    SWITCH_OFFERS,
    SWITCH_OUTPUTS,
    TO,
    TO_CHANNEL,
    TO_CYCLES,
    UNTIL_TAIL,
    VC,
    WAITING,
    WAY_HIGH,
    WAY_LOW,
    WAY_OUTPUT,
    Ints,
    input_row,
    output_row,
    pointer_row,
)
from simcore.kernels.flits.requests import nearest_channel, take_alone
from simcore.kernels.flits.routes.choose import route
from simcore.kernels.flits.routes.rule import keep_ways, write_way
from simcore.kernels.flits.switch import ends, turn
from simcore.kernels.jit import njit

STAGES = 2
"""Cycles from the arrival of a head to that in which it may have the switch."""

FLOWING = 0
_BITS = 20
_MASK = (1 << _BITS) - 1


@njit(cache=True, error_model="numpy")
def list_busy(m: Ints, router: int, i: int) -> None:
    """Put an input channel into its router's list of busy ones."""
    c, own = input_row(m, router, i), m[AT_ROUTER] + router * ROUTER_WORDS
    if not m[c + LISTED]:
        m[m[AT_BUSY] + router * m[PORTS] * m[CHANNELS] + m[own + BUSY]] = i
        m[own + BUSY] += 1
        m[c + LISTED] = 1


@njit(cache=True, error_model="numpy")
def wake_router(m: Ints, router: int, now: int) -> None:
    """Let a router work cycle by cycle; nothing passes any more."""
    own = m[AT_ROUTER] + router * ROUTER_WORDS
    if m[own + AWAKE]:
        return
    m[m[AT_AWAKE] + m[AWAKE_COUNT]] = router
    m[AWAKE_COUNT] += 1
    m[own + AWAKE] = 1
    first, links = router * m[PORTS] * m[CHANNELS], m[AT_LINK] + router * m[PORTS] * LINK_WORDS
    for j in range(m[own + BUSY]):
        c = input_row(m, router, m[m[AT_BUSY] + first + j])
        m[links + m[c + OUTPUT] * LINK_WORDS + CLAIMED] = now
        m[links + m[c + PORT] * LINK_WORDS + FLOWS] = 0


@njit(cache=True, error_model="numpy")
def keep(m: Ints, c: int, flit: int) -> None:
    """Put a flit into its input channel."""
    depth, slot = m[DEPTH], m[c + FIRST] + m[c + HELD]
    place = (c - m[AT_INPUT]) // INPUT_WORDS * depth
    m[m[AT_FLIT] + place + (slot if slot < depth else slot - depth)] = flit
    m[c + HELD] += 1


@njit(cache=True, error_model="numpy")
def look_at(m: Ints, router: int, i: int, flit: int, now: int) -> int:
    """Way of a flit that has come and is in nobody's way so far; ``NONE``: it is, or may be.

    The route of a head is worked out, and kept where it is in another's way, whose router is woken.
    """
    own, c = m[AT_ROUTER] + router * ROUTER_WORDS, input_row(m, router, i)
    if m[own + AWAKE]:
        return NONE
    if m[c + STATE] == ACTIVE:
        return FLOWING
    if m[c + READY] > now:  # right behind a tail that is yet to have the switch
        return NONE
    count, found = route(m, router, i, flit >> FLIT_BITS), m[AT_FOUND]
    output, links = m[found + WAY_OUTPUT], m[AT_LINK] + router * m[PORTS] * LINK_WORDS
    link = links + output * LINK_WORDS
    if count == 1 and m[link + CLAIMED] < now and m[links + m[c + PORT] * LINK_WORDS + FLOWS] == 0:
        m[link + CLAIMED] = now
        return int(((output << _BITS) + m[found + WAY_LOW] << _BITS) + m[found + WAY_HIGH])
    _wait(m, router, i, count, now)
    return NONE


@njit(cache=True, error_model="numpy")
def _wait(m: Ints, router: int, i: int, count: int, now: int) -> None:
    """Let a head wait that has come now and found its ways."""
    c = input_row(m, router, i)
    keep_ways(m, router, i, count)
    wake_router(m, router, now)
    m[c + STATE], m[c + READY], m[c + OUTPUT] = WAITING, now + 1, m[m[AT_FOUND] + WAY_OUTPUT]
    list_busy(m, router, i)


@njit(cache=True, error_model="numpy")
def pass_on(m: Ints, c: int, way: int, flit: int, now: int) -> None:
    """Send a flit that has come and is in nobody's way on, if it gets a channel and a slot."""
    router, i = m[c + OF_ROUTER], m[c + PORT] * m[CHANNELS] + m[c + VC]
    is_head, output, o = m[c + STATE] != ACTIVE, m[c + OUTPUT], m[c + CHANNEL]
    if is_head:
        output, o = way >> 2 * _BITS, NONE
    if not m[m[AT_ROUTER] + router * ROUTER_WORDS + AWAKE]:
        if is_head:
            first, low, high = output * m[CHANNELS], way >> _BITS & _MASK, way & _MASK
            turn_ = m[pointer_row(m, router, CHANNEL_ACCEPTS) + i * POINTER_ROWS]
            o = nearest_channel(m, router, (first + low, first + high), (turn_, now + 1))
        if o != NONE and m[output_row(m, router, o) + CREDITS] > 0:
            if is_head:
                take_alone(m, router, i, o, now + 1)
            _go(m, (c, router, i), (output, o, flit), max(now, m[c + READY]))
            return
        wake_router(m, router, now)
    if is_head:
        write_way(m, 0, (output, way >> _BITS & _MASK, way & _MASK, 0))
        _wait(m, router, i, 1, now)
    keep(m, c, flit)


@njit(cache=True, error_model="numpy")
def _go(m: Ints, what: tuple[int, int, int], to: tuple[int, int, int], now: int) -> None:
    """Send a flit that nobody competes with for the switch."""
    (c, router, i), (output, o, flit) = what, to
    e, out = ends(m, c, output)
    m[pointer_row(m, router, SWITCH_OFFERS) + out * POINTER_ROWS] = past(e, m[SWITCH_INPUTS])
    m[pointer_row(m, router, SWITCH_ACCEPTS) + e * POINTER_ROWS] = past(out, m[SWITCH_OUTPUTS])
    turn(m, router, e, m[c + VC])
    links = m[AT_LINK] + router * m[PORTS] * LINK_WORDS
    link, back = links + output * LINK_WORDS, links + m[c + PORT] * LINK_WORDS
    m[link + CARRIED] += 1
    where = m[link + TO_CHANNEL] + o - output * m[CHANNELS]
    put_flit(m, now + m[link + TO_CYCLES] + 2, m[link + TO], where, flit)
    if leave(m, (c, output_row(m, router, o), back), flit, now):
        m[c + STATE] = IDLE
        if m[c + LISTED]:
            m[link + CLAIMED] = now
            m[back + FLOWS] -= 1
            _end(m, router, i)
    elif not m[c + LISTED]:
        m[link + CLAIMED] = UNTIL_TAIL
        m[back + FLOWS] += 1
        list_busy(m, router, i)


@njit(cache=True, error_model="numpy")
def _end(m: Ints, router: int, i: int) -> None:
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
