"""Collectives of classes of NPUs: who takes part, when all members have begun, when each ends.

Arrays: see ``classes.layout``.
"""

import numpy as np

from simcore.kernels.classes.layout import (
    AT_NODE,
    AXIS_OF,
    BEGAN,
    BOOKED_UNTIL,
    CLASSES,
    COUNTERS,
    DUE,
    FIRST_TREE,
    IN_STEP,
    ITEM,
    LEAD,
    MEMBER,
    MEMBER_FIELDS,
    NEVER,
    NEW_AXIS,
    NOW,
    ORBIT,
    ORBIT_AT,
    ORBIT_CLASS,
    POSITION_BITS,
    SHARED_AT,
    SHARED_NODE,
    SLOT,
    SLOT_END,
    SLOT_FIELDS,
    SLOT_START,
    SLOT_TURN,
    SLOTS,
    Ints,
)
from simcore.kernels.jit import njit
from simcore.kernels.stages.event_heap import push_event
from simcore.kernels.stages.node_layout import (
    CATEGORY,
    DURATION,
    KIND,
    LAST_STEP,
    MATE,
    SHARED,
    STAGE,
)


@njit(cache=True)
def begin_collective(
    node: Ints,
    table: Ints,
    npu: Ints,
    event: Ints,
    counter: Ints,
    who: int,
    position: int,
    slot: int,
) -> None:
    """A member has begun: alone, all in step, it knows its end; the last one lets all be told."""
    item, classes = node[position, ITEM], counter[CLASSES]
    if node[position, KIND] == SHARED:
        at = counter[SHARED_AT] + node[position, MATE]
        for place in range(table[at], table[at + 1]):
            member = table[counter[SHARED_NODE] + place]
            other = node[member, STAGE] * classes + who % classes
            if slot_of(npu, counter, other, member) < 0:
                return
    else:
        orbit = orbit_of(table, counter, item, who % classes)
        if orbit < 0:
            counter[NEW_AXIS] = table[counter[AXIS_OF] + item]
            return
        first, last = table[orbit], table[orbit + 1]
        if last - first == 1 and table[counter[IN_STEP] + item] != 0:
            end = npu[who, slot + SLOT_START] + node[position, DURATION]
            npu[who, slot + SLOT_END] = end
            push_event(
                event,
                counter,
                end,
                end - node[position, LAST_STEP],
                who << POSITION_BITS | position,
            )
            return
        for place in range(first, last):
            other = who - who % classes + table[counter[ORBIT_CLASS] + place]
            if slot_of(npu, counter, other, position) < 0:
                return
    counter[COUNTERS + 2 * counter[DUE]] = who
    counter[COUNTERS + 2 * counter[DUE] + 1] = position
    counter[DUE] += 1


@njit(cache=True)
def members_of(node: Ints, table: Ints, npu: Ints, counter: Ints) -> Ints:
    """(M, MEMBER_FIELDS) int64: the members of the collective whose turn it is to be decided.

    They are the classes of its group, in ascending order, or the stages that take part.
    """
    last = COUNTERS + 2 * (counter[DUE] - 1)
    who, position, classes = counter[last], counter[last + 1], counter[CLASSES]
    c = who % classes
    if node[position, KIND] == SHARED:
        at = counter[SHARED_AT] + node[position, MATE]
        first, count = counter[SHARED_NODE] + table[at], table[at + 1] - table[at]
    else:
        orbit = orbit_of(table, counter, node[position, ITEM], c)
        first, count = counter[ORBIT_CLASS] + table[orbit], table[orbit + 1] - table[orbit]
    members = np.empty((count, MEMBER_FIELDS), np.int64)
    for place in range(count):
        if node[position, KIND] == SHARED:
            other = table[first + place]
            members[place, AT_NODE] = other
            members[place, MEMBER] = node[other, STAGE] * classes + c
        else:
            members[place, AT_NODE] = position
            members[place, MEMBER] = who - c + table[first + place]
        own = members[place, MEMBER]
        slot = slot_of(npu, counter, own, members[place, AT_NODE])
        members[place, BEGAN] = npu[own, slot + SLOT_START]
        members[place, FIRST_TREE] = npu[own, slot + SLOT_TURN]
    return members


@njit(cache=True)
def end_members(
    node: Ints, npu: Ints, event: Ints, counter: Ints, members: Ints, end: Ints
) -> None:
    """Tell when the members of the collective end that ``members_of`` gave.

    Args:
        node: See above.
        npu: Likewise.
        event: Likewise.
        counter: Likewise.
        members: (M, MEMBER_FIELDS) int64.
        end: (M,) int64, absolute times.
    """
    counter[DUE] -= 1
    for place in range(end.size):
        who, position = members[place, MEMBER], members[place, AT_NODE]
        slot = slot_of(npu, counter, who, position)
        if node[position, KIND] == SHARED:  # until now it waited
            book(node, npu, counter, who, counter[NOW])
        npu[who, slot + SLOT_END] = end[place]
        push_event(
            event, counter, end[place], end[place] - counter[LEAD], who << POSITION_BITS | position
        )


@njit(cache=True)
def look_for_collectives(
    node: Ints, table: Ints, npu: Ints, event: Ints, counter: Ints, axis: int
) -> None:
    """Find collectives of *axis* that all members have begun, now that its groups are known."""
    classes = counter[CLASSES]
    for who in range(npu.shape[0]):
        for slot in range(SLOT, SLOT + counter[SLOTS] * SLOT_FIELDS, SLOT_FIELDS):
            position = npu[who, slot]
            if position < 0 or node[position, ITEM] < 0 or node[position, KIND] == SHARED:
                continue
            item = node[position, ITEM]
            if table[counter[AXIS_OF] + item] != axis or npu[who, slot + SLOT_END] != NEVER:
                continue
            orbit = orbit_of(table, counter, item, who % classes)
            if who % classes == table[counter[ORBIT_CLASS] + table[orbit]]:  # once per group
                begin_collective(node, table, npu, event, counter, who, position, slot)


@njit(cache=True)
def orbit_of(table: Ints, counter: Ints, item: int, c: int) -> int:
    """Where the classes of the group begin to which class *c* belongs; -1: not known yet."""
    axis = table[counter[AXIS_OF] + item]
    number = table[counter[ORBIT] + axis * counter[CLASSES] + c]
    return int(counter[ORBIT_AT] + number) if number >= 0 else -1


@njit(cache=True)
def slot_of(npu: Ints, counter: Ints, who: int, position: int) -> int:
    """The slot that a node is in, -1: none."""
    for slot in range(SLOT, SLOT + counter[SLOTS] * SLOT_FIELDS, SLOT_FIELDS):
        if npu[who, slot] == position:
            return slot
    return -1


@njit(cache=True)
def book(node: Ints, npu: Ints, counter: Ints, who: int, now: int) -> None:
    """Book the time since the last event under what the NPU did: compute before communication."""
    passed = now - npu[who, BOOKED_UNTIL]
    if passed == 0:
        return
    booked = SLOT + counter[SLOTS] * SLOT_FIELDS
    category = npu.shape[1] - 1 - booked
    for slot in range(SLOT, booked, SLOT_FIELDS):
        busy = npu[who, slot]
        if busy < 0:
            continue
        if node[busy, KIND] == SHARED and npu[who, slot + SLOT_END] == NEVER:
            continue  # a member of a collective between stages waits until the last has started
        category = node[busy, CATEGORY]
        break
    npu[who, booked + category] += passed
    npu[who, BOOKED_UNTIL] = now
