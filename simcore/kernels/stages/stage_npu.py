"""One stage's NPU, node by node and unit by unit.

The rules are those of ``npu.feeder``. Here an NPU is followed alone, one unit of its schedule after
another; what it sends is logged, and whoever calls brings what it receives.

Arguments: ``fixed`` and ``live`` (flat int64), their layout *at*, and the address of the NPU.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.npu.feeder import book, ends_too, make_ready, scheduled_at, take_next
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.stage_layout import Layout

Ints = NDArray[np.int64]


@njit(cache=True)
def clear(live: Ints, at: Layout, npu: int, now: int, unit: int) -> None:
    """An NPU that has nothing to do since *now*."""
    for field in range(f.SLOT):
        live[npu + field] = 0
    live[npu + n.BOOKED_UNTIL] = now
    live[npu + f.UNIT] = unit
    live[npu + f.LAST_NODE] = live[npu + f.LOSS_AT] = live[npu + f.NEXT_PIECE] = -1
    live[npu + f.LAST_ENDS] = live[npu + f.UNDER_WAY] = live[npu + f.DECIDED] = n.NEVER
    for slot in range(at.slots):
        live[npu + f.SLOT + slot * f.SLOT_FIELDS] = -1
    for category in range(at.categories + 1):
        live[npu + at.booked + category] = 0


@njit(cache=True)
def enter(
    fixed: Ints, live: Ints, at: Layout, npu: int, piece: int, is_open: bool, forward_age: int
) -> None:
    """Begin a unit: it becomes the current one, and the unit before has ended its computes."""
    block = live[npu + f.BLOCKS]
    if block >= at.blocks:
        live[f.FAILURE] = f.FULL
        return
    live[npu + f.UNIT] += 1
    add_block(live, at, npu, piece, live[npu + f.UNIT])
    base = block << at.shift
    nodes = fixed[piece + f.NODES]
    node, misses = npu + at.node + base, fixed[piece + f.MISSES]
    for place in range(nodes):
        live[node + place] = fixed[misses + place]
        if live[node + place] == 0:
            free(fixed, live, at, npu, base + place)
    last = fixed[piece + f.LAST]
    live[npu + f.LAST_NODE] = base + last if last >= 0 else -1
    live[npu + f.LAST_ENDS] = n.NEVER
    release(fixed, live, at, npu, base, fixed[piece + f.OUTSIDE])
    live[npu + f.LOSS_AT] = _unfinished_exit(fixed, live, at, npu, forward_age)
    if live[npu + f.LOSS_AT] < 0:
        release(fixed, live, at, npu, base, fixed[piece + f.OUTSIDE] + f.NODE_FIELDS)
    if is_open and fixed[fixed[piece + f.RECEIVES]] >= 0:
        receive(fixed, live, at, npu, n.ZERO)


@njit(cache=True)
def add_block(live: Ints, at: Layout, npu: int, piece: int, unit: int) -> None:
    """One more unit is under way."""
    block = npu + at.block + 2 * live[npu + f.BLOCKS]
    live[block] = piece
    live[block + 1] = unit
    live[npu + f.BLOCKS] += 1


@njit(cache=True)
def receive(fixed: Ints, live: Ints, at: Layout, npu: int, unit: int) -> None:
    """The message of the current piece's *unit* is there."""
    block = live[npu + f.BLOCKS] - 1
    piece = live[npu + at.block + 2 * block]
    place = fixed[fixed[piece + f.RECEIVES] + unit]
    base = block << at.shift
    live[npu + f.UNDER_WAY] = live[npu + f.DECIDED] = n.NEVER
    live[npu + at.node + base + place] = f.DONE
    release(fixed, live, at, npu, base, fixed[piece + f.ROWS] + place * f.NODE_FIELDS)


@njit(cache=True)
def next_slot(live: Ints, at: Layout, npu: int) -> int:
    """The slot whose node ends next, -1: none will by itself."""
    best = n.ZERO - 1
    for number in range(at.slots):
        slot = npu + f.SLOT + number * f.SLOT_FIELDS
        if live[slot] < 0 or live[slot + n.END] == n.NEVER:
            continue
        if best < 0 or _ends_before(live, slot, best):
            best = slot
    return best


@njit(cache=True)
def step(fixed: Ints, live: Ints, at: Layout, npu: int, slot: int) -> None:
    """End the node in *slot*, and with it all others of this NPU that end at the same time."""
    now, row = live[slot + n.END], live[slot + n.ROW]
    kind = fixed[row + n.KIND]
    live[npu + f.UNDER_WAY] = live[npu + f.DECIDED] = live[slot + f.SCHEDULED]
    if kind == n.COMMUNICATION:
        live[npu + f.DECIDED] = now - live[at.times + fixed[row + f.ITEM] + n.DURATION]
    elif kind == n.SHARED:
        live[npu + f.DECIDED] = n.NEVER  # with the start of the last of its members
    _finish(fixed, live, at, npu, slot, now)
    if kind == n.SEND:
        return
    for number in range(at.slots):
        other = npu + f.SLOT + number * f.SLOT_FIELDS
        if ends_too(fixed, live, other, now):
            _finish(fixed, live, at, npu, other, now)


@njit(cache=True)
def walk(fixed: Ints, live: Ints, at: Layout, npu: int, now: int) -> None:
    """Start the ready nodes whose slot is free, lowest position first."""
    while True:
        slot = take_next(fixed, live, at, npu, now)
        if slot < 0:
            return
        _start(fixed, live, at, npu, slot, now)


@njit(cache=True)
def free(fixed: Ints, live: Ints, at: Layout, npu: int, position: int) -> None:
    """Make a node ready that has all that it waits for."""
    kind = fixed[row_of(fixed, live, at, npu, position) + n.KIND]
    make_ready(live, at, npu, position, kind)


@njit(cache=True)
def row_of(fixed: Ints, live: Ints, at: Layout, npu: int, position: int) -> int:
    """Address of the node at *position*."""
    block = position >> at.shift
    piece = live[npu + at.block + 2 * block]
    place = position - (block << at.shift)
    return int(fixed[piece + f.ROWS] + place * f.NODE_FIELDS)


@njit(cache=True)
def release(fixed: Ints, live: Ints, at: Layout, npu: int, base: int, row: int) -> None:
    """The node at *row* of the block at *base* is done: its children wait for one less."""
    for edge in range(fixed[row + n.CHILDREN], fixed[row + f.NODE_FIELDS + n.CHILDREN]):
        position = base + fixed[edge]
        live[npu + at.node + position] -= 1
        if live[npu + at.node + position] == 0:
            free(fixed, live, at, npu, position)


@njit(cache=True)
def _unfinished_exit(fixed: Ints, live: Ints, at: Layout, npu: int, age: int) -> int:
    """Position of the end of the forward pass *age* units ago, -1 if it is done."""
    if age == 0:
        return -1
    for block in range(live[npu + f.BLOCKS] - 1):
        record = npu + at.block + 2 * block
        if live[record + 1] == live[npu + f.UNIT] - age:
            position = (block << at.shift) + fixed[live[record] + f.EXIT]
            return -1 if live[npu + at.node + position] == f.DONE else position
    return -1


@njit(cache=True)
def _finish(fixed: Ints, live: Ints, at: Layout, npu: int, slot: int, now: int) -> None:
    """End a node, and walk the NPU's nodes."""
    end_node(fixed, live, at, npu, slot, now)
    if live[f.FAILURE] == 0:
        walk(fixed, live, at, npu, now)


@njit(cache=True)
def end_node(fixed: Ints, live: Ints, at: Layout, npu: int, slot: int, now: int) -> None:
    """End a node: its slot is free, and its children may be ready; all but what then starts."""
    book(fixed, live, at, npu, now)
    position, row = live[slot], live[slot + n.ROW]
    live[slot] = -1
    live[npu + at.node + position] = f.DONE
    release(fixed, live, at, npu, position >> at.shift << at.shift, row)
    if position == live[npu + f.LOSS_AT]:
        live[npu + f.LOSS_AT] = -1
        block = live[npu + f.BLOCKS] - 1
        piece = live[npu + at.block + 2 * block]
        waiting = fixed[piece + f.OUTSIDE] + f.NODE_FIELDS
        release(fixed, live, at, npu, block << at.shift, waiting)
    if position == live[npu + f.LAST_NODE]:
        piece = live[npu + f.NEXT_PIECE]
        if piece < 0:
            live[f.FAILURE] = f.FULL  # cannot be: the last compute node follows the message
            return
        live[npu + f.NEXT_PIECE] = -1
        is_open = live[npu + f.GATE] != 0
        enter(fixed, live, at, npu, piece, is_open, live[npu + f.NEXT_AGE])


@njit(cache=True)
def _start(fixed: Ints, live: Ints, at: Layout, npu: int, slot: int, now: int) -> None:
    """Start the node in a slot now; what concerns others is logged."""
    position = live[slot]
    row = row_of(fixed, live, at, npu, position)
    start_node(fixed, live, at, npu, slot, row, now)
    kind = fixed[row + n.KIND]
    if kind == n.SEND:
        block = npu + at.block + 2 * (position >> at.shift)
        unit = live[block + 1] + fixed[row + n.MATE] - fixed[live[block] + f.FIRST_UNIT]
        _log(live, at, npu, unit, now, slot)
    elif kind == n.SHARED:
        _log(live, at, npu, fixed[row + n.MATE], now, slot)


@njit(cache=True)
def start_node(
    fixed: Ints, live: Ints, at: Layout, npu: int, slot: int, row: int, now: int
) -> None:
    """Say what the node at *row* does, which is put into a slot and starts now."""
    position, kind = live[slot], fixed[row + n.KIND]
    live[npu + at.node + position] = f.RUNS
    live[npu + f.NUMBERS] += 1
    times = at.times + fixed[row + f.ITEM]
    end = now + live[times + n.DURATION]
    live[slot + f.CAUSE] = live[slot + f.CAUSE_DECIDED] = n.NEVER
    if kind == n.SEND:
        live[slot + f.CAUSE] = live[npu + f.UNDER_WAY]
        live[slot + f.CAUSE_DECIDED] = live[npu + f.DECIDED]
        forward = fixed[row + f.DIRECTION] > 0
        piece = live[npu + at.block + 2 * (position >> at.shift)]
        end = now + fixed[piece + (f.NEXT_NS if forward else f.PREVIOUS_NS)]
    elif kind == n.SHARED:
        end = n.NEVER
    live[slot + n.END] = end
    live[slot + f.SCHEDULED] = scheduled_at(live, times, now, end)
    live[slot + f.NUMBER] = live[npu + f.NUMBERS]
    live[slot + n.ROW] = row
    if position == live[npu + f.LAST_NODE]:
        live[npu + f.LAST_ENDS] = end


@njit(cache=True)
def _log(live: Ints, at: Layout, npu: int, what: int, start: int, slot: int) -> None:
    """Log the node in a slot, which has started."""
    entry = npu + at.log + live[npu + f.LOGGED] * f.LOG_FIELDS
    live[entry] = what
    live[entry + f.LOG_START] = start
    live[entry + f.LOG_END] = live[slot + n.END]
    live[entry + f.LOG_CAUSE] = live[slot + f.CAUSE]
    live[entry + f.LOG_CAUSE_DECIDED] = live[slot + f.CAUSE_DECIDED]
    live[npu + f.LOGGED] += 1


@njit(cache=True)
def _ends_before(live: Ints, slot: int, other: int) -> bool:
    for field in (n.END, f.SCHEDULED):
        if live[slot + field] != live[other + field]:
            return bool(live[slot + field] < live[other + field])
    return bool(live[slot + f.NUMBER] < live[other + f.NUMBER])
