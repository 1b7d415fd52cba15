"""Routers that route, allot channels and the switch, and send, all within one cycle.

Each input offers one channel that can send, the first from its turn on; each output takes one
input, the first from its turn on, whose head gets the lowest free channel behind the output. A turn
moves on by one place whenever it was used.

Source: N. Agarwal, T. Krishna, L.-S. Peh, N. Jha, "GARNET: A detailed on-chip network model inside
a full-system simulator", ISPASS 2009; turns as in Garnet 2.0.
"""

from simcore.kernels.flits.allocation import past, steps
from simcore.kernels.flits.crossing import is_open, send
from simcore.kernels.flits.network import (
    ACTIVE,
    ASLEEP_UNTIL,
    AT_BUSY,
    AT_CHOSEN,
    AT_FLIT,
    AT_GRANTED,
    AT_LINK,
    AT_ROUTER,
    AT_WAY,
    BUSY,
    BUSY_UNTIL,
    CHANNEL,
    CHANNELS,
    CREDITS,
    CYCLE_BITS,
    DEPTH,
    FIRST,
    FLIT_BITS,
    GATE,
    HELD,
    IDLE,
    INPUT_WORDS,
    LINK_WORDS,
    LISTED,
    MOST_WAYS,
    NONE,
    OUTPUT,
    OUTPUT_WORDS,
    PORT,
    PORTS,
    READY,
    ROUTER_WORDS,
    ROUTING,
    STATE,
    SWITCH_OFFERS,
    TAKEN,
    TURN,
    TURNS,
    TURNS_SIZE,
    UNTIL_TAIL,
    VC,
    WAITING,
    WAY_HIGH,
    WAY_LOW,
    WAY_OUTPUT,
    WAY_WORDS,
    Ints,
    input_row,
    output_row,
    switch_input,
    switch_output,
)
from simcore.kernels.flits.routes.choose import route
from simcore.kernels.flits.routes.rule import keep_ways
from simcore.kernels.jit import njit


@njit(cache=True, error_model="numpy")
def cycle_of_one_stage(m: Ints, router: int, now: int) -> bool:
    """Let a router work for one cycle; true if it has more to do."""
    own, first = m[AT_ROUTER] + router * ROUTER_WORDS, router * m[PORTS] * m[CHANNELS]
    busy, j, asked, rest_until = m[AT_BUSY] + first, 0, False, NONE
    while j < m[own + BUSY]:
        i = m[busy + j]
        c = input_row(m, router, i)
        if m[c + STATE] == IDLE:
            m[own + BUSY] -= 1
            m[busy + j] = m[busy + m[own + BUSY]]
            m[c + LISTED] = 0
            continue
        j += 1
        if m[c + STATE] == ROUTING and m[c + READY] <= now:
            flit = m[m[AT_FLIT] + (first + i) * m[DEPTH] + m[c + FIRST]]
            keep_ways(m, router, i, route(m, router, i, flit >> FLIT_BITS))
            m[c + STATE] = WAITING
            m[c + OUTPUT] = m[m[AT_WAY] + (first + i) * MOST_WAYS * WAY_WORDS + WAY_OUTPUT]
        when = _when_it_may_send(m, router, i, now)
        if when == now:
            _offer(m, router, i)
            asked = True
        elif when != NONE and (rest_until == NONE or when < rest_until):
            rest_until = when
    if asked:
        _take_offers(m, router, now)
    elif rest_until != NONE:
        m[own + ASLEEP_UNTIL] = rest_until
    elif m[own + BUSY] > 0:
        m[own + ASLEEP_UNTIL] = 1 << 62  # until a flit or a credit comes
    return bool(m[own + BUSY] > 0)


@njit(cache=True, error_model="numpy")
def _when_it_may_send(m: Ints, router: int, i: int, now: int) -> int:
    """Cycle in which a channel may send, as far as the link goes; ``NONE``: it waits for others."""
    c = input_row(m, router, i)
    if m[c + HELD] == 0:
        return NONE
    if m[c + READY] > now:
        return int(m[c + READY])
    if m[c + STATE] == ACTIVE:
        if m[output_row(m, router, m[c + CHANNEL]) + CREDITS] == 0:
            return NONE
    elif _free_channel(m, router, i) == NONE:
        return NONE
    if is_open(m, router, m[c + OUTPUT], now):
        return now
    link = m[AT_LINK] + (router * m[PORTS] + m[c + OUTPUT]) * LINK_WORDS
    return int(m[link + BUSY_UNTIL] >> CYCLE_BITS)


@njit(cache=True, error_model="numpy")
def _free_channel(m: Ints, router: int, i: int) -> int:
    """Lowest free channel that a head may take."""
    first = router * m[PORTS] * m[CHANNELS]
    way = m[AT_WAY] + (first + i) * MOST_WAYS * WAY_WORDS
    at = m[way + WAY_OUTPUT] * m[CHANNELS]
    rows = output_row(m, router, 0)
    for o in range(at + m[way + WAY_LOW], at + m[way + WAY_HIGH] + 1):
        if not m[rows + o * OUTPUT_WORDS + TAKEN]:
            return int(o)
    return NONE


@njit(cache=True, error_model="numpy")
def _place(m: Ints, router: int, i: int) -> int:
    """Steps from an input's turn to one of its channels."""
    c = input_row(m, router, i)
    link = m[AT_LINK] + (router * m[PORTS] + m[c + PORT]) * LINK_WORDS
    turn = m[m[c + GATE] + TURNS]
    return int(steps(m[link + TURN] + m[c + VC], turn, m[TURNS_SIZE]))


@njit(cache=True, error_model="numpy")
def _offer(m: Ints, router: int, i: int) -> None:
    """Offer a channel of an input, unless another one comes first."""
    best = m[AT_CHOSEN] + m[input_row(m, router, i) + PORT]
    if m[best] == NONE or _place(m, router, i) < _place(m, router, m[best]):
        m[best] = i


@njit(cache=True, error_model="numpy")
def _take_offers(m: Ints, router: int, now: int) -> None:
    """Let each output take one input, and send."""
    chosen, granted, ports = m[AT_CHOSEN], m[AT_GRANTED], m[PORTS]
    turns = switch_input(m, router, 0) + TURNS
    takes = switch_output(m, router, 0) + SWITCH_OFFERS
    for e in range(ports):
        i = m[chosen + e]
        if i == NONE:
            continue
        m[turns + e * INPUT_WORDS] = past(m[turns + e * INPUT_WORDS], m[TURNS_SIZE])
        o = m[input_row(m, router, i) + OUTPUT]
        before = m[granted + o]
        if before == NONE or steps(e, m[takes + o * OUTPUT_WORDS], ports) < steps(
            before, m[takes + o * OUTPUT_WORDS], ports
        ):
            m[granted + o] = e
    for o in range(ports):
        e = m[granted + o]
        if e == NONE:
            continue
        m[granted + o] = NONE
        m[takes + o * OUTPUT_WORDS] = past(m[takes + o * OUTPUT_WORDS], ports)
        i = m[chosen + e]
        c = input_row(m, router, i)
        if m[c + STATE] == WAITING:
            channel = _free_channel(m, router, i)
            m[c + STATE], m[c + CHANNEL] = ACTIVE, channel
            m[output_row(m, router, channel) + TAKEN] = UNTIL_TAIL
        send(m, router, i, now)
    for e in range(ports):
        m[chosen + e] = NONE
