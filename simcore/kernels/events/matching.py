"""Sends and receives find each other: per (tag, source, destination, size), the k-th the k-th.

Or bytes are counted: what arrives with a tag from a source is taken by the receives in the order in
which they were posted, and a receive ends when as many bytes as it awaits have come, in however
many messages.
"""

from simcore.kernels.events import layout as f
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.fold.ties import touch
from simcore.kernels.events.layout import Ints
from simcore.kernels.events.structures.arena import allocate, clear, release
from simcore.kernels.events.structures.event_queue import schedule
from simcore.kernels.events.structures.keyed_fifo import mixed


@kernel
def _slot(arena: Ints, tag: int, src: int, dst: int, size: int) -> int:
    return mixed(mixed(tag, size), mixed(src, dst)) & (arena[f.MATCH_CAPACITY] - 1)


@kernel
def _find(arena: Ints, tag: int, src: int, dst: int, size: int) -> int:
    """The word that points at the match of the key, or at the end of its chain."""
    where = arena[f.MATCHES] + _slot(arena, tag, src, dst, size)
    while True:
        match = arena[where]
        if match == 0 or (
            arena[match + f.MATCH_DST] == dst
            and arena[match + f.MATCH_TAG] == tag
            and arena[match + f.MATCH_SRC] == src
            and arena[match + f.MATCH_BYTES] == size
        ):
            return where
        where = match + f.MATCH_CHAIN


@kernel
def _new(arena: Ints, where: int, tag: int, src: int, dst: int, size: int) -> int:
    match = allocate(arena, f.MATCH_WORDS)
    arena[match + f.MATCH_CHAIN] = 0
    arena[match + f.MATCH_TAG] = tag
    arena[match + f.MATCH_SRC] = src
    arena[match + f.MATCH_DST] = dst
    arena[match + f.MATCH_BYTES] = size
    arena[match + f.MATCH_ARRIVED] = 0
    arena[match + f.MATCH_HEAD] = 0
    arena[match + f.MATCH_MARK] = 0
    arena[where] = match
    arena[f.MATCH_COUNT] += 1
    return match


@kernel
def _drop(arena: Ints, where: int) -> None:
    match = arena[where]
    arena[where] = arena[match + f.MATCH_CHAIN]
    arena[f.MATCH_COUNT] -= 1
    release(arena, match, f.MATCH_WORDS)


@kernel
def arrived(arena: Ints, tag: int, src: int, dst: int, size: int) -> int:
    """Take note of a message; the event of the receive that waited for it, or 0."""
    if arena[f.COUNTS_BYTES] != 0:
        return _bytes_arrived(arena, tag, src, dst, size)
    where = _find(arena, tag, src, dst, size)
    match = arena[where]
    if match == 0:
        match = _new(arena, where, tag, src, dst, size)
    touch(arena, match + f.MATCH_MARK)
    receive = arena[match + f.MATCH_HEAD]
    if receive == 0:
        arena[match + f.MATCH_ARRIVED] += 1
        return 0
    arena[match + f.MATCH_HEAD] = arena[receive + f.EVENT_NEXT]
    if arena[match + f.MATCH_HEAD] == 0:
        _drop(arena, where)
    arena[f.RECEIVED_MESSAGES] += 1
    arena[f.RECEIVED_BYTES] += size
    return receive


@kernel
def post_receive(arena: Ints, tag: int, src: int, dst: int, size: int, receive: int) -> None:
    """Run the event *receive* when the message is there: now at the earliest."""
    if arena[f.COUNTS_BYTES] != 0:
        _post_for_bytes(arena, tag, src, dst, size, receive)
        return
    where = _find(arena, tag, src, dst, size)
    match = arena[where]
    if match == 0:
        match = _new(arena, where, tag, src, dst, size)
    touch(arena, match + f.MATCH_MARK)
    if arena[match + f.MATCH_ARRIVED] > 0:
        arena[match + f.MATCH_ARRIVED] -= 1
        if arena[match + f.MATCH_ARRIVED] == 0:
            _drop(arena, where)
        arena[f.RECEIVED_MESSAGES] += 1
        arena[f.RECEIVED_BYTES] += size
        schedule(arena, arena[f.NOW_NS], receive)
        return
    _append(arena, match, receive)


@kernel
def _append(arena: Ints, match: int, receive: int) -> None:
    arena[receive + f.EVENT_NEXT] = 0
    if arena[match + f.MATCH_HEAD] == 0:
        arena[match + f.MATCH_HEAD] = receive
    else:
        arena[arena[match + f.MATCH_TAIL] + f.EVENT_NEXT] = receive
    arena[match + f.MATCH_TAIL] = receive


@kernel
def _bytes_arrived(arena: Ints, tag: int, src: int, dst: int, size: int) -> int:
    """Count the bytes of a message; the event of the first receive that they end, or 0."""
    where = _find(arena, tag, src, dst, f.ANY_SIZE)
    match = arena[where]
    if match == 0:
        match = _new(arena, where, tag, src, dst, f.ANY_SIZE)
    arena[match + f.MATCH_ARRIVED] += size
    first = _take(arena, match)
    if first != 0:
        _end_receives(arena, where)
    return first


@kernel
def _post_for_bytes(arena: Ints, tag: int, src: int, dst: int, size: int, receive: int) -> None:
    """Let a receive await bytes, after those that were posted before."""
    where = _find(arena, tag, src, dst, f.ANY_SIZE)
    match = arena[where]
    if match == 0:
        match = _new(arena, where, tag, src, dst, f.ANY_SIZE)
    arena[receive + f.EVENT_AWAITED] = size
    _append(arena, match, receive)
    _end_receives(arena, where)


@kernel
def _take(arena: Ints, match: int) -> int:
    """Give the first receive its bytes and take it off; 0 where it awaits more, or none waits."""
    receive = arena[match + f.MATCH_HEAD]
    if receive == 0 or arena[receive + f.EVENT_AWAITED] > arena[match + f.MATCH_ARRIVED]:
        return 0
    arena[match + f.MATCH_ARRIVED] -= arena[receive + f.EVENT_AWAITED]
    arena[match + f.MATCH_HEAD] = arena[receive + f.EVENT_NEXT]
    arena[f.RECEIVED_MESSAGES] += 1
    arena[f.RECEIVED_BYTES] += arena[receive + f.EVENT_AWAITED]
    return receive


@kernel
def _end_receives(arena: Ints, where: int) -> None:
    """Run the events of all receives whose bytes are there, now; drop a match of nothing."""
    match = arena[where]
    receive = _take(arena, match)
    while receive != 0:
        schedule(arena, arena[f.NOW_NS], receive)
        receive = _take(arena, match)
    if arena[match + f.MATCH_HEAD] == 0 and arena[match + f.MATCH_ARRIVED] == 0:
        _drop(arena, where)


@kernel
def double_match_table(arena: Ints) -> None:
    """Move the matches to a table of twice the size; there must be room for it."""
    old, capacity = arena[f.MATCHES], arena[f.MATCH_CAPACITY]
    table = arena[f.NEXT_WORD]
    arena[f.NEXT_WORD] = table + 2 * capacity
    clear(arena, table, 2 * capacity)
    arena[f.MATCHES] = table
    arena[f.MATCH_CAPACITY] = 2 * capacity
    for slot in range(old, old + capacity):
        match = arena[slot]
        while match != 0:
            after = arena[match + f.MATCH_CHAIN]
            where = table + _slot(
                arena,
                arena[match + f.MATCH_TAG],
                arena[match + f.MATCH_SRC],
                arena[match + f.MATCH_DST],
                arena[match + f.MATCH_BYTES],
            )
            arena[match + f.MATCH_CHAIN] = arena[where]
            arena[where] = match
            match = after
