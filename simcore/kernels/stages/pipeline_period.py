"""Recognises that the stages of a pipeline have come back to where they were a period ago.

A snapshot is taken each time all stages are about to end the first unit of a period: time, times by
category, then per stage its state and which messages it knows, with times relative to those of the
first stage and units relative to the period.

From an equal snapshot on all goes as it went before, for as long as all stages are in the part of
their program that repeats: so the run leaps over as many periods as that part has left.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.pipeline_messages import arrival_of, is_known, message_to
from simcore.kernels.stages.stage_layout import Layout
from simcore.kernels.stages.stage_states import later, same

KEPT = 4
"""Periods of the schedule that most steady states have at most."""

SNAPSHOTS = 48
"""Snapshots that each is compared with: a wave of delays that runs up and down many stages may take
so many periods of the schedule until it is back."""

_LENGTH, _TIME, _ACCOUNT = 0, 1, 2

Ints = NDArray[np.int64]


@njit(cache=True)
def look_for_period(fixed: Ints, live: Ints, at: Layout) -> bool:
    """Take a snapshot, compare it with those of the last periods; True if more are to be taken."""
    begun = live[at.stage + f.AT_UNIT] - fixed[at.program + f.REPEATS_FROM]
    taken = live[f.SNAPSHOTS]
    snapshot = at.snapshot + taken % (SNAPSHOTS + 1) * at.snapshot_size
    if not _take(fixed, live, at, snapshot, begun):
        return False
    live[f.SNAPSHOTS] += 1
    accounts = at.stages * (at.categories + 1)
    length = live[snapshot]
    for back in range(1, min(SNAPSHOTS, taken) + 1):
        earlier = at.snapshot + (taken - back) % (SNAPSHOTS + 1) * at.snapshot_size
        content = _ACCOUNT + accounts
        if live[earlier] != length or not same(live, earlier + content, snapshot + content, length):
            continue
        live[f.PERIODS] = back
        live[f.PERIOD_NS] = live[snapshot + _TIME] - live[earlier + _TIME]
        for place in range(accounts):
            now, before = live[snapshot + _ACCOUNT + place], live[earlier + _ACCOUNT + place]
            live[at.steady + place] = now - before
        _leap(fixed, live, at, back * at.period)
        return False
    return True


@njit(cache=True)
def _take(fixed: Ints, live: Ints, at: Layout, snapshot: int, begun: int) -> bool:
    """Write a snapshot; whether all stages were in the part of their program that repeats."""
    accounts = at.stages * (at.categories + 1)
    now = live[at.stage + f.SINCE]
    live[snapshot + _TIME] = now
    for place in range(accounts):
        live[snapshot + _ACCOUNT + place] = live[at.account + place]
    content = snapshot + _ACCOUNT + accounts
    to, room = content, snapshot + at.snapshot_size
    for number in range(at.stages):
        stage = at.stage + number * f.STAGE_FIELDS
        program = at.program + number * f.PROGRAM_FIELDS
        unit, last = live[stage + f.AT_UNIT], fixed[program + f.REPEATS_TO]
        if live[stage + f.MODE] == f.FINALE or unit >= min(last, fixed[program + f.FINALE_UNIT]):
            return False
        if unit < fixed[program + f.REPEATS_FROM]:
            return False
        if to + 4 > room:
            return False
        live[to] = unit - begun
        live[to + 1] = live[stage + f.STATE]
        live[to + 2] = live[stage + f.SINCE] - now
        live[to + 3] = live[stage + f.KNOWN]
        to += 4
        seen = 0
        coming = unit if live[stage + f.MODE] == f.AWAITS_MESSAGE else unit + 1
        while seen < live[stage + f.KNOWN]:
            if coming >= last or to + 1 + f.ARRIVAL_FIELDS > room:
                return False
            if is_known(fixed, live, at, number, coming):
                seen += 1
                live[to] = coming - unit
                message = message_to(fixed, at, number, coming)
                _write_arrival(live, at, to + 1, message, live[stage + f.SINCE])
                to += 1 + f.ARRIVAL_FIELDS
            coming += 1
    live[snapshot] = to - content
    return True


@njit(cache=True)
def _write_arrival(live: Ints, at: Layout, to: int, message: int, since: int) -> None:
    """Write the arrival of a message after *since*; any earlier one is as good as any other."""
    arrival = arrival_of(at, message)
    is_ahead = live[arrival + f.ARRIVAL_END] >= since
    for field in range(f.ARRIVAL_FIELDS):
        live[to + field] = later(live[arrival + field], -since) if is_ahead else n.ZERO - 1


@njit(cache=True)
def _leap(fixed: Ints, live: Ints, at: Layout, units: int) -> None:
    """Go on by as many periods of the steady state, of *units* each, as all stages have left."""
    times = n.NEVER
    for number in range(at.stages):
        program = at.program + number * f.PROGRAM_FIELDS
        last = min(fixed[program + f.REPEATS_TO], fixed[program + f.FINALE_UNIT])
        ahead = max(last - 1 - _furthest(fixed, live, at, number), n.ZERO)
        times = min(times, ahead // units)
    live[f.LEAPT] = times * live[f.PERIODS]
    live[f.LEAPT_AT] = live[f.HISTORY_END]
    live[f.LEAPT_UNITS], live[f.LEAPT_NS] = times * units, times * live[f.PERIOD_NS]
    for number in range(at.stages):
        _move(fixed, live, at, number, times * units, times * live[f.PERIOD_NS])
    for place in range(at.stages * (at.categories + 1)):
        live[at.account + place] += times * live[at.steady + place]


@njit(cache=True)
def _furthest(fixed: Ints, live: Ints, at: Layout, number: int) -> int:
    """The furthest unit of a stage whose message is known, at least its current one."""
    stage = at.stage + number * f.STAGE_FIELDS
    unit = live[stage + f.AT_UNIT]
    coming = unit if live[stage + f.MODE] == f.AWAITS_MESSAGE else unit + 1
    left = live[stage + f.KNOWN]
    while left > 0:
        unit = coming
        left -= 1 if is_known(fixed, live, at, number, coming) else 0
        coming += 1
    return int(unit)


@njit(cache=True)
def _move(fixed: Ints, live: Ints, at: Layout, number: int, units: int, ns: int) -> None:
    """Move a stage, and the messages that it knows, by *units* of its program and *ns*."""
    stage = at.stage + number * f.STAGE_FIELDS
    unit = _furthest(fixed, live, at, number)
    for _ in range(live[stage + f.KNOWN]):
        while not is_known(fixed, live, at, number, unit):
            unit -= 1
        here = arrival_of(at, message_to(fixed, at, number, unit))
        there = arrival_of(at, message_to(fixed, at, number, unit + units))
        for field in range(f.ARRIVAL_FIELDS):
            time = live[here + field]
            live[here + field] = -1
            live[there + field] = later(time, ns)
        unit -= 1
    live[stage + f.AT_UNIT] += units
    live[stage + f.SINCE] += ns
    if live[at.due + number] != n.NEVER:
        live[at.due + number] += ns
