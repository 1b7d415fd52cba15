"""A stage's NPU between the events that concern others: computes and collectives of its own unit.

Most of an iteration is long rows of computes and collectives of one unit, which no message and no
other stage disturbs. ``go_ahead`` follows these in a short loop, by the rules of ``npu.feeder``;
whatever else may come next is left to ``stage_npu``: the end of a message, two ends at one time,
nodes of other units, and what follows nodes that are CLOSED. A message that comes meanwhile makes
no difference, since all that waits for it waits for a node that is CLOSED too.

Layers that are alike follow each other in a unit. A section, from a node that all of it waits for
up to the next one like it, goes as every section of its kind does if nothing else runs or is ready
when that node ends: the first one is followed, and of those after it the times are added.

Nodes that LEAD on to the next one, for which nothing else is waited and which waits for nothing
else, go one after the other where nothing is ready and its slot is free: no heap or slot is asked.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.heaps import drop_lowest
from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.npu.feeder import book, make_ready, scheduled_at
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.stage_layout import Layout
from simcore.kernels.stages.stage_npu import next_slot, step, walk
from simcore.kernels.stages.stage_sections import pass_sections, use_streams

_FEW = 2
"""Sections that repeat less often are not worth being timed where nodes LEAD on."""

Ints = NDArray[np.int64]


@njit(cache=True)
def run_to_chain_end(fixed: Ints, live: Ints, at: Layout, npu: int) -> None:
    """Go on until the next event ends the last compute node of the current unit."""
    while True:
        go_ahead(fixed, live, at, npu)
        slot = next_slot(live, at, npu)
        if slot < 0:
            live[f.FAILURE] = f.FULL  # cannot be: the unit has all that it waits for
            return
        end = live[slot + n.END]
        if end == live[npu + f.LAST_ENDS] and fixed[live[slot + n.ROW] + n.KIND] != n.SEND:
            book(fixed, live, at, npu, end)
            return
        step(fixed, live, at, npu, slot)
        if live[f.FAILURE] != 0:
            return


@njit(cache=True)
def go_ahead(fixed: Ints, live: Ints, at: Layout, npu: int) -> None:
    """End nodes of the current unit, and start others, for as long as nothing else happens."""
    live[f.TIMED_NODE] = -1
    while _go_on(fixed, live, at, npu):
        if live[f.TIMED_BESIDE] != 0:
            live[f.TIMED_NODE] = -1


@njit(cache=True)
def _go_on(fixed: Ints, live: Ints, at: Layout, npu: int) -> bool:
    """``go_ahead`` while one collective is followed; True if it may be another one from here on."""
    begun = False
    compute = npu + f.SLOT
    joint, lowest, free, until, beside = _around(fixed, live, at, npu)
    block = live[npu + f.BLOCKS] - 1
    base, piece = block << at.shift, live[npu + at.block + 2 * block]
    rows, nodes = fixed[piece + f.ROWS], npu + at.node + base
    while True:
        compute_end = live[compute + n.END] if live[compute] >= 0 else n.NEVER
        joint_end = live[joint + n.END] if joint >= 0 and live[joint] >= 0 else n.NEVER
        slot, lane = compute, n.ZERO
        if joint_end < compute_end:
            slot, lane = joint, n.ZERO + 1
        now = min(compute_end, joint_end)
        if compute_end == joint_end or now >= until:
            return begun and now >= until
        # asked last, and once: nodes that leave others waiting for a message alone are CLOSED
        if not begun and _awaits(fixed, live, at, npu):
            return False
        row = live[slot + n.ROW]
        if fixed[row + n.MATE] > 0 or not _is_own(fixed, live, at, npu, lane, base, rows):
            return False
        begun = True
        at_work = row
        if compute_end != n.NEVER:
            at_work = live[compute + n.ROW]
        elif 0 <= beside < joint:
            at_work = live[beside + n.ROW]
        category = npu + at.booked + fixed[at_work + n.CATEGORY]
        live[category] += now - live[npu + n.BOOKED_UNTIL]
        live[npu + n.BOOKED_UNTIL] = now
        if fixed[row + f.SECTION] != 0:
            pass_sections(fixed, live, at, npu, slot, lowest, beside, until)
            row, now = live[slot + n.ROW], live[slot + n.END]
        if fixed[row + n.MATE] == f.LEADS and _may_run_along(fixed, live, npu, slot, joint, row):
            joint = _run_along(fixed, live, at, npu, slot, joint, lowest, beside, until)
            continue
        live[npu + at.node + live[slot]] = f.DONE
        live[slot] = -1
        for edge in range(fixed[row + n.CHILDREN], fixed[row + f.NODE_FIELDS + n.CHILDREN]):
            place = fixed[edge]
            live[nodes + place] -= 1
            if live[nodes + place] == 0:
                kind = fixed[rows + place * f.NODE_FIELDS + n.KIND]
                make_ready(live, at, npu, base + place, kind)
        if lane == 1:
            joint = lowest
        ready = live[npu + n.READY + 1] + (1 if joint >= 0 and live[joint] >= 0 else 0)
        if ready > 1:
            use_streams(live)
            if free > 1:
                walk(fixed, live, at, npu, now)  # it uses a further stream
                return True
        _begin(fixed, live, at, npu, joint, now, rows - base * f.NODE_FIELDS)


@njit(cache=True)
def _around(fixed: Ints, live: Ints, at: Layout, npu: int) -> tuple[int, int, int, int, int]:
    """Situation in which only the current unit goes on.

    Returns:
        Slot of the collective to be followed, or for the next one (-1: all are taken by others);
        the lowest slot for those after it; how many there are; the time before which all others
        go on; and the lowest slot of these (-1: there is none).
    """
    block = live[npu + f.BLOCKS] - 1
    joint, lowest, free, until, beside = n.ZERO - 1, n.ZERO - 1, n.ZERO, n.NEVER, n.ZERO - 1
    slot, streams = npu + f.SLOT, at.slots - at.lanes + 2
    alone = at.instant == 0 and at.compute_slots == 1
    if live[slot] >= 0 and live[slot] >> at.shift != block:
        alone = False
    for number in range(1, at.slots):
        slot += f.SLOT_FIELDS
        if live[slot] < 0:
            if number < streams:
                lowest = slot if lowest < 0 else lowest
                free += 1
            continue
        other = slot
        is_own = number < streams and live[slot] >> at.shift == block
        joins = is_own and fixed[live[slot + n.ROW] + n.KIND] == n.COMMUNICATION
        if joins and (joint < 0 or live[slot + n.END] < live[joint + n.END]):
            other, joint = joint, slot
        if other >= 0:
            alone = alone and live[other + n.END] != n.NEVER
            until = min(until, live[other + n.END])
            beside = other if beside < 0 else min(beside, other)
    if joint >= 0:
        lowest = joint if lowest < 0 else min(lowest, joint)
        free += 1
    else:
        joint = lowest
    return joint, lowest, free, until if alone else n.ZERO - n.NEVER, beside


@njit(cache=True)
def _awaits(fixed: Ints, live: Ints, at: Layout, npu: int) -> bool:
    """True if a node of the current piece waits for a message and for nothing else."""
    block = live[npu + f.BLOCKS] - 1
    piece = live[npu + at.block + 2 * block]
    rows, receive = fixed[piece + f.ROWS], fixed[piece + f.RECEIVES]
    nodes = npu + at.node + (block << at.shift)
    while fixed[receive] != n.NEVER:
        place = fixed[receive]
        receive += 1
        if place < 0 or live[nodes + place] == f.DONE:
            continue
        row = rows + place * f.NODE_FIELDS
        for edge in range(fixed[row + n.CHILDREN], fixed[row + f.NODE_FIELDS + n.CHILDREN]):
            if live[nodes + fixed[edge]] < 2:
                return True
    return False


@njit(cache=True)
def _is_own(fixed: Ints, live: Ints, at: Layout, npu: int, lane: int, base: int, rows: int) -> bool:
    """True if what waits for a slot of a *lane* computes or communicates in the current unit."""
    if live[npu + n.READY + lane] == 0:
        return True
    position = live[npu + at.ready + lane * at.room]
    if position < base:
        return False
    kind = fixed[rows + (position - base) * f.NODE_FIELDS + n.KIND]
    return bool(kind <= n.COMMUNICATION)


@njit(cache=True)
def _begin(fixed: Ints, live: Ints, at: Layout, npu: int, joint: int, now: int, rows: int) -> None:
    """Start the lowest ready compute, and collective, where there is a slot; the lower one first.

    *rows*: where the row of position 0 would be, if all were of the current piece.
    """
    computes = live[npu + n.READY] > 0 and live[npu + f.SLOT] < 0
    joins = live[npu + n.READY + 1] > 0 and joint >= 0 and live[joint] < 0
    for _ in range(2):
        if not (computes or joins):
            return
        lane = n.ZERO if computes else n.ZERO + 1
        if computes and joins and live[npu + at.ready + at.room] < live[npu + at.ready]:
            lane = n.ZERO + 1
        slot, heap = npu + f.SLOT, npu + at.ready + lane * at.room
        if lane == 1:
            slot, joins = joint, False
        else:
            computes = False
        position = live[heap]
        live[npu + n.READY + lane] -= 1
        drop_lowest(live, heap, live[npu + n.READY + lane])
        row = rows + position * f.NODE_FIELDS
        times = at.times + fixed[row + f.ITEM]
        end = now + live[times + n.DURATION]
        live[npu + at.node + position] = f.RUNS
        live[npu + f.NUMBERS] += 1
        live[slot] = position
        live[slot + n.END] = end
        live[slot + n.ROW] = row
        live[slot + f.SCHEDULED] = scheduled_at(live, times, now, end)
        live[slot + f.NUMBER] = live[npu + f.NUMBERS]
        live[slot + f.CAUSE] = live[slot + f.CAUSE_DECIDED] = n.NEVER
        if position == live[npu + f.LAST_NODE]:
            live[npu + f.LAST_ENDS] = end


@njit(cache=True)
def _may_run_along(fixed: Ints, live: Ints, npu: int, slot: int, joint: int, row: int) -> bool:
    """True if nothing but the node behind *row*, which LEADS on, starts when that ends in *slot*.

    *joint* is the slot of the collective that is followed, or for the next one, -1: there is none.
    """
    if live[npu + n.READY] + live[npu + n.READY + 1] > 0 or joint < 0:
        return False
    compute = npu + f.SLOT
    other = joint if slot == compute else compute
    if live[other] < 0:
        return True
    stays = fixed[row + n.KIND] == fixed[row + f.NODE_FIELDS + n.KIND]
    return bool(stays)


@njit(cache=True)
def _run_along(
    fixed: Ints,
    live: Ints,
    at: Layout,
    npu: int,
    slot: int,
    joint: int,
    lowest: int,
    beside: int,
    until: int,
) -> int:
    """End the node in *slot* and those that it leads to, up to one that is not to be passed.

    That one runs in the end; it does not end before something else does, or more than the next node
    waits for it, or sections begin there that may be passed.

    Returns:
        Slot of the collective that is followed, or for the next one.
    """
    compute = npu + f.SLOT
    other = joint if slot == compute else compute
    is_alone = live[other] < 0
    if not is_alone:
        until = min(until, live[other + n.END])
    hidden_by = n.ZERO - 1  # whose time it is while a collective runs and no compute does
    if slot != compute and not is_alone:
        hidden_by = live[compute + n.ROW]
    position, row, now = live[slot], live[slot + n.ROW], live[slot + n.END]
    first, start = position, now
    live[slot] = -1
    while True:
        if fixed[row + n.KIND] != n.COMPUTE:
            joint = lowest
        live[npu + at.node + position] = f.DONE
        position += 1
        row += f.NODE_FIELDS
        start = now
        now += live[at.times + fixed[row + f.ITEM] + n.DURATION]
        if now >= until or fixed[row + n.MATE] != f.LEADS:
            break
        if fixed[row + f.SECTION] != 0 and fixed[row + f.REPEATS] >= _FEW:
            break
        kind = fixed[row + n.KIND]
        if not is_alone and fixed[row + f.NODE_FIELDS + n.KIND] != kind:
            break
        at_work = row
        if kind != n.COMPUTE:
            if hidden_by >= 0:
                at_work = hidden_by
            elif 0 <= beside < joint:
                at_work = live[beside + n.ROW]
        live[npu + at.booked + fixed[at_work + n.CATEGORY]] += now - start
        live[npu + n.BOOKED_UNTIL] = now
    into = compute if fixed[row + n.KIND] == n.COMPUTE else joint
    live[npu + at.node + position] = f.RUNS
    live[npu + f.NUMBERS] += position - first
    live[into] = position
    live[into + n.END] = now
    live[into + n.ROW] = row
    times = at.times + fixed[row + f.ITEM]
    live[into + f.SCHEDULED] = scheduled_at(live, times, start, now)
    live[into + f.NUMBER] = live[npu + f.NUMBERS]
    live[into + f.CAUSE] = live[into + f.CAUSE_DECIDED] = n.NEVER
    if position == live[npu + f.LAST_NODE]:
        live[npu + f.LAST_ENDS] = now
    return joint
