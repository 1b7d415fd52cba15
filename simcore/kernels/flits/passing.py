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
    ACCEPTS,
    ACTIVE,
    AT_AWAKE,
    AT_BUSY,
    AT_FLIT,
    AT_FOUND,
    AT_INPUT,
    AWAKE,
    AWAKE_COUNT,
    BUSY,
    CARRIED,
    CHANNEL,
    CHANNELS,
    CLAIMED,
    CREDITS,
    DEPTH,
    ENDS_AT,
    FIRST,
    FIRST_EXIT,
    FIRST_LINK,
    FIRST_OUTPUT,
    FLIT_BITS,
    FLOWS,
    GATE,
    HELD,
    IDLE,
    INPUT_WORDS,
    LINK,
    LINK_WORDS,
    LISTED,
    NONE,
    NUMBER,
    OUTPUT,
    OUTPUT_WORDS,
    OWN,
    PORT,
    PORTS,
    READY,
    STATE,
    SWITCH_ACCEPTS,
    SWITCH_INPUTS,
    SWITCH_OFFERS,
    SWITCH_OUTPUTS,
    TO_CYCLES,
    UNTIL_TAIL,
    VC,
    WAITING,
    WAY_HIGH,
    WAY_LOW,
    WAY_OUTPUT,
    Ints,
    input_row,
)
from simcore.kernels.flits.requests import nearest_channel, take_alone
from simcore.kernels.flits.routes.choose import route
from simcore.kernels.flits.routes.rule import keep_ways, write_way
from simcore.kernels.flits.switch import ends, turn
from simcore.kernels.jit import njit

STAGES = 2
"""Cycles from the arrival of a head to that in which it may have the switch."""

_BITS = 20
_MASK = (1 << _BITS) - 1


@njit(cache=True, error_model="numpy")
def list_busy(m: Ints, c: int) -> None:
    """Put an input channel into its router's list of busy ones."""
    own, each = m[c + OWN], m[CHANNELS]
    if not m[c + LISTED]:
        first = m[AT_BUSY] + m[own + NUMBER] * m[PORTS] * each
        m[first + m[own + BUSY]] = m[c + PORT] * each + m[c + VC]
        m[own + BUSY] += 1
        m[c + LISTED] = 1


@njit(cache=True, error_model="numpy")
def wake_router(m: Ints, own: int, now: int) -> None:
    """Let a router work cycle by cycle; nothing passes any more."""
    if m[own + AWAKE]:
        return
    router = m[own + NUMBER]
    m[m[AT_AWAKE] + m[AWAKE_COUNT]] = router
    m[AWAKE_COUNT] += 1
    m[own + AWAKE] = 1
    first = m[AT_BUSY] + router * m[PORTS] * m[CHANNELS]
    for j in range(m[own + BUSY]):
        c = input_row(m, router, m[first + j])
        m[m[own + FIRST_LINK] + m[c + OUTPUT] * LINK_WORDS + CLAIMED] = now
        m[m[c + LINK] + FLOWS] = 0


@njit(cache=True, error_model="numpy")
def keep(m: Ints, c: int, flit: int) -> None:
    """Put a flit into its input channel."""
    depth, slot = m[DEPTH], m[c + FIRST] + m[c + HELD]
    place = (c - m[AT_INPUT]) // INPUT_WORDS * depth
    m[m[AT_FLIT] + place + (slot if slot < depth else slot - depth)] = flit
    m[c + HELD] += 1


@njit(cache=True, error_model="numpy")
def look_at(m: Ints, c: int, flit: int, now: int) -> bool:
    """True if a flit that has come is in nobody's way so far.

    The way of a head is worked out; it lies in its channel's columns of output and channel until
    the head takes one, or is kept where it is in another's way, whose router is woken.
    """
    own = m[c + OWN]
    if m[own + AWAKE]:
        return False
    if m[c + STATE] == ACTIVE:
        return True
    if m[c + READY] > now:  # right behind a tail that is yet to have the switch
        return False
    channel = m[c + PORT] * m[CHANNELS] + m[c + VC]
    count, found = route(m, m[own + NUMBER], channel, flit >> FLIT_BITS), m[AT_FOUND]
    output = m[found + WAY_OUTPUT]
    link = m[own + FIRST_LINK] + output * LINK_WORDS
    if count == 1 and m[link + CLAIMED] < now and m[m[c + LINK] + FLOWS] == 0:
        m[link + CLAIMED] = now
        m[c + OUTPUT] = output
        m[c + CHANNEL] = (m[found + WAY_LOW] << _BITS) + m[found + WAY_HIGH]
        return True
    _wait(m, c, count, now)
    return False


@njit(cache=True, error_model="numpy")
def _wait(m: Ints, c: int, count: int, now: int) -> None:
    """Let a head wait that has come now and found its ways."""
    own = m[c + OWN]
    keep_ways(m, m[own + NUMBER], m[c + PORT] * m[CHANNELS] + m[c + VC], count)
    wake_router(m, own, now)
    m[c + STATE], m[c + READY], m[c + OUTPUT] = WAITING, now + 1, m[m[AT_FOUND] + WAY_OUTPUT]
    list_busy(m, c)


@njit(cache=True, error_model="numpy")
def pass_on(m: Ints, c: int, flit: int, now: int) -> None:
    """Send a flit that has come and is in nobody's way on, if it gets a channel and a slot."""
    own, output, o = m[c + OWN], m[c + OUTPUT], m[c + CHANNEL]
    is_head, low, high = m[c + STATE] != ACTIVE, o >> _BITS, o & _MASK
    if not m[own + AWAKE]:
        each, rows = m[CHANNELS], m[own + FIRST_OUTPUT]
        if is_head:
            first = output * each
            span = first + low, first + high
            o = nearest_channel(m, rows, span, (m[c + ACCEPTS], now + 1))
        if o != NONE and m[rows + o * OUTPUT_WORDS + CREDITS] > 0:
            if is_head:
                take_alone(m, c, m[c + PORT] * each + m[c + VC], o, now + 1)
            _go(m, (c, rows + o * OUTPUT_WORDS), flit, max(now, m[c + READY]))
            return
        wake_router(m, own, now)
    if is_head:
        write_way(m, 0, (output, low, high, 0))
        _wait(m, c, 1, now)
    keep(m, c, flit)


@njit(cache=True, error_model="numpy")
def _go(m: Ints, channels: tuple[int, int], flit: int, now: int) -> None:
    """Send a flit that nobody competes with for the switch, from one channel to another."""
    c, o = channels
    own, output, gate, back = m[c + OWN], m[c + OUTPUT], m[c + GATE], m[c + LINK]
    e, out = ends(m, c, output)
    m[m[own + FIRST_EXIT] + out * OUTPUT_WORDS + SWITCH_OFFERS] = past(e, m[SWITCH_INPUTS])
    m[gate + SWITCH_ACCEPTS] = past(out, m[SWITCH_OUTPUTS])
    turn(m, gate, m[c + VC])
    link = m[own + FIRST_LINK] + output * LINK_WORDS
    m[link + CARRIED] += 1
    put_flit(m, now + m[link + TO_CYCLES] + 2, m[o + ENDS_AT], flit)
    if leave(m, c, o, flit, now):
        m[c + STATE] = IDLE
        if m[c + LISTED]:
            m[link + CLAIMED] = now
            m[back + FLOWS] -= 1
            _end(m, c)
    elif not m[c + LISTED]:
        m[link + CLAIMED] = UNTIL_TAIL
        m[back + FLOWS] += 1
        list_busy(m, c)


@njit(cache=True, error_model="numpy")
def _end(m: Ints, c: int) -> None:
    """Take a channel out of its router's list of busy ones."""
    own, i = m[c + OWN], m[c + PORT] * m[CHANNELS] + m[c + VC]
    busy = m[AT_BUSY] + m[own + NUMBER] * m[PORTS] * m[CHANNELS]
    m[own + BUSY] -= 1
    last = m[busy + m[own + BUSY]]
    if last != i:
        j = busy
        while m[j] != i:
            j += 1
        m[j] = last
    m[c + LISTED] = 0
