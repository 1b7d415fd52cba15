"""Requests of heads: for channels of the next routers, and by a guess for the switch at once."""

from simcore.kernels.flits.allocation import (
    ASK_WORDS,
    INPUT,
    ISLIP,
    OUTPUT_FIRST,
    PRIORITY,
    past,
    steps,
)
from simcore.kernels.flits.allocation import OUTPUT as ASKED
from simcore.kernels.flits.matching import matched
from simcore.kernels.flits.network import (
    ACCEPTS,
    ACTIVE,
    AT_ASK,
    AT_GUESS,
    AT_SPOILT,
    AT_WAITER,
    AT_WAY,
    AT_WIN,
    CHANNEL,
    CHANNEL_CYCLES,
    CHANNEL_KIND,
    CHANNELS,
    CREDITS,
    FIRST_OUTPUT,
    ITERATIONS,
    MOST_WAYS,
    NONE,
    OF_PORT,
    OFFERS,
    OUTPUT,
    OUTPUT_WORDS,
    OWN,
    PORTS,
    READY,
    STATE,
    TAKEN,
    UNTIL_TAIL,
    WAY_HIGH,
    WAY_LOW,
    WAY_OUTPUT,
    WAY_PRIORITY,
    WAY_WORDS,
    WAYS,
    Ints,
    input_row,
    output_row,
)
from simcore.kernels.jit import njit


@njit(cache=True, error_model="numpy")
def give_channels(m: Ints, router: int, waiters: int, now: int) -> None:
    """Give free channels of the next routers to heads that wait."""
    if waiters == 1 and m[CHANNEL_KIND] <= OUTPUT_FIRST:
        i = m[m[AT_WAITER]]
        o = best_channel(m, router, i, now)
        if o != NONE:
            take_alone(m, input_row(m, router, i), i, o, now)
        return
    count, size = _ask_for_channels(m, router, waiters, now), m[PORTS] * m[CHANNELS]
    offers, accepts = output_row(m, router, 0) + OFFERS, input_row(m, router, 0) + ACCEPTS
    wins = matched(m, m[CHANNEL_KIND], m[ITERATIONS], count, (size, size, offers, accepts))
    for j in range(wins):
        a = m[m[AT_WIN] + j]
        _take(m, input_row(m, router, m[a + INPUT]), m[a + ASKED], now)


@njit(cache=True, error_model="numpy")
def take_alone(m: Ints, c: int, i: int, o: int, now: int) -> None:
    """Let a head take a channel that no other one asks for."""
    size = m[PORTS] * m[CHANNELS]
    m[m[m[c + OWN] + FIRST_OUTPUT] + o * OUTPUT_WORDS + OFFERS] = past(i, size)
    m[c + ACCEPTS] = past(o, size)
    _take(m, c, o, now)


@njit(cache=True, error_model="numpy")
def _take(m: Ints, c: int, o: int, now: int) -> None:
    row = m[m[c + OWN] + FIRST_OUTPUT] + o * OUTPUT_WORDS
    m[c + OUTPUT], m[c + CHANNEL] = m[row + OF_PORT], o
    m[c + STATE], m[c + READY] = ACTIVE, now + m[CHANNEL_CYCLES]
    m[row + TAKEN] = UNTIL_TAIL


@njit(cache=True, error_model="numpy")
def _way(m: Ints, router: int, i: int, number: int) -> int:
    row = router * m[PORTS] * m[CHANNELS] + i
    return int(m[AT_WAY] + (row * MOST_WAYS + number) * WAY_WORDS)


@njit(cache=True, error_model="numpy")
def best_channel(m: Ints, router: int, i: int, now: int) -> int:
    """Free channel that an only head gets: every output offers it what it asks for."""
    pointer = m[input_row(m, router, i) + ACCEPTS]
    best, least, urgent, size = NONE, 0, 0, m[PORTS] * m[CHANNELS]
    looks = m[CHANNEL_KIND] != ISLIP
    for number in range(m[input_row(m, router, i) + WAYS]):
        way = _way(m, router, i, number)
        first, priority = m[way + WAY_OUTPUT] * m[CHANNELS], m[way + WAY_PRIORITY]
        span = first + m[way + WAY_LOW], first + m[way + WAY_HIGH]
        o = nearest_channel(m, output_row(m, router, 0), span, (pointer, now))
        if o == NONE:
            continue
        far = steps(o, pointer, size)
        is_better = best == NONE or far < least
        if looks and best != NONE and priority != urgent:
            is_better = priority > urgent
        if is_better:
            best, least, urgent = o, far, priority
    return best


@njit(cache=True, error_model="numpy")
def nearest_channel(m: Ints, rows: int, span: tuple[int, int], when: tuple[int, int]) -> int:
    """First channel of a span, from a pointer on, that is free in a cycle; ``NONE``: none is.

    *rows* is where a router's output channels begin.
    """
    (low, high), (pointer, now) = span, when
    middle = pointer if low < pointer <= high else low
    for o in range(middle, high + 1):
        if m[rows + o * OUTPUT_WORDS + TAKEN] <= now:
            return int(o)
    for o in range(low, middle):
        if m[rows + o * OUTPUT_WORDS + TAKEN] <= now:
            return int(o)
    return NONE


@njit(cache=True, error_model="numpy")
def _ask_for_channels(m: Ints, router: int, waiters: int, now: int) -> int:
    """Write requests for free channels; how many."""
    a, count, rows = m[AT_ASK], 0, output_row(m, router, 0)
    for j in range(waiters):
        i = m[m[AT_WAITER] + j]
        for number in range(m[input_row(m, router, i) + WAYS]):
            way = _way(m, router, i, number)
            first, priority = m[way + WAY_OUTPUT] * m[CHANNELS], m[way + WAY_PRIORITY]
            for o in range(first + m[way + WAY_LOW], first + m[way + WAY_HIGH] + 1):
                if m[rows + o * OUTPUT_WORDS + TAKEN] > now:
                    continue
                m[a + INPUT], m[a + ASKED], m[a + PRIORITY] = i, o, priority
                a += ASK_WORDS
                count += 1
    return count


@njit(cache=True, error_model="numpy")
def guess(m: Ints, router: int, waiters: int, now: int) -> int:
    """Write the outputs for which heads that wait for a channel ask at once; how many.

    An output is asked for where a free channel behind it has a slot. BookSim 2 lets a head with
    several ways win nothing where one of them is shut, though it asks for the others.
    """
    count, rows = 0, output_row(m, router, 0)
    for j in range(waiters):
        i = m[m[AT_WAITER] + j]
        m[m[AT_SPOILT] + i] = 0
        for number in range(m[input_row(m, router, i) + WAYS]):
            way = _way(m, router, i, number)
            first, is_open = m[way + WAY_OUTPUT] * m[CHANNELS], False
            for o in range(first + m[way + WAY_LOW], first + m[way + WAY_HIGH] + 1):
                row = rows + o * OUTPUT_WORDS
                is_open = is_open or (m[row + TAKEN] <= now and m[row + CREDITS] > 0)
            if is_open:
                g = m[AT_GUESS] + 2 * count
                m[g], m[g + 1] = i, m[way + WAY_OUTPUT]
                count += 1
            else:
                m[m[AT_SPOILT] + i] = 1
    return count
