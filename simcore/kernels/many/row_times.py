"""Times of the collectives and messages of many designs, and what they send."""

import numpy as np

from simcore.kernels.collectives.cutting import cut as plain_cut
from simcore.kernels.collectives.hops import hops, lowest_difference, npu_links
from simcore.kernels.collectives.phase_machine import message_ns
from simcore.kernels.collectives.records import PHASE, TIME, Floats, Ints, Machine, Records
from simcore.kernels.collectives.time import collective_time
from simcore.kernels.jit import njit
from simcore.kernels.many.tables import (
    INEXACT,
    ORDER_DECIDES,
    MachineRows,
    PhaseTable,
    PlanTables,
    RowTimes,
)

GATHERS = 1
"""Number of all-gathers among the kinds of collectives."""

_MOST_PASSES = 16
_FINEST = 2.0**20
_EXACT = 2.0**53
"""Sums of multiples of 1 / n, n a power of two, that are below _EXACT / n have no rounding, in
whatever order they are added up."""

cut = njit(cache=True)(plain_cut)


@njit(cache=True)
def mark_phases(plans: PlanTables, rows: MachineRows, table: PhaseTable, asked: Ints) -> None:
    """Set *asked*, as large as ``phase_of``, to 1 where a design of *rows* asks for a phase."""
    for row in range(rows.plan.size):
        plan = plans.plans[rows.plan[row]]
        aware = rows.systems[rows.system[row]]["aware"]
        for number in range(plan["first"], plan["first"] + plan["count"]):
            one = plans.collectives[number]
            if one["shared"] != 0:
                continue
            kind, place = one["kind"], rows.place[row, one["axis"]]
            mask = _used(rows.spots, place)
            first = table.pass_first[kind, aware, mask]
            for at in range(first, table.pass_first[kind, aware, mask + 1]):
                d, what = table.passes[at, 0], table.passes[at, 1]
                algorithm = rows.algorithm[row, kind, d]
                asked[what, algorithm, rows.spots[place, d], rows.shape[row, d]] = 1


@njit(cache=True)
def _used(spots: Ints, place: int) -> int:
    """The dimensions that a place uses, as bits."""
    mask = 0
    for d in range(spots.shape[1]):
        if spots[place, d] >= 0:
            mask |= 1 << d
    return mask


@njit(cache=True)
def time_rows(plans: PlanTables, rows: MachineRows, table: PhaseTable, out: RowTimes) -> None:
    """Fill *out*, which is zero, for all designs of *rows*."""
    dimensions, longest = rows.links.shape[1], 0
    for plan in plans.plans:
        longest = max(longest, plan["count"])
    held, traffic = np.zeros(longest, np.int64), np.zeros((longest, 2, dimensions))
    phases, times = np.zeros(_MOST_PASSES, PHASE), np.zeros(_MOST_PASSES, TIME)
    for row in range(rows.plan.size):
        system = rows.systems[rows.system[row]]
        machine = Machine(
            rows.links[row], np.zeros(0, np.int64), system["delay_ns"], rows.memory_bytes_per_s[row]
        )
        _time_collectives(plans, rows, table, machine, row, out, phases, times, held, traffic)
        _time_messages(plans, rows, machine, row, out)
        _count(plans, rows, machine, row, out, held, traffic)


@njit(cache=True)
def _time_collectives(
    plans: PlanTables,
    rows: MachineRows,
    table: PhaseTable,
    machine: Machine,
    row: int,
    out: RowTimes,
    phases: Records,
    times: Records,
    held: Ints,
    traffic: Floats,
) -> None:
    """Time the collectives of one design; *held* and *traffic* get those of each."""
    plan, system = plans.plans[rows.plan[row]], rows.systems[rows.system[row]]
    for number in range(plan["count"]):
        one = plans.collectives[plan["first"] + number]
        held[number] = 0
        traffic[number] = 0.0
        if one["shared"] != 0:
            continue
        kind, place = one["kind"], rows.place[row, one["axis"]]
        mask, aware = _used(rows.spots, place), system["aware"]
        first = table.pass_first[kind, aware, mask]
        count = table.pass_first[kind, aware, mask + 1] - first
        for at in range(count):
            d, what = table.passes[first + at, 0], table.passes[first + at, 1]
            algorithm = rows.algorithm[row, kind, d]
            spot, shape = rows.spots[place, d], rows.shape[row, d]
            phases[at] = table.phases[table.phase_of[what, algorithm, spot, shape]]
            phases[at]["dimension"] = d
        members = rows.members[place]
        chunks, size = cut(one["size_bytes"], system["chunks"], members, kind == GATHERS)
        missing, duration, waited, last, tied = collective_time(
            phases[:count],
            table.words,
            chunks,
            size,
            system["active"],
            machine,
            times[:count],
            traffic[number],
        )
        if missing > 0 or (tied and waited == 0):
            out.state[row] = ORDER_DECIDES
        held[number] = waited
        out.instant[row] |= 1 if duration == 0 else 0
        out.duration_ns[out.first[row] + number] = duration
        out.last_ns[out.first[row] + number] = last


@njit(cache=True)
def _time_messages(
    plans: PlanTables, rows: MachineRows, machine: Machine, row: int, out: RowTimes
) -> None:
    """Time the messages between the stages of one design, see ``neighbour_messages``."""
    plan = plans.plans[rows.plan[row]]
    stages, stride = plan["stages"], plan["stride"]
    if stages == 1:
        return
    for number in range(2 * stages):
        way, stage = divmod(number, stages)
        peer = (stage + (1 if way == 0 else stages - 1)) % stages
        d, x, y = lowest_difference(machine, stage * stride, peer * stride)
        link, size = machine.links[d], plans.message_bytes[plan["first_stage"] + number]
        out.message_ns[out.first_message[row] + number] = message_ns(
            hops(machine, d, x, y), link["latency_ns"], size, link["bytes_per_ns"]
        )


@njit(cache=True)
def _count(
    plans: PlanTables,
    rows: MachineRows,
    machine: Machine,
    row: int,
    out: RowTimes,
    held: Ints,
    traffic: Floats,
) -> None:
    """Add up what one design sends, as ``count_work`` does."""
    plan, dimensions = plans.plans[rows.plan[row]], machine.links.size
    stages, count = plan["stages"], plan["count"]
    own, passed = np.zeros((stages, dimensions)), np.zeros(dimensions)
    if stages > 1:
        for number in range(2 * stages):
            way, stage = divmod(number, stages)
            peer = (stage + (1 if way == 0 else stages - 1)) % stages
            d, x, y = lowest_difference(machine, stage * plan["stride"], peer * plan["stride"])
            sent_bytes = plans.sent_bytes[plan["first_stage"] + number]
            own[stage, d] += sent_bytes
            passed[d] += sent_bytes * npu_links(machine, d, x, y)
    for stage in range(stages):
        waited = 0
        for number in range(count):
            runs = plans.runs[plan["first_run"] + stage * count + number]
            waited += runs * held[number]
            for d in range(dimensions):
                own[stage, d] += runs * traffic[number, 0, d]
                passed[d] += runs * traffic[number, 1, d]
        out.held_ns[row] = max(out.held_ns[row], waited)
    parts = _parts(traffic[:count])
    if parts > _FINEST or max(own.sum(), passed.sum()) * parts > _EXACT:
        out.state[row] = max(out.state[row], INEXACT)
    for d in range(dimensions):
        out.sent_bytes[row, d] = own[:, d].sum() / stages
        passed[d] /= stages
    for d in range(dimensions - 1, 0, -1):
        if rows.shares_ports[row, d]:
            own[:, d - 1] += own[:, d]
            passed[d - 1] += passed[d]
    for d in range(dimensions):
        out.link_bytes[row, d] = max(own[:, d].max(), passed[d])


@njit(cache=True)
def _parts(traffic: Floats) -> float:
    """The power of two of whose inverse all *traffic* is a multiple; above _FINEST: none is."""
    parts = 1.0
    for value in traffic.flat:
        while parts <= _FINEST and np.floor(value * parts) != value * parts:
            parts *= 2.0
    return parts
