"""Sections that repeat in a unit, such as layers: one is followed, those after it are passed over.

At the end of a section's first node nothing else runs that is the unit's, and nothing is ready. So
what follows, up to the end of the next node like it, is decided by what the section is, but for
streams of communication that others hold: it has as many as it wants only where nothing runs
beside it, or where it has one collective at a time.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.stage_layout import Layout

Ints = NDArray[np.int64]


@njit(cache=True)
def use_streams(live: Ints) -> None:
    """Note that collectives of a unit run, or wait for each other, at the same time."""
    live[f.TIMED_IN_ROW] = 0
    if live[f.TIMED_BESIDE] != 0:
        live[f.TIMED_NODE] = -1


@njit(cache=True)
def pass_sections(
    fixed: Ints, live: Ints, at: Layout, npu: int, slot: int, lowest: int, beside: int, until: int
) -> None:
    """Pass over sections of the unit, whose node in *slot* is about to end.

    It is put in the place of the one that ends the last of them, all of which end before *until*.
    Where it is not known yet how the section goes, it is timed instead.

    *lowest* is the slot of the next collective, *beside* the first slot of what runs beside the
    unit, and *until* when the first of that ends, NEVER if nothing does.
    """
    compute = npu + f.SLOT
    other = lowest if slot == compute else compute
    if lowest < 0 or (slot != compute and slot != lowest) or live[other] >= 0:
        return
    if live[npu + n.READY] + live[npu + n.READY + 1] > 0:
        return
    row, now = live[slot + n.ROW], live[slot + n.END]
    section = fixed[row + f.SECTION]
    course = at.course + section * (f.COURSE_FIELDS + at.categories)
    is_hidden = 0 <= beside < lowest  # time in which the unit does not compute is booked for that
    is_known = live[course] != 0
    if not is_known and not is_hidden:
        is_known = _timed(fixed, live, at, npu, row, now, until, course)
    if not is_known:
        return
    if until != n.NEVER and live[course + f.COURSE_IN_ROW] == 0:
        return
    times = min(fixed[row + f.REPEATS], (until - 1 - now) // live[course])
    if times == 0:
        return
    passed, ns = times * fixed[at.section + section], times * live[course]
    first = npu + at.node + live[slot]
    for node in range(first, first + passed):
        live[node] = f.DONE
    live[first + passed] = f.RUNS
    live[slot] += passed
    live[slot + n.ROW] += passed * f.NODE_FIELDS
    live[slot + n.END] += ns
    live[slot + f.SCHEDULED] += ns
    live[npu + f.NUMBERS] += passed
    live[slot + f.NUMBER] = live[npu + f.NUMBERS]
    live[npu + n.BOOKED_UNTIL] += ns
    for category in range(at.categories):
        booked = category
        if is_hidden and category >= at.phases:
            booked = fixed[live[beside + n.ROW] + n.CATEGORY]
        live[npu + at.booked + booked] += times * live[course + f.COURSE_FIELDS + category]


@njit(cache=True)
def _timed(
    fixed: Ints, live: Ints, at: Layout, npu: int, row: int, now: int, until: int, course: int
) -> bool:
    """True if a section has been timed that ends here; else one is from here on, or already is."""
    timed, section = live[f.TIMED_NODE], fixed[row + f.SECTION]
    beside = 1 if until != n.NEVER else 0
    booked, length = npu + at.booked, fixed[at.section + section] * f.NODE_FIELDS
    if timed >= 0 and fixed[timed + f.SECTION] != section and timed < row:
        return False
    if timed < 0 or timed + length != row or live[f.TIMED_BESIDE] != beside:
        live[f.TIMED_NODE], live[f.TIMED_SINCE] = row, now
        live[f.TIMED_BESIDE], live[f.TIMED_IN_ROW] = beside, 1
        for category in range(at.categories):
            live[course + f.COURSE_FIELDS + category] = -live[booked + category]
        return False
    live[f.TIMED_NODE] = -1
    live[course + f.COURSE_NS] = now - live[f.TIMED_SINCE]
    live[course + f.COURSE_IN_ROW] = live[f.TIMED_IN_ROW]
    for category in range(at.categories):
        live[course + f.COURSE_FIELDS + category] += live[booked + category]
    return True
