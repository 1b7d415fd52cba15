"""Runs the programs of pipeline stages node by node, one NPU for each class of alike ones.

The rules are those of ASTRA-sim 2.0's feeder: after every finished node an NPU walks its free nodes
in ascending position and issues each whose slot (compute, communication) is free; receives need no
slot; a send ends when its data arrives.

Where all NPUs of a stage stay in step, one of them stands for all. Where the members of a
collective end one by one, they differ by their places in their groups and by nothing else. So the
NPUs at alike places (a *class*) are one, and a collective has as many members as its group has
classes. It begins with each member at its own time, and once the last one has begun, whoever calls
says when each of them ends.

The arrays are those of ``classes.layout``. The kernel is left and entered again where something is
to be decided outside: the ends of a collective, a group that tells NPUs apart for the first time,
and the beginning of a period of the schedule.

What an event calls is inlined: a call hands over each field of every array, a fifth of its time.
"""

from simcore.kernels.classes.collectives import begin_collective, book
from simcore.kernels.classes.layout import (
    APART,
    ARRIVED,
    AT_MARK,
    CHILD,
    CLASSES,
    COLLECTIVE,
    COMPUTE_SLOTS,
    COUNT,
    DUE,
    ENDED,
    ENDED_NODES,
    EVENTS,
    FINISHED,
    FULL,
    ITEM,
    MARKED,
    MARKS,
    NEVER,
    NEW_AXIS,
    NEXT_MARK,
    NO_ROOM,
    NOW,
    POSITION,
    POSITION_BITS,
    POSTED,
    RUNS,
    SHIFT,
    SLOT,
    SLOT_END,
    SLOT_FIELDS,
    SLOT_START,
    SLOT_TURN,
    SLOTS,
    SPARE_EVENTS,
    TAKES_TURN,
    TURN_OF,
    TURNS,
    Ints,
    Lists,
    Waits,
)
from simcore.kernels.classes.memo import end_as_before
from simcore.kernels.jit import njit
from simcore.kernels.stages.event_heap import drop_first_event, push_event
from simcore.kernels.stages.node_layout import (
    CHILDREN,
    COMPUTE,
    DURATION,
    END,
    KIND,
    LAST_STEP,
    MATE,
    RECV,
    SEND,
    STAGE,
    START,
)


@njit(cache=True)
def start(
    node: Ints, table: Ints, waits: Waits, npu: Ints, lists: Lists, event: Ints, counter: Ints
) -> None:
    """Begin what is free at time 0, NPU by NPU."""
    classes = counter[CLASSES]
    for position in range(node.shape[0] - 1):
        for c in range(classes):
            who = node[position, STAGE] * classes + c
            if waits[c, _column(node, table, counter, position)] == 0:
                _make_ready(node, npu, lists, counter, who, position)
    for who in range(npu.shape[0]):
        _walk(node, table, waits, npu, lists, event, counter, who, 0)


@njit(cache=True)
def run(
    node: Ints,
    table: Ints,
    waits: Waits,
    npu: Ints,
    lists: Lists,
    event: Ints,
    counter: Ints,
    memo: Ints,
) -> int:
    """Go on until something is to be decided outside; returns why."""
    classes = counter[CLASSES]
    while True:
        if counter[FULL] != 0 or counter[EVENTS] + SPARE_EVENTS > event.shape[0]:
            return NO_ROOM
        if counter[NEW_AXIS] >= 0:
            return APART
        if counter[DUE] > 0:
            if not end_as_before(node, table, npu, event, counter, memo):
                return COLLECTIVE
            continue
        if counter[MARKED] != 0:
            counter[MARKED] = 0
            return AT_MARK
        if counter[EVENTS] == 0:
            return FINISHED
        now = event[0, 0]
        who, position = event[0, 3] >> POSITION_BITS, event[0, 3] & POSITION
        counter[NOW] = now
        drop_first_event(event, counter)
        c = who % classes
        if node[position, KIND] == SEND:
            _finish(node, table, waits, npu, lists, event, counter, who, position, now)
            receive = node[position, MATE]
            column = _column(node, table, counter, receive)
            if waits[c, column] == POSTED:
                other = node[receive, STAGE] * classes + c
                _finish(node, table, waits, npu, lists, event, counter, other, receive, now)
            else:
                waits[c, column] += ARRIVED
            continue
        if waits[c, _column(node, table, counter, position)] == ENDED:
            continue  # ended together with the other slot's node, see below
        _finish(node, table, waits, npu, lists, event, counter, who, position, now)
        # the ends of one NPU at one time run together, in the order in which they were scheduled
        for slot in range(SLOT, SLOT + counter[SLOTS] * SLOT_FIELDS, SLOT_FIELDS):
            other = npu[who, slot]
            if other < 0 or node[other, KIND] >= SEND:
                continue
            if npu[who, slot + SLOT_END] == now:
                _finish(node, table, waits, npu, lists, event, counter, who, other, now)


@njit(cache=True, inline="always")
def _column(node: Ints, table: Ints, counter: Ints, position: int) -> int:
    return int(position - table[counter[SHIFT] + node[position, STAGE]])


@njit(cache=True)
def _finish(
    node: Ints,
    table: Ints,
    waits: Waits,
    npu: Ints,
    lists: Lists,
    event: Ints,
    counter: Ints,
    who: int,
    position: int,
    now: int,
) -> None:
    """End a node: its slot is free, its children may be, and the NPU walks its free nodes."""
    book(node, npu, counter, who, now)
    c = who % counter[CLASSES]
    shift = table[counter[SHIFT] + node[position, STAGE]]
    waits[c, position - shift] = ENDED
    if c == 0:
        node[position, END] = now
    counter[ENDED_NODES] += 1
    if node[position, KIND] != RECV:
        slot = SLOT
        while npu[who, slot] != position:
            slot += SLOT_FIELDS
        npu[who, slot] = -1
    for at in range(node[position, CHILDREN], node[position + 1, CHILDREN]):
        waiting = table[counter[CHILD] + at]
        waits[c, waiting - shift] -= 1
        if waits[c, waiting - shift] & (ARRIVED - 1) == 0:
            _make_ready(node, npu, lists, counter, who, waiting)
    _walk(node, table, waits, npu, lists, event, counter, who, now)


@njit(cache=True, inline="always")
def _make_ready(
    node: Ints, npu: Ints, lists: Lists, counter: Ints, who: int, position: int
) -> None:
    """Put a node into the heap of its lane; a receive, in front of those to be posted."""
    kind = node[position, KIND]
    lane = 2 if kind == RECV else (0 if kind == COMPUTE else 1)
    at = npu[who, COUNT + lane]
    if at == lists.shape[2]:
        counter[FULL] = 1
        return
    npu[who, COUNT + lane] += 1
    while at > 0 and lane < 2:
        parent = (at - 1) // 2
        if lists[lane, who, parent] <= position:
            break
        lists[lane, who, at] = lists[lane, who, parent]
        at = parent
    lists[lane, who, at] = position


@njit(cache=True, inline="always")
def _take_ready(npu: Ints, lists: Lists, who: int, lane: int) -> None:
    """Drop the lowest position of a heap."""
    npu[who, COUNT + lane] -= 1
    size = npu[who, COUNT + lane]
    last = lists[lane, who, size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and lists[lane, who, below + 1] < lists[lane, who, below]:
            below += 1
        if lists[lane, who, below] >= last:
            break
        lists[lane, who, at] = lists[lane, who, below]
        at = below
    lists[lane, who, at] = last


@njit(cache=True, inline="always")
def _walk(
    node: Ints,
    table: Ints,
    waits: Waits,
    npu: Ints,
    lists: Lists,
    event: Ints,
    counter: Ints,
    who: int,
    now: int,
) -> None:
    """Begin the free nodes whose slot is free, lowest position first; post the free receives."""
    c = who % counter[CLASSES]
    while npu[who, COUNT + 2] > 0:
        npu[who, COUNT + 2] -= 1
        position = int(lists[2, who, npu[who, COUNT + 2]])
        column = _column(node, table, counter, position)
        if c == 0:
            node[position, START] = now
        if waits[c, column] == 0:
            waits[c, column] = POSTED
        else:
            waits[c, column] = RUNS
            push_event(event, counter, now, now, who << POSITION_BITS | position)
    while True:
        best, lane, slot = -1, 0, 0
        for choice in range(2):
            free = _free_slot(npu, counter, who, choice)
            if free >= 0 and npu[who, COUNT + choice] > 0:
                position = int(lists[choice, who, 0])
                if best < 0 or position < best:
                    best, lane, slot = position, choice, free
        if best < 0:
            return
        _take_ready(npu, lists, who, lane)
        book(node, npu, counter, who, now)
        waits[c, _column(node, table, counter, best)] = RUNS
        if c == 0:
            node[best, START] = now
        _begin(node, table, npu, event, counter, who, best, slot, now)


@njit(cache=True, inline="always")
def _begin(
    node: Ints,
    table: Ints,
    npu: Ints,
    event: Ints,
    counter: Ints,
    who: int,
    position: int,
    slot: int,
    now: int,
) -> None:
    npu[who, slot] = position
    npu[who, slot + SLOT_START] = now
    npu[who, slot + SLOT_END] = NEVER
    if who == 0 and table[counter[MARKS] + counter[NEXT_MARK]] == position:
        counter[NEXT_MARK] += 1
        counter[MARKED] = 1
    item = node[position, ITEM]
    if item >= 0:
        turn = table[counter[TURN_OF] + item]
        npu[who, slot + SLOT_TURN] = npu[who, TURNS] >> turn & 1
        npu[who, TURNS] ^= table[counter[TAKES_TURN] + item] << turn
        begin_collective(node, table, npu, event, counter, who, position, slot)
        return
    npu[who, slot + SLOT_END] = end = now + node[position, DURATION]
    lead = node[position, LAST_STEP]
    push_event(
        event, counter, end, now if lead < 0 else end - lead, who << POSITION_BITS | position
    )


@njit(cache=True, inline="always")
def _free_slot(npu: Ints, counter: Ints, who: int, lane: int) -> int:
    """A free compute slot (lane 0) or communication stream (lane 1), -1 if all are taken."""
    first = 0 if lane == 0 else counter[COMPUTE_SLOTS]
    behind = counter[COMPUTE_SLOTS] if lane == 0 else counter[SLOTS]
    for slot in range(SLOT + first * SLOT_FIELDS, SLOT + behind * SLOT_FIELDS, SLOT_FIELDS):
        if npu[who, slot] < 0:
            return slot
    return -1
