"""Runs the stages of a pipeline against each other, unit by unit.

Stages meet in messages, whose time does not depend on the receiver, and in the collectives at the
end of the iteration. So each stage goes its own way from one unit to the next (``stage_memo``), in
whatever order, as long as it is known when the message comes that it waits for. The end of the
iteration, from the last backward unit on, is followed node by node, the stage whose next event
comes first always first.

Where the schedule repeats, the state of all stages is kept each time each of them is about to end
the first unit of a period. Once it is that of an earlier period, all that happens from there on is
the same, period after period: the run tells what one of them adds, and is as if it had had fewer.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.order.compare import order_of
from simcore.kernels.stages.order.history import FINALE_AT_END, FINALE_AT_MESSAGE, TRANSITION, note
from simcore.kernels.stages.order.replay import place_of
from simcore.kernels.stages.passing.lateness import comes_later
from simcore.kernels.stages.passing.passages import begin_unit, pass_unit
from simcore.kernels.stages.pipeline_finale import all_done, begin_finale, go_on_in_finale
from simcore.kernels.stages.pipeline_messages import (
    arrival_of,
    send,
    sent_after,
    unit_address,
)
from simcore.kernels.stages.pipeline_period import look_for_period
from simcore.kernels.stages.stage_layout import Layout
from simcore.kernels.stages.stage_memo import (
    ARRIVAL,
    START,
    STEP,
    end_chain,
    open_unit,
    order_matters,
    transition,
)
from simcore.kernels.stages.stage_npu import next_slot
from simcore.kernels.stages.stage_states import restore

FINISHED, FAILED = -1, -2

Ints = NDArray[np.int64]


@njit(cache=True)
def start(fixed: Ints, live: Ints, at: Layout, is_noted: bool) -> None:
    """Every stage begins its first unit, and goes on up to the end of the iteration.

    *is_noted*: transitions are noted one by one from the start; else only once it is asked for
    where the stages have been.
    """
    _fill(live, n.ZERO, f.OF_ATTEMPT, n.ZERO)
    live[f.POOL_END] = at.pool
    live[f.NOTED] = 1 if is_noted else 0
    _fill(live, at.course, at.sections * (f.COURSE_FIELDS + at.categories), n.ZERO)
    _attempt(fixed, live, at)


@njit(cache=True)
def _attempt(fixed: Ints, live: Ints, at: Layout) -> None:
    """``start`` with the situations that are known."""
    _fill(live, f.OF_ATTEMPT, f.COUNTERS - f.OF_ATTEMPT, n.ZERO)
    live[f.RESOLVABLE] = -1
    live[f.HISTORY_END], live[f.TRACE_END] = at.history, at.traced
    _fill(live, at.arrival, at.messages * f.ARRIVAL_FIELDS, n.ZERO - 1)
    _fill(live, at.started, at.collectives * (at.stages + 1), n.ZERO - 1)
    _fill(live, at.account, at.stages * (at.categories + 1), n.ZERO)
    for collective in range(at.collectives):
        live[at.started + collective * (at.stages + 1)] = 0
    for number in range(at.stages):
        stage = at.stage + number * f.STAGE_FIELDS
        _fill(live, stage, f.STAGE_FIELDS, n.ZERO)
        live[stage + f.AT_UNIT] = -1
        live[at.due + number] = n.NEVER
        live[stage + f.ARRIVES] = n.NEVER
    for number in range(at.stages):
        record = unit_address(fixed, at, number, n.ZERO)
        _begin_unit(fixed, live, at, number, record, START, np.bool_(False))
        if live[f.FAILURE] != 0:
            return
    _go_ahead(fixed, live, at)


@njit(cache=True)
def _fill(live: Ints, first: int, length: int, value: int) -> None:
    for place in range(first, first + length):
        live[place] = value


@njit(cache=True)
def run(fixed: Ints, live: Ints, at: Layout) -> int:
    """Go on until nothing is left, or a collective between stages can be resolved.

    Where it is asked for notes that there are none of, all begins anew, with notes.

    Returns:
        FINISHED, FAILED (every node must be followed instead), or the number of the collective all
        of whose members have started.
    """
    found = _run(fixed, live, at)
    if found == FAILED and live[f.FAILURE] == f.UNNOTED:
        live[f.NOTED] = 1
        _attempt(fixed, live, at)
        found = _run(fixed, live, at)
    return found


@njit(cache=True)
def _run(fixed: Ints, live: Ints, at: Layout) -> int:
    while live[f.FAILURE] == 0:
        collective = live[f.RESOLVABLE]
        if collective >= 0:
            live[f.RESOLVABLE] = -1
            return int(collective)
        first = _first_due(live, at)
        stage = at.stage + first * f.STAGE_FIELDS
        if live[at.due + first] == n.NEVER:
            return FINISHED if all_done(fixed, live, at) else FAILED
        if live[stage + f.MODE] == f.CHAIN_ENDS:
            record = unit_address(fixed, at, first, live[stage + f.AT_UNIT] + 1)
            _end_unit(fixed, live, at, first, record)
            _go_on(fixed, live, at, first, n.NEVER)
        elif live[stage + f.MODE] == f.AWAITS_MESSAGE:
            record = unit_address(fixed, at, first, live[stage + f.AT_UNIT])
            _wait(fixed, live, at, first, record)
            _go_on(fixed, live, at, first, n.NEVER)
        else:
            go_on_in_finale(fixed, live, at, first)
    return FAILED


@njit(cache=True)
def _go_ahead(fixed: Ints, live: Ints, at: Layout) -> None:
    """Take all stages as far as known messages allow, one period of the schedule at a time."""
    periods = n.ZERO if at.period > 0 else n.NEVER
    moved = True
    while moved and live[f.FAILURE] == 0:
        moved, waiting = False, 0
        for turn in range(2 * at.stages):  # forward passes go up the stages, backward passes down
            number = min(turn, 2 * at.stages - 1 - turn)
            last = n.NEVER
            if periods != n.NEVER:
                first = fixed[at.program + number * f.PROGRAM_FIELDS + f.REPEATS_FROM]
                last = first + periods * at.period
            moved = _go_on(fixed, live, at, number, last) or moved
            if turn >= at.stages and live[at.stage + number * f.STAGE_FIELDS + f.AT_UNIT] != last:
                waiting += 1
        if periods != n.NEVER:
            if waiting == 0:
                moved = True
                is_sought = live[f.DECISIONS] == 0 and look_for_period(fixed, live, at)
                periods = periods + 1 if is_sought else n.NEVER
            elif not moved:  # a stage waits for what another one does in the next period
                moved = True
                periods = n.NEVER


@njit(cache=True)
def _go_on(fixed: Ints, live: Ints, at: Layout, number: int, last: int) -> bool:
    """Take a stage up to the end of the unit *last*, or as far as can be; True if it went on."""
    stage, moved = at.stage + number * f.STAGE_FIELDS, False
    while live[f.FAILURE] == 0 and live[stage + f.MODE] != f.FINALE:
        ends = live[stage + f.MODE] == f.CHAIN_ENDS
        if ends and live[stage + f.AT_UNIT] == last:
            break
        unit = live[stage + f.AT_UNIT] + (1 if ends else 0)
        record = unit_address(fixed, at, number, unit)
        message = fixed[record + f.RECEIVED]
        is_open = message < 0 or live[arrival_of(at, message)] >= 0
        due = live[at.due + number]
        if not (is_open or comes_later(fixed, live, at, number, message, due, n.NEVER)):
            break
        moved = True
        if ends:
            _end_unit(fixed, live, at, number, record)
        else:
            _wait(fixed, live, at, number, record)
    return moved


@njit(cache=True)
def _first_due(live: Ints, at: Layout) -> int:
    """The stage whose next event comes first, of several the lowest."""
    earliest = live[at.due]
    for number in range(1, at.stages):
        earliest = min(earliest, live[at.due + number])
    first = n.ZERO
    while live[at.due + first] != earliest:
        first += 1
    return first


@njit(cache=True)
def _begin_unit(
    fixed: Ints, live: Ints, at: Layout, number: int, record: int, source: int, is_open: bool
) -> None:
    """The last compute node of a unit ends: go on with the next unit, whose address is *record*."""
    stage = at.stage + number * f.STAGE_FIELDS
    program = at.program + number * f.PROGRAM_FIELDS
    unit = live[stage + f.AT_UNIT] + 1
    piece = fixed[program + f.PIECES] + fixed[record + f.WHICH] * f.PIECE_FIELDS
    waits = fixed[record + f.RECEIVED] >= 0
    if waits and is_open:
        live[stage + f.KNOWN] -= 1
    is_open = is_open or not waits
    what, age = 2 * piece + (1 if is_open else 0), fixed[record + f.FORWARD_AGE]
    if is_open and fixed[piece + f.LAST] < 0:
        npu, since = at.npu + number * at.npu_size, live[stage + f.SINCE]
        if live[f.NOTED] != 0:
            note(live, at, number, FINALE_AT_END, source, what, age, since)
        restore(fixed, live, at, npu, source, since)
        end_chain(fixed, live, at, npu, what, age)
        live[stage + f.AT_UNIT] = unit
        begin_finale(fixed, live, at, number, unit - 1)
        return
    edge = transition(fixed, live, at, source, what, age)
    if live[f.FAILURE] == 0:
        if live[f.NOTED] != 0:
            note(live, at, number, TRANSITION, source, what, age, live[stage + f.SINCE])
        _follow(fixed, live, at, number, edge, live[stage + f.SINCE])
        live[stage + f.AT_UNIT] = unit
        _look_ahead_waiting(fixed, live, at, number)


@njit(cache=True)
def _end_unit(fixed: Ints, live: Ints, at: Layout, number: int, unit: int) -> None:
    """The next event of a stage ends a unit's last compute node; *unit* is the next one's address.

    Where it is known how much later this unit's message comes, the stage goes on to its end; where
    it is known that it comes after all that still runs, up to then.
    """
    stage = at.stage + number * f.STAGE_FIELDS
    message, source = fixed[unit + f.RECEIVED], live[stage + f.STATE]
    is_open = False
    is_known = message >= 0 and live[arrival_of(at, message)] >= 0
    if not is_known and message >= 0 and live[f.NOTED] == 0:
        if begin_unit(fixed, live, at, number, unit, message):
            return
    elif is_known:
        order = _order(live, at, number, message)
        is_open = order < 0
        if order > 0 and live[f.NOTED] == 0:
            if pass_unit(fixed, live, at, number, unit, arrival_of(at, message)):
                return
        elif order == 0:
            pieces = fixed[at.program + number * f.PROGRAM_FIELDS + f.PIECES]
            what = 2 * (pieces + fixed[unit + f.WHICH] * f.PIECE_FIELDS)
            if order_matters(fixed, live, at, source, what, fixed[unit + f.FORWARD_AGE]):
                order = _decide(fixed, live, at, number, message)
                if order == 0:
                    return
                is_open = order < 0
            else:
                live[stage + f.LEFT_OPEN] = 1
    _begin_unit(fixed, live, at, number, unit, source, is_open)


@njit(cache=True)
def _order(live: Ints, at: Layout, number: int, message: int) -> int:
    """Order of a known message: before (-1), at (0) or after (1) the stage's next event."""
    stage = at.stage + number * f.STAGE_FIELDS
    state = at.state + live[stage + f.STATE] * f.STATE_FIELDS
    if live[state + f.HEAD_END] == n.NEVER:
        return -1
    since, arrival = live[stage + f.SINCE], arrival_of(at, message)
    late = live[arrival + f.ARRIVAL_END] - since - live[state + f.HEAD_END]
    if late == 0:
        late = sent_after(live, arrival, state + f.HEAD_SCHEDULED, since)
    return -1 if late < 0 else (1 if late > 0 else 0)


@njit(cache=True)
def _wait(fixed: Ints, live: Ints, at: Layout, number: int, record: int) -> None:
    """The next event of a stage that waits for the message of the unit at *record*.

    That is the message, or a node's end.
    """
    stage = at.stage + number * f.STAGE_FIELDS
    message = fixed[record + f.RECEIVED]
    since, source = live[stage + f.SINCE], live[stage + f.STATE]
    arrival = live[arrival_of(at, message)]
    order = _order(live, at, number, message) if arrival >= 0 else 1
    if order == 0:
        if order_matters(fixed, live, at, source, STEP, n.ZERO):
            order = _decide(fixed, live, at, number, message)
            if order == 0:
                return
        else:
            live[stage + f.LEFT_OPEN] = 1
    if order >= 0:
        edge = transition(fixed, live, at, source, STEP, n.ZERO)
        if live[f.FAILURE] == 0:
            if live[f.NOTED] != 0:
                note(live, at, number, TRANSITION, source, STEP, n.ZERO, since)
            _follow(fixed, live, at, number, edge, since)
            _look_ahead_waiting(fixed, live, at, number)
        return
    live[stage + f.KNOWN] -= 1
    if fixed[live[at.state + source * f.STATE_FIELDS + f.STATE_PIECE] + f.LAST] < 0:
        npu = at.npu + number * at.npu_size
        if live[f.NOTED] != 0:
            note(live, at, number, FINALE_AT_MESSAGE, source, ARRIVAL, arrival - since, since)
        restore(fixed, live, at, npu, source, since)
        open_unit(fixed, live, at, npu, arrival)
        begin_finale(fixed, live, at, number, live[stage + f.AT_UNIT])
        return
    delay = arrival - since
    if live[at.state + source * f.STATE_FIELDS + f.HEAD_END] == n.NEVER:
        # nothing runs: how long the NPU is idle makes no difference
        live[at.account + number * (at.categories + 1) + at.categories] += delay
        delay = n.ZERO
    edge = transition(fixed, live, at, source, ARRIVAL, delay)
    if live[f.FAILURE] == 0:
        if live[f.NOTED] != 0:
            note(live, at, number, TRANSITION, source, ARRIVAL, delay, arrival - delay)
        _follow(fixed, live, at, number, edge, arrival - delay)


@njit(cache=True)
def _decide(fixed: Ints, live: Ints, at: Layout, number: int, message: int) -> int:
    """Order of a message and a stage's next event, which came to be at once; 0: it failed."""
    if live[f.NOTED] == 0:
        live[f.FAILURE] = f.UNNOTED
        return 0
    stage = at.stage + number * f.STAGE_FIELDS
    npu, source = at.scratch, live[stage + f.STATE]
    restore(fixed, live, at, npu, source, live[stage + f.SINCE])
    slot = next_slot(live, at, npu)
    now = live[slot + n.END]
    unit, place = place_of(fixed, live, at, npu, live[slot])
    unit += live[stage + f.AT_UNIT]
    order = order_of(fixed, live, at, number, message, unit, place, now)
    if order == 0:
        live[f.FAILURE] = f.TIE
    return order


@njit(cache=True)
def _follow(fixed: Ints, live: Ints, at: Layout, number: int, edge: int, since: int) -> None:
    """Take a transition whose time 0 is *since*."""
    stage = at.stage + number * f.STAGE_FIELDS
    live[f.FOLLOWED] += 1
    entry = live[edge + f.LOG]
    for _ in range(live[edge + f.ENTRIES]):
        unit = live[stage + f.AT_UNIT] + live[entry]
        send(fixed, live, at, number, unit, entry, since)
        entry += f.LOG_FIELDS
    account = at.account + number * (at.categories + 1)
    for category in range(at.categories + 1):
        live[account + category] += live[entry + category]
    target = live[edge + f.TARGET]
    live[stage + f.STATE] = target
    live[stage + f.SINCE] = since + live[edge + f.TIME]
    live[stage + f.MODE] = live[at.state + target * f.STATE_FIELDS + f.STATE_MODE]
    live[at.due + number] = live[stage + f.SINCE]


@njit(cache=True)
def _look_ahead_waiting(fixed: Ints, live: Ints, at: Layout, number: int) -> None:
    """Note the next event of a stage that may wait for a message."""
    stage = at.stage + number * f.STAGE_FIELDS
    if live[stage + f.MODE] != f.AWAITS_MESSAGE:
        return
    head = live[at.state + live[stage + f.STATE] * f.STATE_FIELDS + f.HEAD_END]
    due = head + live[stage + f.SINCE] if head != n.NEVER else n.NEVER
    message = fixed[unit_address(fixed, at, number, live[stage + f.AT_UNIT]) + f.RECEIVED]
    arrival = live[arrival_of(at, message)]
    live[at.due + number] = min(due, arrival) if arrival >= 0 else due
