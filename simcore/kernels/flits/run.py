"""Cycles of a whole network with its endpoints.

In each cycle endpoints and routers take what arrives, nodes make packets and send at most one flit,
and routers work. Flits that arrive at their node are consumed at once. Cycles in which nothing is
on its way are left out.
"""

from simcore.kernels.flits.crossing import put_credit
from simcore.kernels.flits.due import next_due, wake
from simcore.kernels.flits.messages import end_packet
from simcore.kernels.flits.network import (
    ARRIVALS,
    ARRIVED,
    ASLEEP_UNTIL,
    AT,
    AT_AWAKE,
    AT_BACK,
    AT_COUNT,
    AT_NODE,
    AT_NODE_OUTPUT,
    AT_OUTPUT,
    AT_ROUTER,
    AT_WHEEL,
    AWAKE,
    AWAKE_COUNT,
    BACK_WIDTH,
    CHANNELS,
    CREDITS,
    DEPTH,
    ENDED,
    EVENT_WORDS,
    FLIT_BITS,
    FREE,
    FREE_ROWS,
    HOPS,
    IDLE,
    IN_FLIGHT,
    LAST_CYCLE,
    LAST_ROW,
    LATENCY,
    LIVE,
    MADE,
    MAY_PASS,
    MEASURED,
    MEASURED_ON_WAY,
    NETWORK_LATENCY,
    NEXT_FREE,
    NEXT_MADE,
    NODE_CREDIT,
    NODE_WORDS,
    NODES,
    NONE,
    ONE_STAGE,
    OUT,
    OUTPUT_WORDS,
    OWN,
    PACKETS,
    PASSED,
    PORTS,
    READY,
    RETIRED,
    RETIRED_IN,
    ROUTER_WORDS,
    ROUTING,
    SENDING,
    SENT,
    SOURCE,
    STATE,
    TAIL,
    TAKEN,
    TARGET,
    UNTIL_CREDIT,
    WHAT,
    WHEEL_WIDTH,
    Ints,
    packet_row,
)
from simcore.kernels.flits.nodes import scale_of, send_all
from simcore.kernels.flits.one_stage import cycle_of_one_stage
from simcore.kernels.flits.passing import keep, list_busy, look_at, pass_on, wake_router
from simcore.kernels.flits.router import cycle_of_router
from simcore.kernels.jit import njit
from simcore.kernels.npu.pointers import pointer


@njit(cache=True, error_model="numpy")
def run_until(m: Ints, chance: float, span: Ints) -> int:
    """Run the cycles from ``span[0]`` to before ``span[1]``.

    Args:
        m: Everything; changed.
        chance: Of a packet per cycle and node, where nodes send at random.
        span: First cycle; the one after the last; first cycle, and the one after the last, in
            which packets are made that count; packets at whose arrival to stop, 0: never, -1: as
            soon as none that counts is left.

    Returns:
        The cycle after the last one that was run; where messages are told one by one, at most the
        one in which one of them ends, or the one before there are no rows for packets.
    """
    words, scale = pointer(m), scale_of(chance) if chance > 0.0 else 0.0
    now, last, until = span[0], span[1], span[4]
    while now < last:
        if words[IN_FLIGHT] == 0 and words[AWAKE_COUNT] == 0 and words[SENDING] == 0:
            now = max(now, min(last, next_due(words, now, last)))
            if now == last:
                break
        if words[LIVE] and words[FREE_ROWS] < words[SENDING]:
            break
        _arrivals(words, now)
        wake(words, now)
        if words[SENDING] > 0:
            send_all(words, scale, (now, span[2], span[3]))
        if words[AWAKE_COUNT] > 0:
            _routers(words, now)
        now += 1
        if words[LIVE] and words[ENDED] != NONE:
            break
        if until > 0 and words[ARRIVALS] >= until:
            break
        if until < 0 and words[MEASURED_ON_WAY] == 0 and _all_made(words, span[3]):
            break
    return int(now)


@njit(cache=True, error_model="numpy")
def _routers(m: Ints, now: int) -> None:
    """Let the routers work that have something to do."""
    awake, j = m[AT_AWAKE], 0
    while j < m[AWAKE_COUNT]:
        router = m[awake + j]
        is_asleep = m[m[AT_ROUTER] + router * ROUTER_WORDS + ASLEEP_UNTIL] > now
        if is_asleep or _goes_on(m, router, now):
            j += 1
            continue
        m[m[AT_ROUTER] + router * ROUTER_WORDS + AWAKE] = 0
        m[AWAKE_COUNT] -= 1
        m[awake + j] = m[awake + m[AWAKE_COUNT]]


@njit(cache=True, error_model="numpy")
def _goes_on(m: Ints, router: int, now: int) -> bool:
    """Let a router work for one cycle; true if it has more to do."""
    if m[ONE_STAGE]:
        return bool(cycle_of_one_stage(m, router, now))
    return bool(cycle_of_router(m, router, now))


@njit(cache=True, error_model="numpy")
def _all_made(m: Ints, end: int) -> bool:
    """True if no node has yet to begin a packet that was made before *end*."""
    least = end
    for node in range(m[NODES]):
        least = min(least, m[m[AT_NODE] + node * NODE_WORDS + NEXT_MADE])
    return bool(least >= end)


@njit(cache=True, error_model="numpy")
def _arrivals(m: Ints, now: int) -> None:
    row = now & m[LAST_ROW]
    count = m[AT_COUNT] + row
    first = m[AT_WHEEL] + row * m[WHEEL_WIDTH] * EVENT_WORDS
    e = passing = first
    for _ in range(m[count]):
        at, flit = m[e + AT], m[e + WHAT]
        e += EVENT_WORDS
        if at < 0:
            _eject(m, -at, flit, now)
        elif m[MAY_PASS] and look_at(m, at, flit, now):
            m[passing + AT], m[passing + WHAT] = at, flit  # over events that have been looked at
            passing += EVENT_WORDS
        else:
            _latch(m, at, flit, now)
    m[IN_FLIGHT] -= m[count]
    m[count] = 0
    _credits(m, row)
    for e in range(first, passing, EVENT_WORDS):
        pass_on(m, m[e + AT], m[e + WHAT], now)


@njit(cache=True, error_model="numpy")
def _credits(m: Ints, row: int) -> None:
    """Give the slots back whose credits arrive in a cycle."""
    count, first = m[AT_COUNT] + m[LAST_ROW] + 1 + row, m[AT_BACK] + row * m[BACK_WIDTH]
    for e in range(first, first + m[count]):
        o = m[e]
        m[o + CREDITS] += 1
        if m[o + TAKEN] == UNTIL_CREDIT and m[o + CREDITS] == m[DEPTH]:
            m[o + TAKEN] = 0
        if m[ONE_STAGE] and o < m[AT_NODE_OUTPUT]:
            router = (o - m[AT_OUTPUT]) // (m[PORTS] * m[CHANNELS] * OUTPUT_WORDS)
            m[m[AT_ROUTER] + router * ROUTER_WORDS + ASLEEP_UNTIL] = 0
    m[IN_FLIGHT] -= m[count]
    m[count] = 0


@njit(cache=True, error_model="numpy")
def _latch(m: Ints, c: int, flit: int, now: int) -> None:
    """Put a flit that arrived into its channel, and wake channel and router."""
    keep(m, c, flit)
    if m[ONE_STAGE]:
        m[m[c + OWN] + ASLEEP_UNTIL] = 0
    if m[c + STATE] == IDLE:
        wake_router(m, m[c + OWN], now)
        m[c + STATE], m[c + READY] = ROUTING, max(m[c + READY], now)
        list_busy(m, c)


@njit(cache=True, error_model="numpy")
def _eject(m: Ints, output: int, flit: int, now: int) -> None:
    """Take a flit that came to its node from an output channel, and give its slot back."""
    put_credit(m, now + m[NODE_CREDIT] + 1, output)
    packet = flit >> FLIT_BITS
    p = packet_row(m, packet)
    m[m[AT_NODE] + m[p + TARGET] * NODE_WORDS + ARRIVED] += 1
    if not flit & TAIL:
        return
    m[ARRIVALS] += 1
    m[LAST_CYCLE] = now
    if m[LIVE]:
        end_packet(m, packet, now)
    n = m[AT_NODE] + m[p + SOURCE] * NODE_WORDS
    if m[n + RETIRED_IN] < now:
        m[n + OUT] -= m[n + RETIRED]
        m[n + RETIRED], m[n + RETIRED_IN] = 0, now
    m[n + RETIRED] += 1
    if m[p + MEASURED]:
        m[MEASURED_ON_WAY] -= 1
        m[PACKETS] += 1
        m[LATENCY] += now - m[p + MADE]
        m[NETWORK_LATENCY] += now - m[p + SENT]
        m[PASSED] += m[p + HOPS]
    m[p + NEXT_FREE] = m[FREE]
    m[FREE] = packet
