"""Remaining work of a stage's NPU, written down so that equal situations are recognised.

A record tells a situation completely, times relative to its own: mode and piece of the current
unit, how many units ago the forward pass lies that it still waits for, then one entry per node:
units ago and piece of the block, place, state, and of a running node slot, end, when that was
scheduled, its rank among those of the same end and schedule, and the two times of its cause. Of a
current unit that waits for its message the nodes listed are those that are *not* waiting, of all
others the unfinished ones.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.stage_layout import Layout
from simcore.kernels.stages.stage_npu import add_block, clear, free, next_slot

_HEADER = 3
_ENTRY = 10
_AGE, _PIECE, _PLACE, _STATE, _SLOT, _END, _SCHEDULED, _RANK, _CAUSE, _CAUSE_DECIDED = range(10)

Ints = NDArray[np.int64]


@njit(cache=True)
def write_record(fixed: Ints, live: Ints, at: Layout, npu: int, mode: int, now: int) -> int:
    """Write the situation of an NPU at *now* to the buffer; its length."""
    to = at.buffer
    live[to] = mode
    blocks, unit = live[npu + f.BLOCKS], live[npu + f.UNIT]
    live[to + 1] = live[npu + at.block + 2 * (blocks - 1)]
    loss = live[npu + f.LOSS_AT]
    live[to + 2] = 0
    if loss >= 0:
        live[to + 2] = unit - live[npu + at.block + 2 * (loss >> at.shift) + 1]
    entry = to + _HEADER
    for block in range(blocks):
        piece = live[npu + at.block + 2 * block]
        age = unit - live[npu + at.block + 2 * block + 1]
        lists_waiting = mode != f.AWAITS_MESSAGE or block + 1 < blocks
        first = npu + at.node + (block << at.shift)
        for place in range(fixed[piece + f.NODES]):
            state = live[first + place]
            if state == f.DONE if lists_waiting else state > f.IS_READY:
                continue
            if state == f.DONE and fixed[fixed[piece + f.MISSES] + place] == f.DONE:
                continue
            if entry + _ENTRY > to + at.buffer_size:
                live[f.FAILURE] = f.FULL
                return 0
            live[entry + _AGE] = age
            live[entry + _PIECE] = piece
            live[entry + _PLACE] = place
            live[entry + _STATE] = state
            for field in range(_SLOT, _ENTRY):
                live[entry + field] = 0
            if state == f.RUNS:
                _write_slot(live, at, npu, (block << at.shift) + place, now, entry)
            entry += _ENTRY
    return entry - to


@njit(cache=True)
def _write_slot(live: Ints, at: Layout, npu: int, position: int, now: int, entry: int) -> None:
    slot = npu + f.SLOT
    while live[slot] != position:
        slot += f.SLOT_FIELDS
    end, scheduled = live[slot + n.END], live[slot + f.SCHEDULED]
    live[entry + _SLOT] = slot - npu
    live[entry + _END] = end - now
    live[entry + _SCHEDULED] = scheduled - now
    live[entry + _RANK] = _rank(live, at, npu, slot)
    live[entry + _CAUSE] = later(live[slot + f.CAUSE], -now)
    live[entry + _CAUSE_DECIDED] = later(live[slot + f.CAUSE_DECIDED], -now)


@njit(cache=True)
def later(time: int, delay: int) -> int:
    """A time later; never remains never."""
    return time if time == n.NEVER else time + delay


@njit(cache=True)
def _rank(live: Ints, at: Layout, npu: int, slot: int) -> int:
    """Count of nodes of the same end and schedule before the one in *slot*."""
    rank = 0
    for number in range(at.slots):
        other = npu + f.SLOT + number * f.SLOT_FIELDS
        if live[other] < 0 or live[other + f.NUMBER] >= live[slot + f.NUMBER]:
            continue
        if live[other + n.END] == live[slot + n.END]:
            rank += 1 if live[other + f.SCHEDULED] == live[slot + f.SCHEDULED] else 0
    return rank


@njit(cache=True)
def intern(live: Ints, at: Layout, npu: int, length: int, now: int) -> int:
    """Number of the state whose record lies in the buffer; it is kept if it is new."""
    record = at.buffer
    key = length
    for offset in range(length):
        key = (key ^ live[record + offset]) * 1099511628211
        key ^= key >> 29
    place = key & (at.table_size - 1)
    while True:
        number = live[at.state_table + place]
        state = at.state + number * f.STATE_FIELDS
        if not (0 <= number < live[f.STATES] and live[state + f.STATE_PLACE] == place):
            break
        found = live[state + f.HASH] == key and live[state + f.LENGTH] == length
        if found and same(live, live[state + f.RECORD], record, length):
            return int(number)
        place = (place + 1) & (at.table_size - 1)
    number = live[f.STATES]
    if number >= at.states or live[f.POOL_END] + length > at.pool_end:
        live[f.FAILURE] = f.FULL
        return 0
    live[f.STATES] += 1
    live[at.state_table + place] = number
    state = at.state + number * f.STATE_FIELDS
    live[state + f.RECORD] = live[f.POOL_END]
    live[state + f.LENGTH] = length
    live[state + f.HASH] = key
    live[state + f.STATE_PLACE] = place
    live[state + f.LAST_VALUE] = n.NEVER
    live[state + f.STATE_MODE] = live[record]
    live[state + f.STATE_PIECE] = live[record + 1]
    slot = next_slot(live, at, npu)
    live[state + f.HEAD_END] = live[slot + n.END] - now if slot >= 0 else n.NEVER
    live[state + f.HEAD_SCHEDULED] = live[slot + f.SCHEDULED] - now if slot >= 0 else n.NEVER
    live[state + f.HEAD_CAUSE] = later(live[slot + f.CAUSE], -now) if slot >= 0 else n.NEVER
    decided = later(live[slot + f.CAUSE_DECIDED], -now) if slot >= 0 else n.NEVER
    live[state + f.HEAD_CAUSE_DECIDED] = decided
    for offset in range(length):
        live[live[f.POOL_END] + offset] = live[record + offset]
    live[f.POOL_END] += length
    return int(number)


@njit(cache=True)
def same(live: Ints, one: int, other: int, length: int) -> bool:
    """True if *length* values are the same at two addresses."""
    for offset in range(length):  # noqa: SIM110 (a compiled loop)
        if live[one + offset] != live[other + offset]:
            return False
    return True


@njit(cache=True)
def restore(fixed: Ints, live: Ints, at: Layout, npu: int, number: int, now: int) -> None:
    """Put an NPU into the state *number*, at *now*; its current unit counts as unit 0."""
    state = at.state + number * f.STATE_FIELDS
    record, behind = live[state + f.RECORD], live[state + f.RECORD] + live[state + f.LENGTH]
    piece, awaits_message = live[record + 1], live[record] == f.AWAITS_MESSAGE
    clear(live, at, npu, now, n.ZERO)
    live[npu + f.NUMBERS] = at.slots
    first = record + _HEADER
    while first < behind:
        last, age = first, live[first + _AGE]
        while last < behind and live[last + _AGE] == age:
            last += _ENTRY
        if age == 0 and awaits_message:
            break
        add_block(live, at, npu, live[first + _PIECE], -age)
        block = live[npu + f.BLOCKS] - 1
        node = npu + at.node + (block << at.shift)
        for place in range(fixed[live[first + _PIECE] + f.NODES]):
            live[node + place] = f.DONE
        if age > 0 and age == live[record + 2]:
            live[npu + f.LOSS_AT] = (block << at.shift) + fixed[live[first + _PIECE] + f.EXIT]
        _restore_entries(fixed, live, at, npu, first, last, now)
        first = last
    if awaits_message:
        _restore_waiting(fixed, live, at, npu, piece, first, behind)
        _restore_entries(fixed, live, at, npu, first, behind, now)
    else:
        base = (live[npu + f.BLOCKS] - 1) << at.shift
        live[npu + f.LAST_NODE] = base + fixed[piece + f.LAST]


@njit(cache=True)
def _restore_waiting(
    fixed: Ints, live: Ints, at: Layout, npu: int, piece: int, first: int, behind: int
) -> None:
    """The block of a unit that waits for its message."""
    add_block(live, at, npu, piece, n.ZERO)
    block = live[npu + f.BLOCKS] - 1
    rows, nodes = fixed[piece + f.ROWS], fixed[piece + f.NODES]
    node, misses = npu + at.node + (block << at.shift), fixed[piece + f.MISSES]
    for place in range(nodes):
        live[node + place] = fixed[misses + place]
    _discount(fixed, live, node, fixed[piece + f.OUTSIDE])
    if live[npu + f.LOSS_AT] < 0:
        _discount(fixed, live, node, fixed[piece + f.OUTSIDE] + f.NODE_FIELDS)
    for entry in range(first, behind, _ENTRY):
        if live[entry + _STATE] == f.DONE:
            _discount(fixed, live, node, rows + live[entry + _PLACE] * f.NODE_FIELDS)
    last = fixed[piece + f.LAST]
    live[npu + f.LAST_NODE] = (block << at.shift) + last if last >= 0 else -1


@njit(cache=True)
def _discount(fixed: Ints, live: Ints, node: int, row: int) -> None:
    for edge in range(fixed[row + n.CHILDREN], fixed[row + f.NODE_FIELDS + n.CHILDREN]):
        live[node + fixed[edge]] -= 1


@njit(cache=True)
def _restore_entries(
    fixed: Ints, live: Ints, at: Layout, npu: int, first: int, behind: int, now: int
) -> None:
    """The nodes that the record lists, all of the newest block."""
    base = (live[npu + f.BLOCKS] - 1) << at.shift
    last = fixed[live[npu + at.block + 2 * (live[npu + f.BLOCKS] - 1)] + f.LAST]
    for entry in range(first, behind, _ENTRY):
        place, state = live[entry + _PLACE], live[entry + _STATE]
        position = base + place
        live[npu + at.node + position] = state
        if state == f.IS_READY:
            free(fixed, live, at, npu, position)
        elif state == f.RUNS:
            slot = npu + live[entry + _SLOT]
            live[slot] = position
            live[slot + n.END] = live[entry + _END] + now
            live[slot + f.SCHEDULED] = live[entry + _SCHEDULED] + now
            live[slot + f.NUMBER] = live[entry + _RANK]
            live[slot + f.CAUSE] = later(live[entry + _CAUSE], now)
            live[slot + f.CAUSE_DECIDED] = later(live[entry + _CAUSE_DECIDED], now)
            piece = live[npu + at.block + 2 * (live[npu + f.BLOCKS] - 1)]
            live[slot + n.ROW] = fixed[piece + f.ROWS] + place * f.NODE_FIELDS
            if place == last and live[entry + _AGE] == 0:
                live[npu + f.LAST_ENDS] = live[slot + n.END]


@njit(cache=True)
def has_started(
    fixed: Ints, live: Ints, at: Layout, number: int, units_ago: int, place: int
) -> bool:
    """True if a node had started in the state *number*.

    It is the node at a *place* of the unit so many *units_ago* from the current one (negative: of
    one that comes later).
    """
    state = at.state + number * f.STATE_FIELDS
    record, behind = live[state + f.RECORD], live[state + f.RECORD] + live[state + f.LENGTH]
    piece = live[record + 1]
    if fixed[piece + f.LAST] < 0 and units_ago <= 0:  # one piece up to the end of the iteration
        place += fixed[fixed[piece + f.STARTS] + fixed[piece + f.FIRST_UNIT] - units_ago]
        units_ago = n.ZERO
    if units_ago < 0:
        return False
    for entry in range(record + _HEADER, behind, _ENTRY):
        if live[entry + _AGE] == units_ago and live[entry + _PLACE] == place:
            return bool(live[entry + _STATE] < f.IS_READY)
    return bool(units_ago > 0 or live[record] != f.AWAITS_MESSAGE)


@njit(cache=True)
def copy_npu(live: Ints, at: Layout, source: int, target: int) -> None:
    """Make the NPU at *target* a copy of that at *source*."""
    for offset in range(at.ready):
        live[target + offset] = live[source + offset]
    for lane in range(at.lanes):
        heap = at.ready + lane * at.room
        for offset in range(heap, heap + live[source + n.READY + lane]):
            live[target + offset] = live[source + offset]
    for offset in range(at.node, at.node + (live[source + f.BLOCKS] << at.shift)):
        live[target + offset] = live[source + offset]


@njit(cache=True)
def alike(live: Ints, at: Layout, one: int, other: int) -> bool:
    """True if two NPUs, copies of one that have gone on, are in the same situation."""
    logged = live[one + f.LOGGED]
    if logged != live[other + f.LOGGED]:
        return False
    nodes = live[one + f.BLOCKS] << at.shift
    for first, length in (
        (at.booked, at.categories + 1),
        (at.log, logged * f.LOG_FIELDS),
        (at.node, nodes),
    ):
        if not same(live, one + first, other + first, length):
            return False
    for number in range(at.slots):
        slot = f.SLOT + number * f.SLOT_FIELDS
        if live[one + slot] < 0 and live[other + slot] < 0:
            continue
        if not same(live, one + slot, other + slot, f.NUMBER):
            return False
        if _rank(live, at, one, one + slot) != _rank(live, at, other, other + slot):
            return False
    return True
