"""Runs the programs of pipeline stages node by node, one NPU for each class of alike ones.

Where all NPUs of a stage stay in step, one of them stands for all. Where the members of a
collective end one by one, they differ by their places in their groups and by nothing else. So the
NPUs at alike places (a *class*) are one, and a collective has as many members as its group has
classes. It begins with each member at its own time, and once the last one has begun, whoever calls
says when each of them ends.

The rules of an NPU are those of ``npu.feeder``, the arrays those of ``classes.layout``. The kernel
is left and entered again where something is to be decided outside: the ends of a collective, a
group that tells NPUs apart for the first time, the beginning of a period of the schedule, and sends
whose way depends on what others send.

What an event calls is inlined: a call hands over each field of every array, a fifth of its time.
"""

from simcore.kernels.classes import layout as f
from simcore.kernels.classes.collectives import begin_collective, slot_of
from simcore.kernels.classes.layout import Ints, Waits
from simcore.kernels.classes.memo import end_as_before
from simcore.kernels.classes.taken import book_lost, goes_on, lose
from simcore.kernels.heaps import drop_first_event, push_event
from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.npu.feeder import (
    book,
    ends_too,
    lane_of,
    make_ready,
    scheduled_at,
    take_next,
)
from simcore.kernels.npu.layout import NpuLayout
from simcore.kernels.npu.pointers import pointer


@njit(cache=True)
def start(
    node: Ints, npu: Ints, at: NpuLayout, table: Ints, waits: Waits, event: Ints, counter: Ints
) -> None:
    """Begin what is free at time 0, NPU by NPU."""
    fixed, live, classes = pointer(node), pointer(npu), counter[f.CLASSES]
    for position in range(node.shape[0] - 1):
        for c in range(classes):
            row = position * f.NODE_FIELDS
            who = fixed[row + f.STAGE] * classes + c
            if waits[c, _column(fixed, table, counter, position)] == 0:
                _free(fixed, live, at, counter, who, position)
    for who in range(npu.shape[0]):
        _walk(fixed, live, at, table, waits, event, counter, who, 0)


@njit(cache=True)
def run(
    node: Ints,
    npu: Ints,
    at: NpuLayout,
    table: Ints,
    waits: Waits,
    event: Ints,
    counter: Ints,
    memo: Ints,
) -> int:
    """Go on until something is to be decided outside; returns why."""
    fixed, live, classes = pointer(node), pointer(npu), counter[f.CLASSES]
    while True:
        if counter[f.FULL] != 0 or counter[f.EVENTS] + f.SPARE_EVENTS > event.shape[0]:
            return f.NO_ROOM
        if counter[f.NEW_AXIS] >= 0 or counter[f.PARTED] >= 0:
            return f.APART if counter[f.NEW_AXIS] >= 0 else f.IN_PARTS
        if counter[f.DUE] > 0:
            if not end_as_before(node, npu, at, table, event, counter, memo):
                return f.COLLECTIVE
            continue
        if counter[f.MARKED] != 0:
            counter[f.MARKED] = 0
            return f.AT_MARK
        if counter[f.SENT] > 0:
            return f.SENDING
        if counter[f.EVENTS] == 0:
            return f.FINISHED
        now = event[0, 0]
        if now > counter[f.HORIZON]:
            return f.AT_HORIZON
        who, position = event[0, 3] >> f.POSITION_BITS, event[0, 3] & f.POSITION_MASK
        counter[f.NOW] = now
        drop_first_event(event, counter)
        c = who % classes
        if fixed[position * f.NODE_FIELDS + n.KIND] == n.SEND:
            _finish(fixed, live, at, table, waits, event, counter, who, position, now)
            receive = fixed[position * f.NODE_FIELDS + n.MATE]
            column = _column(fixed, table, counter, receive)
            if waits[c, column] == f.POSTED:
                other = fixed[receive * f.NODE_FIELDS + f.STAGE] * classes + c
                _finish(fixed, live, at, table, waits, event, counter, other, receive, now)
            else:
                waits[c, column] += f.ARRIVED
            continue
        if waits[c, _column(fixed, table, counter, position)] == f.ENDED:
            continue  # ended together with the other slot's node, see below
        if counter[f.TAKES] != 0 and _is_put_off(
            fixed, live, at, event, counter, who, position, now
        ):
            continue
        _finish(fixed, live, at, table, waits, event, counter, who, position, now)
        slot = who * at.npu_size + at.slot
        for _ in range(at.slots):
            if ends_too(fixed, live, slot, now):
                other = live[slot]
                if counter[f.TAKES] == 0 or not _is_put_off(
                    fixed, live, at, event, counter, who, other, now
                ):
                    _finish(fixed, live, at, table, waits, event, counter, who, other, now)
            slot += at.slot_fields


@njit(cache=True)
def _is_put_off(
    fixed: Ints,
    live: Ints,
    at: NpuLayout,
    event: Ints,
    counter: Ints,
    who: int,
    position: int,
    now: int,
) -> bool:
    """True if a node whose end has come is a compute that has lost time: it ends later."""
    if fixed[position * f.NODE_FIELDS + n.KIND] != n.COMPUTE:
        return False
    slot = slot_of(live, at, who, position)
    return goes_on(fixed, live, at, event, counter, who, slot, now)


@njit(cache=True, inline="always")
def _column(fixed: Ints, table: Ints, counter: Ints, position: int) -> int:
    return int(position - table[counter[f.SHIFT] + fixed[position * f.NODE_FIELDS + f.STAGE]])


@njit(cache=True)
def _finish(
    fixed: Ints,
    live: Ints,
    at: NpuLayout,
    table: Ints,
    waits: Waits,
    event: Ints,
    counter: Ints,
    who: int,
    position: int,
    now: int,
) -> None:
    """End a node: its slot is free, its children may be, and the NPU walks its free nodes."""
    npu, row = who * at.npu_size, position * f.NODE_FIELDS
    if counter[f.TAKES] != 0:
        lose(fixed, live, at, npu, now)
    book(fixed, live, at, npu, now)
    c = who % counter[f.CLASSES]
    shift = table[counter[f.SHIFT] + fixed[row + f.STAGE]]
    waits[c, position - shift] = f.ENDED
    if c == table[counter[f.TOLD] + fixed[row + f.STAGE]]:
        fixed[row + f.HAS_ENDED] = now
    counter[f.ENDED_NODES] += 1
    if fixed[row + n.KIND] != n.RECV:
        slot = npu + at.slot
        while live[slot] != position:
            slot += at.slot_fields
        if counter[f.TAKES] != 0 and fixed[row + n.KIND] == n.COMPUTE:
            book_lost(fixed, live, at, npu, slot)
        live[slot] = -1
    for edge in range(fixed[row + n.CHILDREN], fixed[row + f.NODE_FIELDS + n.CHILDREN]):
        waiting = table[counter[f.CHILD] + edge]
        waits[c, waiting - shift] -= 1
        if waits[c, waiting - shift] & (f.ARRIVED - 1) == 0:
            _free(fixed, live, at, counter, who, waiting)
    _walk(fixed, live, at, table, waits, event, counter, who, now)


@njit(cache=True, inline="always")
def _free(fixed: Ints, live: Ints, at: NpuLayout, counter: Ints, who: int, position: int) -> None:
    """A node has all that it waits for: it is ready, or a receive that is to be posted."""
    npu, kind = who * at.npu_size, fixed[position * f.NODE_FIELDS + n.KIND]
    if kind == n.RECV:
        count = live[npu + f.TO_POST]
        if count < at.room:
            live[npu + f.TO_POST] = count + 1
            live[npu + at.ready + at.lanes * at.room + count] = position
    else:
        count = live[npu + n.READY + lane_of(kind)]
        if count < at.room:
            make_ready(live, at, npu, position, kind)
    if count == at.room:
        counter[f.FULL] = 1


@njit(cache=True, inline="always")
def _walk(
    fixed: Ints,
    live: Ints,
    at: NpuLayout,
    table: Ints,
    waits: Waits,
    event: Ints,
    counter: Ints,
    who: int,
    now: int,
) -> None:
    """Post the free receives, the last one first, and begin the ready nodes whose slot is free."""
    npu, c = who * at.npu_size, who % counter[f.CLASSES]
    is_told = c == table[counter[f.TOLD] + who // counter[f.CLASSES]]
    while live[npu + f.TO_POST] > 0:
        live[npu + f.TO_POST] -= 1
        position = live[npu + at.ready + at.lanes * at.room + live[npu + f.TO_POST]]
        column = _column(fixed, table, counter, position)
        if is_told:
            fixed[position * f.NODE_FIELDS + f.STARTED] = now
        if waits[c, column] == 0:
            waits[c, column] = f.POSTED
        else:
            waits[c, column] = f.RUNS
            push_event(event, counter, now, now, who << f.POSITION_BITS | position)
    while True:
        slot = take_next(fixed, live, at, npu, now)
        if slot < 0:
            return
        position = live[slot]
        waits[c, _column(fixed, table, counter, position)] = f.RUNS
        if is_told:
            fixed[position * f.NODE_FIELDS + f.STARTED] = now
        _begin(fixed, live, at, table, event, counter, who, slot, now)


@njit(cache=True, inline="always")
def _begin(
    fixed: Ints,
    live: Ints,
    at: NpuLayout,
    table: Ints,
    event: Ints,
    counter: Ints,
    who: int,
    slot: int,
    now: int,
) -> None:
    position = live[slot]
    row = position * f.NODE_FIELDS
    live[slot + f.START] = now
    live[slot + n.END] = n.NEVER
    live[slot + n.ROW] = row
    live[slot + f.LOST] = live[slot + f.REST] = 0
    if who == 0 and table[counter[f.MARKS] + counter[f.NEXT_MARK]] == position:
        counter[f.NEXT_MARK] += 1
        counter[f.MARKED] = 1
    item = fixed[row + f.ITEM]
    if item >= 0:
        turn = table[counter[f.TURN_OF] + item]
        live[slot + f.TURN] = live[who * at.npu_size + f.TURNS] >> turn & 1
        live[who * at.npu_size + f.TURNS] ^= table[counter[f.TAKES_TURN] + item] << turn
        begin_collective(fixed, live, at, table, event, counter, who, slot)
        return
    if counter[f.OUTBOX] != 0 and fixed[row + n.KIND] == n.SEND:
        counter[counter[f.OUTBOX] + counter[f.SENT]] = position
        counter[f.SENT] += 1
        return
    live[slot + n.END] = end = now + fixed[row + n.DURATION]
    scheduled = scheduled_at(fixed, row, now, end)
    push_event(event, counter, end, scheduled, who << f.POSITION_BITS | position)
