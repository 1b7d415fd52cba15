"""Flits that leave a router: from their channel, through the crossbar, onto a link."""

from simcore.kernels.flits.network import (
    AT_BACK,
    AT_COUNT,
    AT_CROSSING,
    AT_FLIT,
    AT_LINK,
    AT_ROUTER,
    AT_WHEEL,
    BACK_WIDTH,
    BUSY_UNTIL,
    CARRIED,
    CHANNEL,
    CHANNELS,
    CREDITED,
    CREDITS,
    CROSSING,
    CROSSING_CYCLES,
    CROSSING_DUE,
    CROSSING_ROWS,
    CYCLE_BITS,
    DEPTH,
    ENDS_AT,
    EVENT_WORDS,
    FIRST,
    FLIT_BITS,
    FREE_FROM,
    FROM_CYCLES,
    HELD,
    HOPS,
    IDLE,
    IN_FLIGHT,
    IN_PACKET,
    LAST_ROW,
    LINK,
    LINK_WORDS,
    OUTPUT,
    PORTS,
    READY,
    ROUTER_WORDS,
    ROUTING,
    SLOW_LINKS,
    SLOWNESS,
    STATE,
    TAIL,
    TAIL_CREDIT,
    TAKEN,
    TO_CYCLES,
    UNTIL_CREDIT,
    WHEEL_WIDTH,
    Ints,
    input_row,
    output_row,
    packet_row,
    switch_output,
)
from simcore.kernels.jit import njit


@njit(cache=True, error_model="numpy")
def put_flit(m: Ints, when: int, at: int, flit: int) -> None:
    """Put a flit onto a link: it arrives in a cycle where ``ENDS_AT`` says."""
    row = when & m[LAST_ROW]
    count = m[AT_COUNT] + row
    e = m[AT_WHEEL] + (row * m[WHEEL_WIDTH] + m[count]) * EVENT_WORDS
    m[e], m[e + 1] = at, flit
    m[count] += 1
    m[IN_FLIGHT] += 1


@njit(cache=True, error_model="numpy")
def put_credit(m: Ints, when: int, output: int) -> None:
    """Put a credit onto a link: it comes back in a cycle to the words of an output channel."""
    row = when & m[LAST_ROW]
    count = m[AT_COUNT] + m[LAST_ROW] + 1 + row
    m[m[AT_BACK] + row * m[BACK_WIDTH] + m[count]] = output
    m[count] += 1
    m[IN_FLIGHT] += 1


@njit(cache=True, error_model="numpy")
def send(m: Ints, router: int, channel: int, now: int) -> bool:
    """Send the first flit of an input channel, whose slot is free again; true if it is a tail."""
    c = input_row(m, router, channel)
    first, depth = m[c + FIRST], m[DEPTH]
    flit = m[m[AT_FLIT] + (router * m[PORTS] * m[CHANNELS] + channel) * depth + first]
    m[c + FIRST] = first + 1 if first + 1 < depth else 0
    m[c + HELD] -= 1
    output, o = m[c + OUTPUT], output_row(m, router, m[c + CHANNEL])
    is_tail = leave(m, c, o, flit, now)
    if m[CROSSING_CYCLES] <= 1:
        put_in_turn(m, router, (output, m[o + ENDS_AT], flit), now + m[CROSSING_CYCLES])
    else:
        own = m[AT_ROUTER] + router * ROUTER_WORDS
        w = m[AT_CROSSING] + (router * m[CROSSING_ROWS] + m[own + CROSSING]) * 3
        m[w], m[w + 1], m[w + 2] = output, m[o + ENDS_AT], flit
        m[own + CROSSING] += 1
    if m[SLOW_LINKS]:
        keep_busy(m, m[AT_LINK] + (router * m[PORTS] + output) * LINK_WORDS, now)
    if is_tail:
        m[c + STATE] = ROUTING if m[c + HELD] else IDLE
    return is_tail


@njit(cache=True, error_model="numpy")
def leave(m: Ints, c: int, o: int, flit: int, now: int) -> bool:
    """Count a flit that has the switch now, from one channel to another; true if it is a tail."""
    m[c + READY] = now + 1
    m[o + CREDITS] -= 1
    put_credit(m, now + m[m[c + LINK] + FROM_CYCLES] + 1, m[c + CREDITED])
    if flit & IN_PACKET == 0:
        m[packet_row(m, flit >> FLIT_BITS) + HOPS] += 1
    if not flit & TAIL:
        return False
    m[o + TAKEN] = UNTIL_CREDIT if m[TAIL_CREDIT] else now + 1
    return True


@njit(cache=True, error_model="numpy")
def is_open(m: Ints, router: int, output: int, now: int) -> bool:
    """True if the link of an output is free for a flit that wins the switch now."""
    link = m[AT_LINK] + (router * m[PORTS] + output) * LINK_WORDS
    return bool(m[link + BUSY_UNTIL] >> CYCLE_BITS <= now + m[CROSSING_CYCLES])


@njit(cache=True, error_model="numpy")
def keep_busy(m: Ints, link: int, now: int) -> None:
    """Keep a link busy with a flit that has won the switch now."""
    begin = max(m[link + BUSY_UNTIL], (now + m[CROSSING_CYCLES]) << CYCLE_BITS)
    m[link + BUSY_UNTIL] = begin + m[link + SLOWNESS]


@njit(cache=True, error_model="numpy")
def dispatch(m: Ints, router: int, now: int) -> None:
    """Let the flits that wait for the crossbar into it, unless others are in it."""
    own = m[AT_ROUTER] + router * ROUTER_WORDS
    if m[own + CROSSING] == 0 or m[own + CROSSING_DUE] >= now:
        return
    due = now + m[CROSSING_CYCLES] - 1
    for j in range(m[own + CROSSING]):
        w = m[AT_CROSSING] + (router * m[CROSSING_ROWS] + j) * 3
        put_in_turn(m, router, (m[w], m[w + 1], m[w + 2]), due)
    m[own + CROSSING], m[own + CROSSING_DUE] = 0, due


@njit(cache=True, error_model="numpy")
def put_in_turn(m: Ints, router: int, what: tuple[int, int, int], when: int) -> None:
    """Put a flit onto the link of an output, behind those that are before it."""
    output, at, flit = what
    free = switch_output(m, router, output) + FREE_FROM
    leaves = max(when, m[free])
    m[free] = leaves + 1
    link = m[AT_LINK] + (router * m[PORTS] + output) * LINK_WORDS
    m[link + CARRIED] += 1
    put_flit(m, leaves + m[link + TO_CYCLES] + 1, at, flit)
