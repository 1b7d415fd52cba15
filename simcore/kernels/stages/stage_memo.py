"""Next steps of a stage's NPU, worked out once per situation and then looked up.

Between the moments at which it may wait for a message an NPU's work is decided by its situation
alone. So its course is a walk over known situations (``stage_states``) along transitions:

* from CHAIN_ENDS, by the piece of the next unit and whether its message is there: on to the end of
  that unit's last compute node, or, without the message, to AWAITS_MESSAGE;
* from AWAITS_MESSAGE, by the next event, or by the message's arrival some time later.

Only what is not known yet is worked out node by node (``stage_npu``).
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.npu.feeder import book
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.stage_course import go_ahead, run_to_chain_end
from simcore.kernels.stages.stage_layout import Layout
from simcore.kernels.stages.stage_npu import clear, enter, next_slot, receive, step, walk
from simcore.kernels.stages.stage_states import alike, copy_npu, intern, restore, write_record

START = np.int64(-1)
"""State of an NPU before its first unit."""

STEP, ARRIVAL = np.int64(-1), np.int64(-2)
"""Transitions from AWAITS_MESSAGE; those from CHAIN_ENDS are ``2 * piece + (message is there)``."""

_ORDER = -4
"""``_ORDER - what``: whether the order of *what* and of a message that comes at the same time
matters; remembered like a transition."""

Ints = NDArray[np.int64]


@njit(cache=True)
def transition(fixed: Ints, live: Ints, at: Layout, source: int, what: int, value: int) -> int:
    """Address of a transition from the state *source*; worked out if it is new.

    *value* is the age of the next unit's forward pass, or the delay of the arrival.
    """
    state = at.state + source * f.STATE_FIELDS
    if (
        source != START
        and live[state + f.LAST_VALUE] == value
        and live[state + f.LAST_WHAT] == what
    ):
        return int(live[state + f.LAST_EDGE])
    edge = _edge(live, at, source, what, value)
    if live[f.FAILURE] == 0 and live[edge + f.TARGET] < 0:
        _work_out(fixed, live, at, edge)
    if source != START and live[f.FAILURE] == 0:
        live[state + f.LAST_WHAT], live[state + f.LAST_VALUE] = what, value
        live[state + f.LAST_EDGE] = edge
    return edge


@njit(cache=True)
def _edge(live: Ints, at: Layout, source: int, what: int, value: int) -> int:
    """Address of what is known under a key; its TARGET is negative where nothing is."""
    key = ((source * 1000003) ^ what) * 1099511628211 ^ value
    key = (key ^ (key >> 31)) * 1099511628211
    place = (key ^ (key >> 29)) & (at.table_size - 1)
    while True:
        number = live[at.edge_table + place]
        edge = at.edge + number * f.EDGE_FIELDS
        if not (0 <= number < live[f.EDGES] and live[edge + f.EDGE_PLACE] == place):
            break
        known = live[edge] == source and live[edge + f.WHAT] == what
        if known and live[edge + f.VALUE] == value:
            return int(edge)
        place = (place + 1) & (at.table_size - 1)
    number = live[f.EDGES]
    edge = at.edge + number * f.EDGE_FIELDS
    if number >= at.edges:
        live[f.FAILURE] = f.FULL
        return int(edge)
    live[f.EDGES] += 1
    live[at.edge_table + place] = number
    live[edge + f.EDGE_PLACE] = place
    live[edge] = source
    live[edge + f.WHAT] = what
    live[edge + f.VALUE] = value
    live[edge + f.TARGET] = live[edge + f.PASSED_BY] = -1
    live[edge + f.QUIET] = live[edge + f.SETTLED] = 0
    return int(edge)


@njit(cache=True)
def _work_out(fixed: Ints, live: Ints, at: Layout, edge: int) -> None:
    npu, what, value = at.scratch, live[edge + f.WHAT], live[edge + f.VALUE]
    _advance(fixed, live, at, live[edge], what, value)
    mode = f.AWAITS_MESSAGE
    if what == ARRIVAL or (what >= 0 and what % 2 == 1):
        mode = f.CHAIN_ENDS
        run_to_chain_end(fixed, live, at, npu)
    if live[f.FAILURE] != 0:
        return
    now = live[npu + n.BOOKED_UNTIL]
    length = write_record(fixed, live, at, npu, mode, now)
    live[edge + f.TARGET] = intern(live, at, npu, length, now)
    live[edge + f.TIME] = now
    entries = live[npu + f.LOGGED]
    log = live[f.POOL_END]
    size = entries * f.LOG_FIELDS
    if log + size + at.categories + 1 > at.pool_end:
        live[f.FAILURE] = f.FULL
        return
    live[f.POOL_END] += size + at.categories + 1
    live[edge + f.ENTRIES] = entries
    live[edge + f.LOG] = log
    for offset in range(size):
        live[log + offset] = live[npu + at.log + offset]
    for category in range(at.categories + 1):
        live[log + size + category] = live[npu + at.booked + category]


@njit(cache=True)
def _advance(fixed: Ints, live: Ints, at: Layout, source: int, what: int, value: int) -> None:
    """Put the scratch NPU into *source* at time 0 and let happen what leads away from there."""
    npu = at.scratch
    if source == START:
        clear(live, at, npu, n.ZERO, n.ZERO)
        enter(fixed, live, at, npu, what // 2, what % 2 == 1, value)
        walk(fixed, live, at, npu, n.ZERO)
        return
    restore(fixed, live, at, npu, source, n.ZERO)
    if what == STEP:
        step(fixed, live, at, npu, next_slot(live, at, npu))
    elif what == ARRIVAL:
        open_unit(fixed, live, at, npu, value)
    else:
        end_chain(fixed, live, at, npu, what, value)


@njit(cache=True)
def end_chain(fixed: Ints, live: Ints, at: Layout, npu: int, what: int, forward_age: int) -> None:
    """The last compute node of the unit ends, and the next unit begins."""
    live[npu + f.NEXT_PIECE] = what // 2
    live[npu + f.GATE] = what % 2
    live[npu + f.NEXT_AGE] = forward_age
    step(fixed, live, at, npu, next_slot(live, at, npu))


@njit(cache=True)
def open_unit(fixed: Ints, live: Ints, at: Layout, npu: int, now: int) -> None:
    """The message that the unit waits for arrives."""
    book(fixed, live, at, npu, now)
    live[npu + n.BOOKED_UNTIL] = now
    receive(fixed, live, at, npu, n.ZERO)
    walk(fixed, live, at, npu, now)


@njit(cache=True)
def order_matters(fixed: Ints, live: Ints, at: Layout, source: int, what: int, value: int) -> bool:
    """True if the order of a message and a simultaneous event of its receiver matters.

    From CHAIN_ENDS, *what* is the next unit without its message and *value* its age; from
    AWAITS_MESSAGE, *what* is STEP.
    """
    edge = _edge(live, at, source, _ORDER - what, value)
    if live[f.FAILURE] != 0:
        return True
    if live[edge + f.TARGET] < 0:
        matters = _compare_orders(fixed, live, at, source, what, value)
        live[edge + f.TARGET] = 1 if matters else 0
    return bool(live[edge + f.TARGET] == 1)


@njit(cache=True)
def _compare_orders(
    fixed: Ints, live: Ints, at: Layout, source: int, what: int, value: int
) -> bool:
    npu, other = at.scratch, at.scratch + at.npu_size
    now = live[at.state + source * f.STATE_FIELDS + f.HEAD_END]
    if what == STEP:
        restore(fixed, live, at, npu, source, n.ZERO)
        return order_matters_at(fixed, live, at, npu, n.ZERO, now)
    _advance(fixed, live, at, source, what + 1, value)
    copy_npu(live, at, npu, other)
    _advance(fixed, live, at, source, what, value)
    open_unit(fixed, live, at, npu, now)
    return not _end_alike(fixed, live, at, npu, other)


@njit(cache=True)
def order_matters_at(fixed: Ints, live: Ints, at: Layout, npu: int, unit: int, now: int) -> bool:
    """``order_matters`` for the current *unit*'s message and an NPU's next event."""
    if at.instant == 0 and _only_noted(fixed, live, at, npu, unit, now):
        return False
    other, another = at.scratch + at.npu_size, at.scratch + 2 * at.npu_size
    copy_npu(live, at, npu, other)
    copy_npu(live, at, npu, another)
    step(fixed, live, at, other, next_slot(live, at, other))
    receive(fixed, live, at, other, unit)
    walk(fixed, live, at, other, now)
    receive(fixed, live, at, another, unit)
    walk(fixed, live, at, another, now)
    step(fixed, live, at, another, next_slot(live, at, another))
    return not _end_alike(fixed, live, at, other, another)


@njit(cache=True)
def _end_alike(fixed: Ints, live: Ints, at: Layout, one: int, other: int) -> bool:
    """True if two NPUs are in the same situation, now or before anything of them concerns others.

    So they are where the order decides on which stream a collective runs, and on nothing else.
    """
    if alike(live, at, one, other):
        return True
    go_ahead(fixed, live, at, one)
    go_ahead(fixed, live, at, other)
    return alike(live, at, one, other)


@njit(cache=True)
def _only_noted(fixed: Ints, live: Ints, at: Layout, npu: int, unit: int, now: int) -> bool:
    """True if all that waits for a message waits for more, also once all that ends *now* has ended.

    Then nothing starts because of the message, and it may as well come later. (What starts now
    ends later, unless there are collectives that take no time.)
    """
    block = live[npu + f.BLOCKS] - 1
    piece = live[npu + at.block + 2 * block]
    place = fixed[fixed[piece + f.RECEIVES] + unit]
    row = fixed[piece + f.ROWS] + place * f.NODE_FIELDS
    for edge in range(fixed[row + n.CHILDREN], fixed[row + f.NODE_FIELDS + n.CHILDREN]):
        missing = live[npu + at.node + (block << at.shift) + fixed[edge]] - 1
        for number in range(at.slots):
            slot = npu + f.SLOT + number * f.SLOT_FIELDS
            if live[slot] < 0 or live[slot + n.END] != now:
                continue
            if live[slot] == live[npu + f.LOSS_AT]:
                return False
            if live[slot] >> at.shift == block:
                missing -= _times_among_children(fixed, live[slot + n.ROW], fixed[edge])
        if missing < 1:
            return False
    return True


@njit(cache=True)
def _times_among_children(fixed: Ints, row: int, child: int) -> int:
    times = 0
    for edge in range(fixed[row + n.CHILDREN], fixed[row + f.NODE_FIELDS + n.CHILDREN]):
        times += 1 if fixed[edge] == child else 0
    return times
