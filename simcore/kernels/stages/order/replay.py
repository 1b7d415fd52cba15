"""Traces what a stage did: which event started each node.

A record of its history is gone through once more, node by node, on an NPU for that; every node that
starts gets an entry. A finale is gone through as far as is asked for.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.npu.feeder import ends_too, take_next
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.order import history as h
from simcore.kernels.stages.pipeline_messages import (
    arrival_of,
    message_to,
    sent_after,
    unit_address,
)
from simcore.kernels.stages.stage_layout import Layout
from simcore.kernels.stages.stage_memo import ARRIVAL
from simcore.kernels.stages.stage_npu import (
    clear,
    end_node,
    enter,
    next_slot,
    receive,
    row_of,
    start_node,
)
from simcore.kernels.stages.stage_states import has_started, restore

# An entry of a trace: the one before of its record (0: none), the unit and the place of the node,
# its kind, what it is booked under, its start, and the event that started it: what it is, and the
# unit and the place of the node that ended, or the unit that received the message, and when the
# end was scheduled.
EARLIER, OF_UNIT, OF_PLACE, KIND, CATEGORY, START, CAUSE, CAUSE_UNIT, CAUSE_PLACE = range(9)
CAUSE_SCHEDULED, ENTRY_FIELDS = 9, 10

AT_BEGIN, BY_NODE, BY_MESSAGE = range(3)
"""Causes: the begin of the iteration, the end of another node of the NPU, a message."""

Ints = NDArray[np.int64]


@njit(cache=True)
def place_of(fixed: Ints, live: Ints, at: Layout, npu: int, position: int) -> tuple[int, int]:
    """Unit of the node at a position, as its NPU counts them, and its place in it."""
    block = position >> at.shift
    piece, unit = live[npu + at.block + 2 * block], live[npu + at.block + 2 * block + 1]
    place = position - (block << at.shift)
    if fixed[piece + f.LAST] >= 0:
        return unit, place
    starts, first = fixed[piece + f.STARTS], fixed[piece + f.FIRST_UNIT]
    own = first
    while fixed[starts + own + 1] <= place:
        own += 1
    return unit + own - first, place - fixed[starts + own]


@njit(cache=True)
def find(
    fixed: Ints, live: Ints, at: Layout, number: int, record: int, unit: int, place: int, until: int
) -> tuple[int, int]:
    """Record and entry of the start of a node that had started at *until*; entry 0: not known.

    *record* is one of the stage's history that is not before that start. Where the entry depends
    on the order of two events that was left open, that order is wanted from then on.
    """
    while record > 0:
        begins = live[record + h.SOURCE] < 0
        if h.since_of(live, record) <= until:
            if begins:
                break
            ago = h.unit_of(live, record) - unit
            if not has_started(fixed, live, at, live[record + h.SOURCE], ago, place):
                break
        record = live[record + h.PREVIOUS]
    if record <= 0:
        return 0, 0
    found, entry = _trace_to(fixed, live, at, number, record, unit, place)
    while entry == 0 and live[f.WANTED] < 0 and live[record + h.TRACED] == h.BEGUN:
        _go_on_in_finale(fixed, live, at, number, record, until)
        entry = _entry_of(live, record, unit, place)
    return found, entry


@njit(cache=True)
def _trace_to(
    fixed: Ints, live: Ints, at: Layout, number: int, record: int, unit: int, place: int
) -> tuple[int, int]:
    """Record and entry of a node, in a record or one before that was left open; entry 0: none."""
    before = record
    while True:
        if live[before + h.TRACED] == h.UNTRACED:
            _begin(fixed, live, at, number, before)
        entry = _entry_of(live, before, unit, place)
        if entry > 0:
            return before, entry
        is_open = live[before + h.IS_OPEN] != 0 and _is_left_open(live, live[before + h.PREVIOUS])
        if live[f.WANTED] >= 0 or not is_open:
            return record, n.ZERO
        before = live[before + h.PREVIOUS]  # the message was before what came at once


@njit(cache=True)
def _entry_of(live: Ints, record: int, unit: int, place: int) -> int:
    """The entry of a node in the trace of a record, 0: none."""
    entry = live[record + h.ENTRY]
    while entry > 0:
        if live[entry + OF_PLACE] == place and live[entry + OF_UNIT] == unit:
            return int(entry)
        entry = live[entry + EARLIER]
    return 0


@njit(cache=True)
def _begin(fixed: Ints, live: Ints, at: Layout, number: int, record: int) -> None:
    """Go through a transition, or through the first event of a finale."""
    source, what, value = live[record + h.SOURCE], live[record + h.BY], live[record + h.WITH]
    goes, since = live[record + h.GOES], h.since_of(live, record)
    came, order = n.ZERO + 1, n.ZERO + 1
    if live[record + h.IS_OPEN] != 0:
        came = order = _order_before(fixed, live, at, number, record)
        if order > 0 and what != ARRIVAL:
            order = _order_in_step(fixed, live, at, number, record)
        if order == 0:
            return
    live[record + h.TRACED] = h.WHOLE
    npu = at.scratch
    if goes != h.TRANSITION:
        live[record + h.TRACED] = h.BEGUN
        npu = at.shadow + number * at.npu_size
    cause = AT_BEGIN, n.ZERO, n.ZERO, n.ZERO
    by_message = BY_MESSAGE, h.unit_of(live, record), n.ZERO, n.ZERO
    if source < 0:
        clear(live, at, npu, since, n.ZERO)
        enter(fixed, live, at, npu, what // 2, what % 2 == 1, value)
        _walk(fixed, live, at, npu, since, record, cause)
    else:
        restore(fixed, live, at, npu, source, since)
        slot, now = next_slot(live, at, npu), since + value
        if what >= 0:
            live[npu + f.NEXT_PIECE] = what // 2
            live[npu + f.GATE] = 1 if order < 0 else what % 2
            live[npu + f.NEXT_AGE] = value
        elif order < 0 or what == ARRIVAL:
            if what != ARRIVAL:
                now = live[slot + n.END]
            receive(fixed, live, at, npu, n.ZERO)
            last = live[f.TRACE_END], live[record + h.ENTRY]
            _walk(fixed, live, at, npu, now, record, by_message)
            if came < 0:  # these have started before, see the record before
                live[f.TRACE_END], live[record + h.ENTRY] = last
        if what != ARRIVAL:
            _step(fixed, live, at, npu, slot, record)
    if goes == h.TRANSITION and (what == ARRIVAL or (what >= 0 and what % 2 == 1)):
        _run_to_chain_end(fixed, live, at, npu, record)


@njit(cache=True)
def _order_before(fixed: Ints, live: Ints, at: Layout, number: int, record: int) -> int:
    """Order of a message and the events of those records before in which it was left open.

    Returns:
        -1 if the message was before one of them, 0 if that has to be decided first.
    """
    before = live[record + h.PREVIOUS]
    while _is_left_open(live, before):
        order = _order_in_step(fixed, live, at, number, before)
        if order <= 0:
            return order
        before = live[before + h.PREVIOUS]
    return 1


@njit(cache=True)
def _is_left_open(live: Ints, record: int) -> bool:
    """True if the order of a message that comes later on and of an event is open in a record."""
    if record <= 0 or live[record + h.IS_OPEN] == 0:
        return False
    return bool(live[record + h.BY] != ARRIVAL)


@njit(cache=True)
def _order_in_step(fixed: Ints, live: Ints, at: Layout, number: int, record: int) -> int:
    npu = at.scratch
    restore(fixed, live, at, npu, live[record + h.SOURCE], live[record + h.SINCE])
    slot = next_slot(live, at, npu)
    coming = n.ZERO if live[record + h.BY] < 0 else n.ZERO + 1
    moved, later = h.unit_of(live, record), h.since_of(live, record) - live[record + h.SINCE]
    message = message_to(fixed, at, number, moved + coming)
    arrival = arrival_of(at, message_to(fixed, at, number, live[record + h.UNIT] + coming))
    if live[arrival] >= 0:
        order = sent_after(live, arrival, slot + f.SCHEDULED, n.ZERO)
    else:  # it came after the leap
        order = sent_after(live, arrival_of(at, message), slot + f.SCHEDULED, later)
    if order != 0:
        return -1 if order < 0 else 1
    unit, place = place_of(fixed, live, at, npu, live[slot])
    now = live[slot + n.END] + later
    return _decided(live, at, number, message, moved + unit, place, now)


@njit(cache=True)
def _decided(
    live: Ints, at: Layout, number: int, message: int, unit: int, place: int, now: int
) -> int:
    """Order that was decided; if it was not, it is wanted."""
    order = h.decided(live, at, message, unit, place)
    if order == 0:
        live[f.WANTED], live[f.WANTED_STAGE] = message, number
        live[f.WANTED_UNIT], live[f.WANTED_PLACE], live[f.WANTED_AT] = unit, place, now
    return order


@njit(cache=True)
def _run_to_chain_end(fixed: Ints, live: Ints, at: Layout, npu: int, record: int) -> None:
    """Go on until the next event ends the last compute node of the current unit."""
    while live[record + h.TRACED] != h.LOST:
        slot = next_slot(live, at, npu)
        is_send = slot >= 0 and fixed[live[slot + n.ROW] + n.KIND] == n.SEND
        if slot < 0 or (live[slot + n.END] == live[npu + f.LAST_ENDS] and not is_send):
            return
        _step(fixed, live, at, npu, slot, record)


@njit(cache=True)
def _go_on_in_finale(
    fixed: Ints, live: Ints, at: Layout, number: int, record: int, until: int
) -> None:
    """Go through the next event of a finale; LOST if it is not known which one that is."""
    npu = at.shadow + number * at.npu_size
    slot = next_slot(live, at, npu)
    unit, arrival, is_alone = _next_arrival(fixed, live, at, number, npu, record)
    end = live[slot + n.END] if slot >= 0 else n.NEVER
    comes = live[arrival + f.ARRIVAL_END] if arrival >= 0 else n.NEVER
    if min(end, comes) > until or (comes <= end and not is_alone):
        live[record + h.TRACED] = h.LOST
        return
    late = comes - end
    if late == 0:
        late = sent_after(live, arrival, slot + f.SCHEDULED, n.ZERO)
        if late == 0:
            own, place = place_of(fixed, live, at, npu, live[slot])
            message = (arrival - at.arrival) // f.ARRIVAL_FIELDS
            own += h.unit_of(live, record)
            late = _decided(live, at, number, message, own, place, end)
        if late == 0:
            return
    if late < 0:
        receive(fixed, live, at, npu, unit)
        first = live[npu + at.block + 2 * (live[npu + f.BLOCKS] - 1) + 1]
        cause = BY_MESSAGE, h.unit_of(live, record) + first + unit, n.ZERO, n.ZERO
        _walk(fixed, live, at, npu, comes, record, cause)
    else:
        _step(fixed, live, at, npu, slot, record)


@njit(cache=True)
def _next_arrival(
    fixed: Ints, live: Ints, at: Layout, number: int, npu: int, record: int
) -> tuple[int, int, bool]:
    """Unit whose message comes next in a finale, and the address of its arrival, -1: none.

    The last of the three: no other one comes at once that was sent at once.
    """
    block = live[npu + f.BLOCKS] - 1
    receives = fixed[live[npu + at.block + 2 * block] + f.RECEIVES]
    first = h.unit_of(live, record) + live[npu + at.block + 2 * block + 1]
    best, found, unit, is_alone = n.ZERO, n.ZERO - 1, n.ZERO, True
    while fixed[receives + unit] != n.NEVER:
        place = fixed[receives + unit]
        if place >= 0 and live[npu + at.node + (block << at.shift) + place] != f.DONE:
            message = fixed[unit_address(fixed, at, number, first + unit) + f.RECEIVED]
            arrival = arrival_of(at, message)
            if live[arrival + f.ARRIVAL_END] >= 0:
                if found < 0 or _comes_before(live, arrival, found):
                    best, found, is_alone = unit, arrival, True
                elif not _comes_before(live, found, arrival):
                    is_alone = False
        unit += 1
    return best, found, is_alone


@njit(cache=True)
def _comes_before(live: Ints, arrival: int, other: int) -> bool:
    if live[arrival + f.ARRIVAL_END] != live[other + f.ARRIVAL_END]:
        return bool(live[arrival + f.ARRIVAL_END] < live[other + f.ARRIVAL_END])
    return bool(live[arrival + f.ARRIVAL_START] < live[other + f.ARRIVAL_START])


@njit(cache=True)
def _step(fixed: Ints, live: Ints, at: Layout, npu: int, slot: int, record: int) -> None:
    """End the node in *slot*, and with it all others of this NPU that end at the same time."""
    now, row = live[slot + n.END], live[slot + n.ROW]
    kind = fixed[row + n.KIND]
    live[npu + f.UNDER_WAY] = live[npu + f.DECIDED] = live[slot + f.SCHEDULED]
    if kind == n.COMMUNICATION:
        live[npu + f.DECIDED] = now - live[at.times + fixed[row + f.ITEM] + n.DURATION]
    unit, place = place_of(fixed, live, at, npu, live[slot])
    cause = BY_NODE, unit + h.unit_of(live, record), place, live[slot + f.SCHEDULED]
    _finish(fixed, live, at, npu, slot, now, record, cause)
    if kind == n.SEND:
        return
    for number in range(at.slots):
        other = npu + f.SLOT + number * f.SLOT_FIELDS
        if ends_too(fixed, live, other, now):
            _finish(fixed, live, at, npu, other, now, record, cause)


@njit(cache=True)
def _finish(
    fixed: Ints,
    live: Ints,
    at: Layout,
    npu: int,
    slot: int,
    now: int,
    record: int,
    cause: tuple[int, int, int, int],
) -> None:
    """End a node; what then starts is traced."""
    end_node(fixed, live, at, npu, slot, now)
    _walk(fixed, live, at, npu, now, record, cause)


@njit(cache=True)
def _walk(
    fixed: Ints,
    live: Ints,
    at: Layout,
    npu: int,
    now: int,
    record: int,
    cause: tuple[int, int, int, int],
) -> None:
    """Start the ready nodes whose slot is free, and write their entries."""
    while True:
        slot = take_next(fixed, live, at, npu, now)
        if slot < 0:
            return
        row = row_of(fixed, live, at, npu, live[slot])
        start_node(fixed, live, at, npu, slot, row, now)
        entry = live[f.TRACE_END]
        if entry + ENTRY_FIELDS > at.decision or fixed[row + n.KIND] == n.SHARED:
            live[record + h.TRACED] = h.LOST
            return
        live[f.TRACE_END] += ENTRY_FIELDS
        unit, place = place_of(fixed, live, at, npu, live[slot])
        live[entry + EARLIER] = live[record + h.ENTRY]
        live[entry + OF_UNIT], live[entry + OF_PLACE] = unit + h.unit_of(live, record), place
        live[entry + KIND], live[entry + CATEGORY] = fixed[row + n.KIND], fixed[row + n.CATEGORY]
        live[entry + START], live[entry + CAUSE] = now, cause[0]
        live[entry + CAUSE_UNIT], live[entry + CAUSE_PLACE] = cause[1], cause[2]
        live[entry + CAUSE_SCHEDULED] = cause[3]
        live[record + h.ENTRY] = entry
