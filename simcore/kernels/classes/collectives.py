"""Collectives of classes of NPUs: who takes part, when all members have begun, when each ends.

Arrays: see ``classes.layout``.
"""

import numpy as np

from simcore.kernels.classes import layout as f
from simcore.kernels.classes.layout import Ints
from simcore.kernels.classes.taken import lose
from simcore.kernels.heaps import push_event
from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.npu.feeder import book, scheduled_at
from simcore.kernels.npu.layout import NpuLayout
from simcore.kernels.npu.pointers import pointer


@njit(cache=True)
def begin_collective(
    fixed: Ints,
    live: Ints,
    at: NpuLayout,
    table: Ints,
    event: Ints,
    counter: Ints,
    who: int,
    slot: int,
) -> None:
    """A member has begun: alone, all in step, it knows its end; the last one lets all be told."""
    row, position = live[slot + n.ROW], live[slot]
    item, classes = fixed[row + f.ITEM], counter[f.CLASSES]
    if fixed[row + n.KIND] == n.SHARED:
        shared = counter[f.SHARED_AT] + fixed[row + n.MATE]
        for place in range(table[shared], table[shared + 1]):
            member = table[counter[f.SHARED_NODE] + place]
            other = fixed[member * f.NODE_FIELDS + f.STAGE] * classes + who % classes
            if slot_of(live, at, other, member) < 0:
                return
    else:
        orbit = _orbit_of(table, counter, item, who % classes)
        if orbit < 0:
            counter[f.NEW_AXIS] = table[counter[f.AXIS_OF] + item]
            return
        first, last = table[orbit], table[orbit + 1]
        if last - first == 1 and table[counter[f.IN_STEP] + item] != 0:
            began = live[slot + f.START]
            live[slot + n.END] = end = began + fixed[row + n.DURATION]
            scheduled = scheduled_at(fixed, row, began, end)
            push_event(event, counter, end, scheduled, who << f.POSITION_BITS | position)
            return
        named = counter[f.ORBIT_CLASS]
        base = who - who % classes
        if not _begun(live, at, base, position, table, named + first, named + last):
            _look_at_parts(live, at, table, counter, who, position, orbit)
            return
    counter[f.COUNTERS + 2 * counter[f.DUE]] = who
    counter[f.COUNTERS + 2 * counter[f.DUE] + 1] = position
    counter[f.DUE] += 1


@njit(cache=True)
def _begun(
    live: Ints, at: NpuLayout, who: int, position: int, table: Ints, first: int, last: int
) -> bool:
    """True if all classes that the table names in a range have begun a node at a stage.

    Args:
        live: See above.
        at: Likewise.
        who: The NPU of the stage's first class.
        position: The node.
        table: See above.
        first: Where the classes begin.
        last: Where they end.
    """
    place = first
    while place < last and slot_of(live, at, who + table[place], position) >= 0:
        place += 1
    return bool(place == last)


@njit(cache=True)
def _look_at_parts(
    live: Ints, at: NpuLayout, table: Ints, counter: Ints, who: int, position: int, orbit: int
) -> None:
    """Note if one of the groups of an orbit has begun as a whole, before others have."""
    number = orbit - counter[f.ORBIT_AT]
    parts, starts = counter[f.PARTS] + number, counter[f.PART_AT]
    base = who - who % counter[f.CLASSES]
    for part in range(table[parts], table[parts + 1]):
        first, last = table[starts + part], table[starts + part + 1]
        at_first = counter[f.PART_CLASS]
        if _begun(live, at, base, position, table, at_first + first, at_first + last):
            counter[f.PARTED], counter[f.PARTED_NODE] = who, position
            return


@njit(cache=True)
def members_of(node: Ints, npu: Ints, at: NpuLayout, table: Ints, counter: Ints) -> Ints:
    """(M, MEMBER_FIELDS) int64: the members of the collective whose turn it is to be decided.

    They are the classes of its group, in ascending order, or the stages that take part.
    """
    fixed, live = pointer(node), pointer(npu)
    last = f.COUNTERS + 2 * (counter[f.DUE] - 1)
    who, position, classes = counter[last], counter[last + 1], counter[f.CLASSES]
    c, row = who % classes, position * f.NODE_FIELDS
    is_shared = fixed[row + n.KIND] == n.SHARED
    if is_shared:
        shared = counter[f.SHARED_AT] + fixed[row + n.MATE]
        first, count = counter[f.SHARED_NODE] + table[shared], table[shared + 1] - table[shared]
    else:
        orbit = _orbit_of(table, counter, fixed[row + f.ITEM], c)
        first, count = counter[f.ORBIT_CLASS] + table[orbit], table[orbit + 1] - table[orbit]
    members = np.empty((count, f.MEMBER_FIELDS), np.int64)
    for place in range(count):
        if is_shared:
            other = table[first + place]
            members[place, f.AT_NODE] = other
            members[place, f.MEMBER] = fixed[other * f.NODE_FIELDS + f.STAGE] * classes + c
        else:
            members[place, f.AT_NODE] = position
            members[place, f.MEMBER] = who - c + table[first + place]
        slot = slot_of(live, at, members[place, f.MEMBER], members[place, f.AT_NODE])
        members[place, f.BEGAN] = live[slot + f.START]
        members[place, f.FIRST_TREE] = live[slot + f.TURN]
    return members


@njit(cache=True)
def end_members(
    node: Ints, npu: Ints, at: NpuLayout, event: Ints, counter: Ints, members: Ints, end: Ints
) -> None:
    """Set the ends of the members of the collective that ``members_of`` gave.

    Args:
        node: See above.
        npu: Likewise.
        at: Likewise.
        event: Likewise.
        counter: Likewise.
        members: (M, MEMBER_FIELDS) int64.
        end: (M,) int64, absolute times.
    """
    fixed, live = pointer(node), pointer(npu)
    counter[f.DUE] -= 1
    for place in range(end.size):
        who, position = members[place, f.MEMBER], members[place, f.AT_NODE]
        slot = slot_of(live, at, who, position)
        if fixed[position * f.NODE_FIELDS + n.KIND] == n.SHARED:  # until now it waited
            if counter[f.TAKES] != 0:
                lose(fixed, live, at, who * at.npu_size, counter[f.NOW])
            book(fixed, live, at, who * at.npu_size, counter[f.NOW])
        live[slot + n.END] = end[place]
        push_event(
            event,
            counter,
            end[place],
            end[place] - counter[f.LEAD],
            who << f.POSITION_BITS | position,
        )


@njit(cache=True)
def look_for_collectives(
    node: Ints, npu: Ints, at: NpuLayout, table: Ints, event: Ints, counter: Ints
) -> None:
    """Find collectives that all members have begun and whose ends are not known.

    They are looked for where an axis is known anew, or where histories have parted.
    """
    fixed, live, classes = pointer(node), pointer(npu), counter[f.CLASSES]
    for who in range(npu.shape[0]):
        for number in range(at.slots):
            slot = who * at.npu_size + at.slot + number * at.slot_fields
            if live[slot] < 0 or live[slot + n.END] != n.NEVER:
                continue
            row, position = live[slot + n.ROW], live[slot]
            item = fixed[row + f.ITEM]
            if item < 0:
                continue
            if fixed[row + n.KIND] == n.SHARED:  # once for all stages
                shared = table[counter[f.SHARED_AT] + fixed[row + n.MATE]]
                is_first = table[counter[f.SHARED_NODE] + shared] == position
            else:  # once for those of an orbit that have begun
                orbit = _orbit_of(table, counter, item, who % classes)
                is_first = orbit < 0 or not _another_has_begun(
                    live, at, table, counter, who, position, orbit
                )
            if is_first:
                begin_collective(fixed, live, at, table, event, counter, who, slot)


@njit(cache=True)
def _another_has_begun(
    live: Ints, at: NpuLayout, table: Ints, counter: Ints, who: int, position: int, orbit: int
) -> bool:
    """True if a class of an orbit that comes before an NPU's own has begun a node."""
    c = who % counter[f.CLASSES]
    for place in range(table[orbit], table[orbit + 1]):
        other = table[counter[f.ORBIT_CLASS] + place]
        if other < c and slot_of(live, at, who - c + other, position) >= 0:
            return True
    return False


@njit(cache=True)
def _orbit_of(table: Ints, counter: Ints, item: int, c: int) -> int:
    """Start of the classes of the group to which class *c* belongs; -1: not known yet."""
    axis = table[counter[f.AXIS_OF] + item]
    number = table[counter[f.ORBIT] + axis * counter[f.CLASSES] + c]
    return int(counter[f.ORBIT_AT] + number) if number >= 0 else -1


@njit(cache=True)
def slot_of(live: Ints, at: NpuLayout, who: int, position: int) -> int:
    """Address of the slot that a node is in, -1: none."""
    slot = who * at.npu_size + at.slot
    for _ in range(at.slots):
        if live[slot] == position:
            return slot
        slot += at.slot_fields
    return -1
