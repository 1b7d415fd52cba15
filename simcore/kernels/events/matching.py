"""Sends and receives find each other: per (tag, source, destination, size), the k-th the k-th."""

from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.fold.ties import touch
from simcore.kernels.events.layout import (
    EVENT_NEXT,
    MATCH_ARRIVED,
    MATCH_BYTES,
    MATCH_CAPACITY,
    MATCH_CHAIN,
    MATCH_COUNT,
    MATCH_DST,
    MATCH_HEAD,
    MATCH_MARK,
    MATCH_SRC,
    MATCH_TAG,
    MATCH_TAIL,
    MATCH_WORDS,
    MATCHES,
    NEXT_WORD,
    NOW_NS,
    RECEIVED_BYTES,
    RECEIVED_MESSAGES,
    Ints,
)
from simcore.kernels.events.structures.arena import allocate, clear, release
from simcore.kernels.events.structures.event_queue import schedule
from simcore.kernels.events.structures.keyed_fifo import mixed


@kernel
def _slot(arena: Ints, tag: int, src: int, dst: int, size: int) -> int:
    return mixed(mixed(tag, size), mixed(src, dst)) & (arena[MATCH_CAPACITY] - 1)


@kernel
def _find(arena: Ints, tag: int, src: int, dst: int, size: int) -> int:
    """The word that points at the match of the key, or at the end of its chain."""
    where = arena[MATCHES] + _slot(arena, tag, src, dst, size)
    while True:
        match = arena[where]
        if match == 0 or (
            arena[match + MATCH_DST] == dst
            and arena[match + MATCH_TAG] == tag
            and arena[match + MATCH_SRC] == src
            and arena[match + MATCH_BYTES] == size
        ):
            return where
        where = match + MATCH_CHAIN


@kernel
def _new(arena: Ints, where: int, tag: int, src: int, dst: int, size: int) -> int:
    match = allocate(arena, MATCH_WORDS)
    arena[match + MATCH_CHAIN] = 0
    arena[match + MATCH_TAG] = tag
    arena[match + MATCH_SRC] = src
    arena[match + MATCH_DST] = dst
    arena[match + MATCH_BYTES] = size
    arena[match + MATCH_ARRIVED] = 0
    arena[match + MATCH_HEAD] = 0
    arena[match + MATCH_MARK] = 0
    arena[where] = match
    arena[MATCH_COUNT] += 1
    return match


@kernel
def _drop(arena: Ints, where: int) -> None:
    match = arena[where]
    arena[where] = arena[match + MATCH_CHAIN]
    arena[MATCH_COUNT] -= 1
    release(arena, match, MATCH_WORDS)


@kernel
def arrived(arena: Ints, tag: int, src: int, dst: int, size: int) -> int:
    """Take note of a message; the event of the receive that waited for it, or 0."""
    where = _find(arena, tag, src, dst, size)
    match = arena[where]
    if match == 0:
        match = _new(arena, where, tag, src, dst, size)
    touch(arena, match + MATCH_MARK)
    receive = arena[match + MATCH_HEAD]
    if receive == 0:
        arena[match + MATCH_ARRIVED] += 1
        return 0
    arena[match + MATCH_HEAD] = arena[receive + EVENT_NEXT]
    if arena[match + MATCH_HEAD] == 0:
        _drop(arena, where)
    arena[RECEIVED_MESSAGES] += 1
    arena[RECEIVED_BYTES] += size
    return receive


@kernel
def post_receive(arena: Ints, tag: int, src: int, dst: int, size: int, receive: int) -> None:
    """Run the event *receive* when the message is there: now at the earliest."""
    where = _find(arena, tag, src, dst, size)
    match = arena[where]
    if match == 0:
        match = _new(arena, where, tag, src, dst, size)
    touch(arena, match + MATCH_MARK)
    if arena[match + MATCH_ARRIVED] > 0:
        arena[match + MATCH_ARRIVED] -= 1
        if arena[match + MATCH_ARRIVED] == 0:
            _drop(arena, where)
        arena[RECEIVED_MESSAGES] += 1
        arena[RECEIVED_BYTES] += size
        schedule(arena, arena[NOW_NS], receive)
        return
    arena[receive + EVENT_NEXT] = 0
    if arena[match + MATCH_HEAD] == 0:
        arena[match + MATCH_HEAD] = receive
    else:
        arena[arena[match + MATCH_TAIL] + EVENT_NEXT] = receive
    arena[match + MATCH_TAIL] = receive


@kernel
def double_match_table(arena: Ints) -> None:
    """Move the matches to a table of twice the size; there must be room for it."""
    old, capacity = arena[MATCHES], arena[MATCH_CAPACITY]
    table = arena[NEXT_WORD]
    arena[NEXT_WORD] = table + 2 * capacity
    clear(arena, table, 2 * capacity)
    arena[MATCHES] = table
    arena[MATCH_CAPACITY] = 2 * capacity
    for slot in range(old, old + capacity):
        match = arena[slot]
        while match != 0:
            after = arena[match + MATCH_CHAIN]
            where = table + _slot(
                arena,
                arena[match + MATCH_TAG],
                arena[match + MATCH_SRC],
                arena[match + MATCH_DST],
                arena[match + MATCH_BYTES],
            )
            arena[match + MATCH_CHAIN] = arena[where]
            arena[where] = match
            match = after
