"""The end of an iteration: from the last unit of a chunk on a stage is followed node by node.

Only here do collectives between stages occur. A member's slot has no end until all members have
started and whoever runs the stages tells when they end.

Between the last units of two chunks a stage is often done with all that waited for the first of
them. It then leaves its finale: it goes on by its situations, as it did before, and begins another
finale with the next unit that the end of the iteration waits for.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.npu.feeder import book
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.order.compare import order_of
from simcore.kernels.stages.order.replay import place_of
from simcore.kernels.stages.pipeline_messages import (
    arrival_of,
    expect,
    message_to,
    send,
    sent_after,
    unit_address,
)
from simcore.kernels.stages.pipeline_resumed import leave_finale
from simcore.kernels.stages.stage_course import go_ahead
from simcore.kernels.stages.stage_layout import Layout
from simcore.kernels.stages.stage_memo import order_matters_at
from simcore.kernels.stages.stage_npu import next_slot, receive, step, walk

Ints = NDArray[np.int64]


@njit(cache=True)
def begin_finale(fixed: Ints, live: Ints, at: Layout, number: int, origin: int) -> None:
    """From here on a stage is followed node by node.

    Its units are counted from *origin*; the current one is the first of its finale.
    """
    stage = at.stage + number * f.STAGE_FIELDS
    live[stage + f.MODE] = f.FINALE
    live[stage + f.STATE] = origin
    live[stage + f.BEGAN] = live[stage + f.AT_UNIT]
    live[stage + f.ARRIVES] = n.NEVER
    _drain(fixed, live, at, number)
    _await_next(fixed, live, at, number)
    _look_ahead(fixed, live, at, number)


@njit(cache=True)
def go_on_in_finale(fixed: Ints, live: Ints, at: Layout, number: int) -> None:
    """The next event of a stage in its finale."""
    stage = at.stage + number * f.STAGE_FIELDS
    npu = at.npu + number * at.npu_size
    slot = live[stage + f.AHEAD]
    arrives = live[stage + f.ARRIVES]
    late = -1
    if slot >= 0:
        late = arrives - live[slot + n.END]
        if late == 0:
            late = sent_after(live, live[stage + f.ARRIVES_AT], slot + f.SCHEDULED, n.ZERO)
    unit = live[stage + f.ARRIVES_UNIT] - live[stage + f.BEGAN]
    if late == 0 and order_matters_at(fixed, live, at, npu, unit, arrives):
        late = _decide(fixed, live, at, number, slot)
    if live[f.FAILURE] != 0:
        return
    if arrives != n.NEVER and late < 0:
        receive(fixed, live, at, npu, unit)
        live[stage + f.KNOWN] -= 1
        walk(fixed, live, at, npu, arrives)
        _await_next(fixed, live, at, number)
    else:
        step(fixed, live, at, npu, slot)
    _drain(fixed, live, at, number)
    _look_ahead(fixed, live, at, number)


@njit(cache=True)
def _decide(fixed: Ints, live: Ints, at: Layout, number: int, slot: int) -> int:
    """Order of the next message and of the node in a *slot*, which came to be at once."""
    if live[f.NOTED] == 0:
        live[f.FAILURE] = f.UNNOTED
        return 0
    stage, npu = at.stage + number * f.STAGE_FIELDS, at.npu + number * at.npu_size
    message = message_to(fixed, at, number, live[stage + f.ARRIVES_UNIT])
    unit, place = place_of(fixed, live, at, npu, live[slot])
    unit += live[stage + f.STATE]
    now = live[slot + n.END]
    order = order_of(fixed, live, at, number, message, unit, place, now)
    if order == 0:
        live[f.FAILURE] = f.TIE
    return order


@njit(cache=True)
def _await_next(fixed: Ints, live: Ints, at: Layout, number: int) -> None:
    """Find the next of the known messages to a stage in its finale."""
    stage = at.stage + number * f.STAGE_FIELDS
    npu = at.npu + number * at.npu_size
    live[stage + f.ARRIVES] = n.NEVER
    block = live[npu + f.BLOCKS] - 1
    receives = fixed[live[npu + at.block + 2 * block] + f.RECEIVES]
    first = live[stage + f.BEGAN]
    unit = 0
    while fixed[receives + unit] != n.NEVER:
        message = fixed[unit_address(fixed, at, number, first + unit) + f.RECEIVED]
        place = fixed[receives + unit]
        if place >= 0 and live[npu + at.node + (block << at.shift) + place] != f.DONE:
            arrival = arrival_of(at, message)
            if live[arrival + f.ARRIVAL_END] >= 0:
                expect(live, at, number, arrival, first + unit)
        unit += 1


@njit(cache=True)
def _look_ahead(fixed: Ints, live: Ints, at: Layout, number: int) -> None:
    """Note the next event of a stage in its finale that may concern others."""
    stage = at.stage + number * f.STAGE_FIELDS
    go_ahead(fixed, live, at, at.npu + number * at.npu_size)
    slot = live[stage + f.AHEAD] = next_slot(live, at, at.npu + number * at.npu_size)
    due = live[slot + n.END] if slot >= 0 else n.NEVER
    live[at.due + number] = min(due, live[stage + f.ARRIVES])
    leave_finale(fixed, live, at, number)


@njit(cache=True)
def _drain(fixed: Ints, live: Ints, at: Layout, number: int) -> None:
    """Pass on what a stage in its finale has sent, and which collectives it has joined."""
    stage = at.stage + number * f.STAGE_FIELDS
    npu = at.npu + number * at.npu_size
    for place in range(live[npu + f.LOGGED]):
        entry = npu + at.log + place * f.LOG_FIELDS
        if live[entry + f.LOG_END] == n.NEVER:
            _join(fixed, live, at, live[entry], number, live[entry + f.LOG_START])
        else:
            unit = live[stage + f.STATE] + live[entry]
            send(fixed, live, at, number, unit, entry, n.ZERO)
    live[npu + f.LOGGED] = 0


@njit(cache=True)
def _join(fixed: Ints, live: Ints, at: Layout, collective: int, number: int, now: int) -> None:
    """A member of a shared collective has started; the last one makes it resolvable."""
    started = at.started + collective * (at.stages + 1)
    live[started] += 1
    live[started + 1 + number] = now
    if live[started] < fixed[at.members + collective]:
        return
    for other in range(at.stages):
        if live[started + 1 + other] >= 0:
            book(fixed, live, at, at.npu + other * at.npu_size, now)  # until now they waited
    if live[f.RESOLVABLE] >= 0:
        live[f.FAILURE] = f.TIE
    live[f.RESOLVABLE] = collective


@njit(cache=True)
def resolve(fixed: Ints, live: Ints, at: Layout, collective: int, ends: Ints, lead_ns: int) -> None:
    """Set the end of each member of a shared collective, in the order of their stages."""
    member = 0
    for number in range(at.stages):
        if live[at.started + collective * (at.stages + 1) + 1 + number] < 0:
            continue
        npu = at.npu + number * at.npu_size
        end, scheduled = ends[member], ends[member] - lead_ns
        member += 1
        its_slot = -1
        for place in range(at.slots):
            slot = npu + f.SLOT + place * f.SLOT_FIELDS
            if live[slot] < 0:
                continue
            row = live[slot + n.ROW]
            if fixed[row + n.KIND] == n.SHARED and fixed[row + n.MATE] == collective:
                its_slot = slot
            elif live[slot + n.END] == end and live[slot + f.SCHEDULED] == scheduled:
                live[f.FAILURE] = f.TIE
        live[npu + f.NUMBERS] += 1
        live[its_slot + n.END] = end
        live[its_slot + f.SCHEDULED] = scheduled
        live[its_slot + f.NUMBER] = live[npu + f.NUMBERS]
        _look_ahead(fixed, live, at, number)


@njit(cache=True)
def all_done(fixed: Ints, live: Ints, at: Layout) -> bool:
    """True if every stage has ended its last node."""
    left = n.ZERO
    for number in range(at.stages):
        if live[at.stage + number * f.STAGE_FIELDS + f.MODE] != f.FINALE:
            return False
        npu = at.npu + number * at.npu_size
        for block in range(live[npu + f.BLOCKS]):
            nodes = fixed[live[npu + at.block + 2 * block] + f.NODES]
            first = npu + at.node + (block << at.shift)
            for node in range(first, first + nodes):  # no early return: so it is vectorised
                left |= live[node] ^ f.DONE
    return bool(left == 0)
