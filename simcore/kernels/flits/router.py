"""One cycle of one router: routes, channels, switch, crossbar.

A stage works on a batch: what comes while a batch is in work waits for it, so that a stage of d
cycles costs d to 2 d - 1.
"""

from simcore.kernels.flits.allocation import INPUT, LABEL, OUTPUT, PRIORITY, Scratch, match
from simcore.kernels.flits.crossing import dispatch, may_ask, send
from simcore.kernels.flits.network import (
    ACTIVE,
    BUSY,
    CHANNEL,
    CHANNEL_ACCEPTS,
    CHANNEL_OFFERS,
    CROSSING,
    DUE,
    FIRST,
    HELD,
    HELD_CHANNEL,
    HELD_OUTPUT,
    IDLE,
    LISTED,
    NONE,
    READY,
    ROUTE_DUE,
    ROUTING,
    STATE,
    SWITCH_ACCEPTS,
    SWITCH_OFFERS,
    TURNS,
    WAITING,
    WAY_HIGH,
    WAY_LOW,
    WAY_OUTPUT,
    WAY_PRIORITY,
    WAYS,
    How,
    Ints,
    Links,
    State,
)
from simcore.kernels.flits.network import OUTPUT as TO
from simcore.kernels.flits.routing import route
from simcore.kernels.flits.rule import Rule
from simcore.kernels.jit import njit

GUESSED = -1
"""Priority of a request for the switch by a head that has no channel yet."""


@njit(cache=True)
def cycle_of_router(
    links: Links, rule: Rule, how: How, state: State, scratch: Scratch, router: int, now: int
) -> bool:
    """Let a router work for one cycle; true if it has more to do."""
    if how.crossing > 1:
        dispatch(links, how, state, router, now)
    waits, may_leave = _look(links, rule, how, state, router, now)
    guesses = 0
    if waits:
        if how.guesses:
            guesses = _guess(how, state, scratch, router, now)
        asks = _ask_for_channels(how, state, scratch, router, now)
        _channels(how, state, scratch, router, (now, asks))
    if may_leave or guesses:
        _switch(links, how, state, scratch, router, (now, guesses))
    return bool(state.routers[router, BUSY] > 0 or state.routers[router, CROSSING] > 0)


@njit(cache=True)
def _look(
    links: Links, rule: Rule, how: How, state: State, router: int, now: int
) -> tuple[bool, bool]:
    """Work out routes; true where something waits for a channel, and where something may leave."""
    waits, may_leave, began = False, False, False
    channels, own, busy = state.channels[router], state.routers[router], state.busy[router]
    is_free, j = own[ROUTE_DUE] < now, 0
    while j < own[BUSY]:
        i = busy[j]
        c = channels[i]
        if c[STATE] == IDLE:
            own[BUSY] -= 1
            busy[j] = busy[own[BUSY]]
            c[LISTED] = 0
            continue
        j += 1
        if c[READY] > now:
            continue
        if c[STATE] == ROUTING:
            if c[DUE] == NONE and is_free:
                c[DUE], began = now + max(how.routing - 1, 0), True
            if c[DUE] != now:
                continue
            packet = state.flits[router, i, c[FIRST]] // how.size
            route(links, rule, state, router, i, packet)
            c[STATE], c[DUE] = WAITING, NONE
            c[READY] = now + min(how.routing, 1)
            waits = waits or how.routing == 0
        elif c[STATE] == WAITING:
            waits = True
        elif c[HELD] > 0:
            may_leave = True
    if began and how.routing > 0:
        own[ROUTE_DUE] = now + how.routing - 1
    return waits, may_leave


@njit(cache=True)
def _ask_for_channels(how: How, state: State, scratch: Scratch, router: int, now: int) -> int:
    """Write requests for free channels; how many."""
    taken, own, each = state.taken[router], state.routers[router], how.channels
    asks, count = scratch.asks, 0
    for j in range(own[BUSY]):
        i = state.busy[router, j]
        c = state.channels[router, i]
        if c[STATE] != WAITING or c[READY] > now:
            continue
        for number in range(c[WAYS]):
            way = state.ways[router, i, number]
            first = way[WAY_OUTPUT] * each
            for o in range(first + way[WAY_LOW], first + way[WAY_HIGH] + 1):
                if taken[o]:
                    continue
                asks[count, INPUT], asks[count, OUTPUT] = i, o
                asks[count, PRIORITY] = way[WAY_PRIORITY]
                count += 1
    return count


@njit(cache=True)
def _guess(how: How, state: State, scratch: Scratch, router: int, now: int) -> int:
    """Write the outputs for which heads that wait for a channel ask at once; how many.

    An output is asked for where a free channel behind it has a slot. BookSim 2 lets a head with
    several ways win nothing where one of them is shut, though it asks for the others.
    """
    taken, credits, count = state.taken[router], state.credits[router], 0
    for j in range(state.routers[router, BUSY]):
        i = state.busy[router, j]
        c = state.channels[router, i]
        if c[STATE] != WAITING or c[READY] > now:
            continue
        for number in range(c[WAYS]):
            way = state.ways[router, i, number]
            first, is_open = way[WAY_OUTPUT] * how.channels, False
            for o in range(first + way[WAY_LOW], first + way[WAY_HIGH] + 1):
                is_open = is_open or (not taken[o] and credits[o] > 0)
            if is_open:
                scratch.guesses[count, 0], scratch.guesses[count, 1] = i, way[WAY_OUTPUT]
                count += 1
            else:
                scratch.spoilt[i] = 1
    return count


@njit(cache=True)
def _ask_for_switch(
    how: How, state: State, scratch: Scratch, router: int, what: tuple[int, int, int, int]
) -> int:
    """Add a request of a channel for an output to so many, with a priority; how many there are.

    Of those of an input for an output one stays.
    """
    i, output, count, priority = what
    each, turns = how.channels, state.pointers[router, TURNS]
    port, vc = i // each, i % each
    e = port * how.input_ports + vc % how.input_ports
    o = output * how.output_ports + port % how.output_ports
    asks = scratch.asks
    if scratch.used[0, e] or scratch.used[1, o]:
        return count
    old = scratch.best[e, o]
    if old != NONE:
        before = asks[old, LABEL] % each
        is_sooner = (vc - turns[e]) % each < (before - turns[e]) % each
        if priority == asks[old, PRIORITY] and is_sooner:
            asks[old, LABEL] = i
        return count
    scratch.best[e, o] = count
    asks[count, INPUT], asks[count, OUTPUT] = e, o
    asks[count, PRIORITY], asks[count, LABEL] = priority, i
    return count + 1


@njit(cache=True)
def _channels(how: How, state: State, scratch: Scratch, router: int, what: tuple[int, int]) -> None:
    """Give free channels of the next routers to heads."""
    now, count = what
    pointers = state.pointers[router]
    size = state.channels.shape[1]
    wins = match(
        how.channel_kind, how.iterations, scratch.asks, count, (size, size),
        pointers[CHANNEL_OFFERS], pointers[CHANNEL_ACCEPTS], scratch,
    )  # fmt: skip
    for j in range(wins):
        i, o = scratch.asks[scratch.wins[j], INPUT], scratch.asks[scratch.wins[j], OUTPUT]
        c = state.channels[router, i]
        c[TO], c[CHANNEL] = o // how.channels, o
        c[STATE], c[READY] = ACTIVE, now + 1
        state.taken[router, o] = 1


@njit(cache=True)
def _switch(
    links: Links, how: How, state: State, scratch: Scratch, router: int, what: tuple[int, int]
) -> None:
    """Let flits through: those that hold the switch, then those that ask, some by a guess."""
    now, guesses = what
    pointers, each = state.pointers[router], how.channels
    ports = state.channels.shape[1] // each
    size = ports * how.input_ports, ports * how.output_ports
    if how.holds:
        _go_on(links, how, state, scratch, router, now)
    count = 0
    for j in range(state.routers[router, BUSY]):
        i = state.busy[router, j]
        c = state.channels[router, i]
        if may_ask(state, router, i, now):
            count = _ask_for_switch(how, state, scratch, router, (i, c[TO], count, 0))
    for j in range(guesses):
        i, output = scratch.guesses[j]
        count = _ask_for_switch(how, state, scratch, router, (i, output, count, GUESSED))
    for a in range(count):
        scratch.best[scratch.asks[a, INPUT], scratch.asks[a, OUTPUT]] = NONE
    wins = match(
        how.switch_kind, how.iterations, scratch.asks, count, size,
        pointers[SWITCH_OFFERS], pointers[SWITCH_ACCEPTS], scratch,
    )  # fmt: skip
    for j in range(wins):
        ask = scratch.asks[scratch.wins[j]]
        if how.guesses and not _is_right(how, state, scratch, router, ask, now):
            continue
        _win(links, how, state, scratch, router, (ask[INPUT], ask[OUTPUT], ask[LABEL], now))
    if how.holds:
        scratch.used[:] = 0
    if how.guesses:
        scratch.spoilt[:] = 0


@njit(cache=True)
def _is_right(
    how: How, state: State, scratch: Scratch, router: int, ask: Ints, now: int
) -> bool:
    """True if a request that won may send: a guess must have won a channel there, with a slot."""
    i = ask[LABEL]
    if ask[PRIORITY] != GUESSED:
        return True
    if scratch.spoilt[i]:
        return False
    state.pointers[router, TURNS, ask[INPUT]] = _next_turn(how, i)
    c = state.channels[router, i]
    is_active = c[STATE] == ACTIVE and c[TO] == ask[OUTPUT] // how.output_ports
    return bool(is_active and state.credits[router, c[CHANNEL]] > 0)


@njit(cache=True)
def _next_turn(how: How, channel: int) -> int:
    """Channel of an input of the switch that comes first after one that won."""
    return (channel % how.channels + how.input_ports) % how.channels


@njit(cache=True)
def _win(
    links: Links, how: How, state: State, scratch: Scratch, router: int,
    what: tuple[int, int, int, int],
) -> None:  # fmt: skip
    """Send from a channel that won an input and an output of the switch."""
    e, o, i, now = what
    pointers = state.pointers[router]
    pointers[TURNS, e] = _next_turn(how, i)
    if how.holds:
        scratch.used[0, e], scratch.used[1, o] = 1, 1
    is_tail = send(links, how, state, router, i, now)
    if how.holds and not is_tail and state.channels[router, i, HELD] > 0:
        pointers[HELD_CHANNEL, e], pointers[HELD_OUTPUT, e] = i, o


@njit(cache=True)
def _go_on(links: Links, how: How, state: State, scratch: Scratch, router: int, now: int) -> None:
    """Send from channels that hold the switch; one that cannot lets go of it after this cycle."""
    held = state.pointers[router, HELD_CHANNEL]
    for e in range(state.channels.shape[1] // how.channels * how.input_ports):
        i = held[e]
        if i == NONE:
            continue
        scratch.used[0, e], scratch.used[1, state.pointers[router, HELD_OUTPUT, e]] = 1, 1
        c = state.channels[router, i]
        if (
            state.credits[router, c[CHANNEL]] == 0
            or send(links, how, state, router, i, now)
            or c[HELD] == 0
        ):
            held[e] = NONE
