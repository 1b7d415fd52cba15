"""Replay of schedules, chunk by chunk, by what each node holds: no plan is looked at.

A node holds a set of contributions, as bits, or the complete chunk. What joins must be disjoint
from what the receiver holds; what is sent to be joined is given away. Through a switch that neither
copies nor reduces, what came with a flight leaves with it, once. A switch holds what has begun to
come in; what it sends must not end before all of that is there.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]
State = tuple[Words, Bools, Floats, Words, Ints]

FINE, EMPTY, TWICE, UNFINISHED = 0, 1, 2, 3


@njit(cache=True, nogil=True)
def replay_chunk(
    npus: int,
    nodes: int,
    copies: bool,
    reduces: bool,
    tail: Ints,
    head: Ints,
    joins: Bools,
    flight: Ints,
    start: Floats,
    done: Floats,
    begun: Floats,
    there: Floats,
    by_begin: Ints,
    slack: float,
    holder: int,
    words: int,
    state: State,
) -> int:
    """Play one chunk's sends, which are in order of start.

    Args:
        npus: NPUs, the first nodes.
        nodes: NPUs and switches.
        copies: Whether switches copy.
        reduces: Whether switches combine.
        tail: (s,) node that sends.
        head: (s,) node that receives.
        joins: (s,) whether it joins.
        flight: (s,) small numbers of flights.
        start: (s,) when it begins.
        done: (s,) when its link has carried it.
        begun: (s,) when the receiver holds it: where that is a switch, when it begins to come in.
        there: (s,) when all of it is there.
        by_begin: (s,) sends in order of ``begun``; changed among those of about one time.
        slack: Difference of times that is rounding.
        holder: Node that has all of the chunk at first; -1: every NPU has a part.
        words: Words of 64 bits for the parts of NPUs.
        state: Workspaces: (nodes, words) what each node holds; (nodes,) whether it is the whole
            chunk; (nodes,) when all of it is there; (s, words) what each send carries; (flights,)
            sends that a switch has to pass on.

    Returns:
        What is wrong, and FINE for nothing.
    """
    held, complete, since, carried, waiting = state
    begin_chunk(npus, holder, held, complete, since)
    waiting[:] = -1
    landed = 0
    what = head, joins, flight, begun, there, by_begin
    for send in range(len(tail)):
        until = start[send] + slack
        landed, wrong = land_until(landed, send, until, npus, words, copies, reduces, what, state)
        if wrong:
            return wrong
        node = tail[send]
        if node >= npus and not (reduces if joins[send] else copies):
            came = waiting[flight[send]]
            if came < 0 or head[came] != node or done[send] < there[came] - slack:
                return EMPTY
            waiting[flight[send]] = -1
            carried[send] = carried[came]
        elif done[send] < since[node] - slack:
            return EMPTY
        elif joins[send]:
            some = np.uint64(0)
            for word in range(words):
                some |= held[node, word]
                carried[send, word] = held[node, word]
                held[node, word] = 0
            whole = parts(carried[send], words) == npus
            since[node] = -np.inf
            if not some or (complete[node] and not whole):
                return EMPTY
            if whole:  # the sum itself moves on
                complete[node] = False
        elif not complete[node]:
            return EMPTY
    sends = len(tail)
    return land_until(landed, sends, np.inf, npus, words, copies, reduces, what, state)[1]


@njit(cache=True, nogil=True)
def land_until(
    landed: int,
    played: int,
    until: float,
    npus: int,
    words: int,
    copies: bool,
    reduces: bool,
    what: tuple[Ints, Bools, Ints, Floats, Floats, Ints],
    state: State,
) -> tuple[int, int]:
    """Let sends before *played* come in that do so by a time: how many have, and what is wrong.

    Through switches sends go on when they begin: some that come in by then are still to be played.
    """
    head, joins, flight, begun, there, by_begin = what
    at = landed
    while at < len(head) and begun[by_begin[at]] <= until:
        send = by_begin[at]
        at += 1
        if send >= played:
            continue
        for place in range(at - 1, landed, -1):
            by_begin[place] = by_begin[place - 1]
        by_begin[landed] = send
        able = reduces if joins[send] else copies
        passes_on = head[send] >= npus and not able
        wrong = land(
            send, head[send], npus, words, passes_on, joins[send], flight[send], there[send], state
        )
        landed += 1
        if wrong:
            return landed, wrong
    return landed, FINE


@njit(cache=True, nogil=True)
def begin_chunk(npus: int, holder: int, held: Words, complete: Bools, since: Floats) -> None:
    """Set what nodes hold at first."""
    held[:] = 0
    complete[:] = False
    since[:] = -np.inf
    if holder >= 0:
        complete[holder] = True
        return
    for npu in range(npus):
        held[npu, npu >> 6] = np.uint64(1) << np.uint64(npu & 63)


@njit(cache=True, nogil=True)
def parts(held: Words, words: int) -> int:
    """Contributions that a set of bits holds."""
    count = 0
    for word in range(words):
        bits = held[word]
        while bits:
            bits &= bits - np.uint64(1)
            count += 1
    return count


@njit(cache=True, nogil=True)
def land(
    send: int,
    node: int,
    npus: int,
    words: int,
    passes_on: bool,
    joins: bool,
    flight: int,
    there: float,
    state: State,
) -> int:
    """Let a send come in; what is wrong."""
    held, complete, since, carried, waiting = state
    if passes_on:
        if waiting[flight] >= 0:
            return TWICE
        waiting[flight] = send
        return FINE
    since[node] = max(since[node], there)
    if not joins:
        complete[node] = True
        return FINE
    for word in range(words):
        if held[node, word] & carried[send, word]:
            return TWICE
        held[node, word] |= carried[send, word]
    complete[node] = parts(held[node], words) == npus
    return FINE


@njit(cache=True, nogil=True)
def replay_all(
    npus: int,
    nodes: int,
    copies: bool,
    reduces: bool,
    everyone: bool,
    begins: Ints,
    tail: Ints,
    head: Ints,
    joins: Bools,
    flight: Ints,
    start: Floats,
    done: Floats,
    begun: Floats,
    there: Floats,
    by_begin: Ints,
    slack: float,
    holder: Ints,
    keeper: Ints,
) -> tuple[int, int]:
    """Play every chunk: the first that is wrong, and what is.

    Args:
        npus: As for ``replay_chunk``, and so on to ``reduces``.
        nodes: As there.
        copies: As there.
        reduces: As there.
        everyone: Whether every NPU must end with every chunk.
        begins: (C + 1,) where the sends of each chunk begin.
        tail: (S,) as there, and so on.
        head: As there.
        joins: As there.
        flight: As there.
        start: As there.
        done: As there.
        begun: As there.
        there: As there.
        by_begin: (S,) sends of each chunk in order of ``begun``, counted from its first.
        slack: As there.
        holder: (C,) as there.
        keeper: (C,) NPU that must end with the chunk.
    """
    words = (npus + 63) // 64 if len(holder) and holder.min() < 0 else 1
    most = (begins[1:] - begins[:-1]).max() if len(holder) else 0
    held, complete = np.zeros((nodes, words), np.uint64), np.zeros(nodes, np.bool_)
    carried, waiting = np.zeros((most, words), np.uint64), np.zeros(most, np.int64)
    state = held, complete, np.empty(nodes), carried, waiting
    for chunk in range(len(holder)):
        a, b = begins[chunk], begins[chunk + 1]
        wrong = replay_chunk(
            npus,
            nodes,
            copies,
            reduces,
            tail[a:b],
            head[a:b],
            joins[a:b],
            flight[a:b],
            start[a:b],
            done[a:b],
            begun[a:b],
            there[a:b],
            by_begin[a:b],
            slack,
            holder[chunk],
            words,
            state,
        )
        if wrong == FINE:
            if everyone:
                wrong = FINE if complete[:npus].all() else UNFINISHED
            else:
                wrong = FINE if complete[keeper[chunk]] else UNFINISHED
        if wrong != FINE:
            return chunk, wrong
    return -1, FINE
