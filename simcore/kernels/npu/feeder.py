"""The rules of an NPU: what it starts next, what ends together, what its time is booked under.

They are those of ASTRA-sim 2.0's feeder: after every finished node an NPU walks its ready nodes in
ascending position and starts each whose slot (compute, communication) is free; receives need no
slot. Each port of outer memory is a slot more. Who calls follows the time, ends nodes, and says
what a started node does.

Arguments: ``fixed`` and ``live`` (flat int64, by address), where an NPU has what (*at*, with the
fields of ``NpuLayout``), and the address of the NPU.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.heaps import drop_lowest, push_number
from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.npu.layout import NpuLayout

Ints = NDArray[np.int64]


@njit(cache=True)
def make_ready(live: Ints, at: NpuLayout, npu: int, position: int, kind: int) -> None:
    """Put a node that needs a slot into the heap of its lane."""
    lane = lane_of(kind)
    size = live[npu + n.READY + lane]
    live[npu + n.READY + lane] = size + 1
    push_number(live, npu + at.ready + lane * at.room, size, position)


@njit(cache=True)
def lane_of(kind: int) -> int:
    """The lane of a node: 0 computes, 1 communicates, then one for each port of outer memory."""
    if kind >= n.TRANSFER:
        return kind - n.TRANSFER + 2
    return 0 if kind == n.COMPUTE else 1


@njit(cache=True)
def take_next(fixed: Ints, live: Ints, at: NpuLayout, npu: int, now: int) -> int:
    """Put the lowest ready node whose slot is free into it; address of the slot, -1: none is."""
    best, lane, slot = n.ZERO - 1, n.ZERO, n.ZERO - 1
    for choice in range(at.lanes):
        if live[npu + n.READY + choice] == 0:
            continue
        free = _free_slot(live, at, npu, choice)
        if free >= 0:
            position = live[npu + at.ready + choice * at.room]
            if best < 0 or position < best:
                best, lane, slot = position, choice, free
    if best >= 0:
        live[npu + n.READY + lane] -= 1
        drop_lowest(live, npu + at.ready + lane * at.room, live[npu + n.READY + lane])
        book(fixed, live, at, npu, now)
        live[slot] = best
    return slot


@njit(cache=True)
def _free_slot(live: Ints, at: NpuLayout, npu: int, lane: int) -> int:
    """A free slot of a lane, -1 if all are taken."""
    streams = at.slots - at.lanes + 2  # where those of the ports begin
    first, behind = n.ZERO, at.compute_slots
    if lane == 1:
        first, behind = at.compute_slots, streams
    elif lane > 1:
        first = streams + lane - 2
        behind = first + 1
    slot = npu + at.slot + first * at.slot_fields
    for _ in range(first, behind):
        if live[slot] < 0:
            return slot
        slot += at.slot_fields
    return -1


@njit(cache=True)
def ends_too(fixed: Ints, live: Ints, slot: int, now: int) -> bool:
    """True if the node in a slot ends with another node of its NPU that ends *now*.

    The ends of an NPU at one time run together, in the order of their slots; those of messages and
    of collectives between stages come from outside.
    """
    if live[slot] < 0 or live[slot + n.END] != now:
        return False
    kind = fixed[live[slot + n.ROW] + n.KIND]
    return bool(kind <= n.COMMUNICATION or kind >= n.TRANSFER)


@njit(cache=True)
def scheduled_at(fixed: Ints, row: int, start: int, end: int) -> int:
    """Time of scheduling the event that ends the node *row*."""
    lead = fixed[row + n.LAST_STEP]
    return int(start if lead < 0 else end - lead)


@njit(cache=True)
def book(fixed: Ints, live: Ints, at: NpuLayout, npu: int, now: int) -> None:
    """Book the time since the last event under what the NPU did: the first of its slots at work."""
    passed = now - live[npu + n.BOOKED_UNTIL]
    if passed == 0:
        return
    category = at.categories
    slot = npu + at.slot
    for _ in range(at.slots):
        if live[slot] >= 0:
            row = live[slot + n.ROW]
            # a member of a shared collective waits until the last one has started
            if fixed[row + n.KIND] != n.SHARED or live[slot + n.END] != n.NEVER:
                category = fixed[row + n.CATEGORY]
                break
        slot += at.slot_fields
    live[npu + at.booked + category] += passed
    live[npu + n.BOOKED_UNTIL] = now
