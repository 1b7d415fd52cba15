"""The switch of a router: who may send in a cycle, some by a guess, some because they hold it."""

from simcore.kernels.flits.allocation import (
    ASK_WORDS,
    INPUT,
    LABEL,
    OUTPUT_FIRST,
    PRIORITY,
    past,
    steps,
)
from simcore.kernels.flits.allocation import OUTPUT as ASKED
from simcore.kernels.flits.crossing import send
from simcore.kernels.flits.matching import matched
from simcore.kernels.flits.network import (
    ACTIVE,
    AT_ASK,
    AT_BEST,
    AT_BUSY,
    AT_GUESS,
    AT_ROUTER,
    AT_SENDER,
    AT_SPOILT,
    AT_USED,
    AT_WIN,
    BUSY,
    CHANNEL,
    CHANNELS,
    CREDITS,
    GATE,
    HELD,
    HELD_CHANNEL,
    HELD_OUTPUT,
    HOLDS,
    INPUT_PORTS,
    INPUT_WORDS,
    ITERATIONS,
    NONE,
    OUTPUT,
    OUTPUT_PORTS,
    OUTPUT_WORDS,
    PORT,
    PORTS,
    READY,
    ROUTER_WORDS,
    STATE,
    SWITCH_ACCEPTS,
    SWITCH_CYCLES,
    SWITCH_DUE,
    SWITCH_INPUTS,
    SWITCH_KIND,
    SWITCH_OFFERS,
    SWITCH_OUTPUTS,
    TURNS,
    VC,
    WIDTH,
    WON_CHANNEL,
    Ints,
    input_row,
    output_row,
    switch_input,
    switch_output,
)
from simcore.kernels.jit import njit

GUESSED = -1
"""Priority of a request for the switch by a head that has no channel yet."""


@njit(cache=True, error_model="numpy")
def let_through(m: Ints, router: int, what: tuple[int, int, int]) -> None:
    """Let flits through: those that hold the switch, then those that ask, some by a guess."""
    senders, guesses, now = what
    offers = switch_output(m, router, 0) + SWITCH_OFFERS
    accepts = switch_input(m, router, 0) + SWITCH_ACCEPTS
    inputs, outputs = m[SWITCH_INPUTS], m[SWITCH_OUTPUTS]
    if m[SWITCH_CYCLES] > 1:
        _work_in_batches(m, router, (senders, now))
        return
    is_alone = senders == 1 and guesses == 0
    if is_alone and not m[HOLDS] and m[SWITCH_KIND] <= OUTPUT_FIRST:
        i = m[m[AT_SENDER]]
        c = input_row(m, router, i)
        e, o = ends(m, c, m[c + OUTPUT])
        m[offers + o * OUTPUT_WORDS] = past(e, inputs)
        m[accepts + e * INPUT_WORDS] = past(o, outputs)
        _win(m, router, (o, i), now)
        return
    if m[HOLDS]:
        _go_on(m, router, now)
    count = _ask(m, router, (senders, guesses, now))
    size = inputs, outputs, offers, accepts
    wins = 0
    if count > 0 or _has_sender(m, router, now):
        wins = matched(m, m[SWITCH_KIND], m[ITERATIONS], count, size)
    for j in range(wins):
        a = m[m[AT_WIN] + j]
        if m[a + PRIORITY] != GUESSED or _is_right(m, router, a):
            _win(m, router, (m[a + ASKED], m[a + LABEL]), now)
    if m[HOLDS]:
        _forget_used(m)


@njit(cache=True, error_model="numpy")
def _forget_used(m: Ints) -> None:
    for e in range(2 * m[WIDTH]):
        m[m[AT_USED] + e] = 0


@njit(cache=True, error_model="numpy")
def _work_in_batches(m: Ints, router: int, what: tuple[int, int]) -> None:
    """Let flits through a switch whose allocation takes several cycles.

    Those that ask in its first cycle are its batch, and winners send in its last one; what comes
    meanwhile waits. A batch begins with any flit that has a channel, even one without a slot.
    """
    senders, now = what
    won, own = switch_input(m, router, 0) + WON_CHANNEL, m[AT_ROUTER] + router * ROUTER_WORDS
    if m[HOLDS]:
        _go_on(m, router, now)
    if m[own + SWITCH_DUE] == now:
        for e in range(m[SWITCH_INPUTS]):
            i = m[won + e * INPUT_WORDS]
            if i != NONE:
                m[won + e * INPUT_WORDS] = NONE
                c = input_row(m, router, i)
                _win(m, router, (ends(m, c, m[c + OUTPUT])[1], i), now)
    elif m[own + SWITCH_DUE] < now and _has_sender(m, router, now):
        m[own + SWITCH_DUE] = now + m[SWITCH_CYCLES] - 1
        count = _ask(m, router, (senders, 0, now))
        offers = switch_output(m, router, 0) + SWITCH_OFFERS
        accepts = switch_input(m, router, 0) + SWITCH_ACCEPTS
        size = m[SWITCH_INPUTS], m[SWITCH_OUTPUTS], offers, accepts
        for j in range(matched(m, m[SWITCH_KIND], m[ITERATIONS], count, size)):
            a = m[m[AT_WIN] + j]
            m[won + m[a + INPUT] * INPUT_WORDS] = m[a + LABEL]
    if m[HOLDS]:
        _forget_used(m)


@njit(cache=True, error_model="numpy")
def _has_sender(m: Ints, router: int, now: int) -> bool:
    """True if a flit of a router has a channel behind it, with a slot or without."""
    busy = m[AT_BUSY] + router * m[PORTS] * m[CHANNELS]
    for j in range(m[m[AT_ROUTER] + router * ROUTER_WORDS + BUSY]):
        c = input_row(m, router, m[busy + j])
        if m[c + STATE] == ACTIVE and m[c + READY] <= now and m[c + HELD] > 0:
            return True
    return False


@njit(cache=True, error_model="numpy")
def ends(m: Ints, c: int, output: int) -> tuple[int, int]:
    """Input and output of the switch for an input channel and an output port."""
    e, o = m[c + PORT], output
    if m[INPUT_PORTS] > 1:
        e = e * m[INPUT_PORTS] + m[c + VC] % m[INPUT_PORTS]
    if m[OUTPUT_PORTS] > 1:
        o = o * m[OUTPUT_PORTS] + m[c + PORT] % m[OUTPUT_PORTS]
    return e, o


@njit(cache=True, error_model="numpy")
def _ask(m: Ints, router: int, what: tuple[int, int, int]) -> int:
    """Write requests for the switch, of which one of an input for an output stays; how many."""
    senders, guesses, now = what
    count = 0
    for j in range(senders):
        i = m[m[AT_SENDER] + j]
        c = input_row(m, router, i)
        if m[c + READY] <= now:  # it has not sent as one that holds the switch
            count = _add(m, router, (i, m[c + OUTPUT], 0), count)
    for j in range(guesses):
        g = m[AT_GUESS] + 2 * j
        count = _add(m, router, (m[g], m[g + 1], GUESSED), count)
    for j in range(count):
        a = m[AT_ASK] + j * ASK_WORDS
        m[m[AT_BEST] + m[a + INPUT] * m[SWITCH_OUTPUTS] + m[a + ASKED]] = NONE
    return count


@njit(cache=True, error_model="numpy")
def _add(m: Ints, router: int, what: tuple[int, int, int], count: int) -> int:
    """Add a request (channel, output, priority) to so many; how many there are."""
    i, output, priority = what
    c, each = input_row(m, router, i), m[CHANNELS]
    e, o = ends(m, c, output)
    if m[HOLDS] and (m[m[AT_USED] + e] or m[m[AT_USED] + m[WIDTH] + o]):
        return count
    best = m[AT_BEST] + e * m[SWITCH_OUTPUTS] + o
    if m[best] != NONE:
        a, turn = m[best], m[switch_input(m, router, e) + TURNS]
        before = m[input_row(m, router, m[a + LABEL]) + VC]
        is_sooner = steps(m[c + VC], turn, each) < steps(before, turn, each)
        if priority == m[a + PRIORITY] and is_sooner:
            m[a + LABEL] = i
        return count
    a = m[AT_ASK] + count * ASK_WORDS
    m[best] = a
    m[a + INPUT], m[a + ASKED], m[a + PRIORITY], m[a + LABEL] = e, o, priority, i
    return count + 1


@njit(cache=True, error_model="numpy")
def _is_right(m: Ints, router: int, a: int) -> bool:
    """True if a guess that won the switch may send: it won a channel there, with a slot."""
    i = m[a + LABEL]
    if m[m[AT_SPOILT] + i]:
        return False
    c = input_row(m, router, i)
    turn(m, m[c + GATE], m[c + VC])
    if m[c + STATE] != ACTIVE or ends(m, c, m[c + OUTPUT])[1] != m[a + ASKED]:
        return False
    return bool(m[output_row(m, router, m[c + CHANNEL]) + CREDITS] > 0)


@njit(cache=True, error_model="numpy")
def turn(m: Ints, gate: int, vc: int) -> None:
    """Let the channel after one that won come first at an input of the switch."""
    after = vc + m[INPUT_PORTS]
    m[gate + TURNS] = after if after < m[CHANNELS] else after - m[CHANNELS]


@njit(cache=True, error_model="numpy")
def _win(m: Ints, router: int, what: tuple[int, int], now: int) -> None:
    """Send from a channel that won an input and an output of the switch."""
    o, i = what
    c = input_row(m, router, i)
    gate = m[c + GATE]
    turn(m, gate, m[c + VC])
    is_tail = send(m, router, i, now)
    if m[HOLDS] and not is_tail and m[c + HELD] > 0:
        m[gate + HELD_CHANNEL], m[gate + HELD_OUTPUT] = i, o


@njit(cache=True, error_model="numpy")
def _go_on(m: Ints, router: int, now: int) -> None:
    """Send from channels that hold the switch; one that cannot lets go of it after this cycle."""
    for e in range(m[SWITCH_INPUTS]):
        gate = switch_input(m, router, e)
        i = m[gate + HELD_CHANNEL]
        if i == NONE:
            continue
        m[m[AT_USED] + e], m[m[AT_USED] + m[WIDTH] + m[gate + HELD_OUTPUT]] = 1, 1
        c = input_row(m, router, i)
        slots = m[output_row(m, router, m[c + CHANNEL]) + CREDITS]
        if slots == 0 or send(m, router, i, now) or m[c + HELD] == 0:
            m[gate + HELD_CHANNEL] = NONE
