"""Passages of stages from the end of a unit's last compute node to that of the next, in one step.

Where it is known how much later the next unit's message comes, all that a stage's NPU does until
then and up to the end of that unit is decided: it waits, ends what still runs, and is opened by the
message. So the transitions that it takes are kept as one, under the first of them and the delay of
the message. Once nothing runs any more it makes no difference how late the message is.

A passage in which the message comes at the same time as another event is not kept: more than the
delay tells which of them is first.

Where it is not known when the message comes, but that it does after all that still runs has ended,
a passage leads up to that.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.passing.lateness import comes_later
from simcore.kernels.stages.pipeline_messages import send
from simcore.kernels.stages.stage_layout import Layout
from simcore.kernels.stages.stage_memo import ARRIVAL, STEP, transition
from simcore.kernels.stages.stage_states import later

PASSAGES = 2**12
"""Room for so many; most runs have some hundreds."""

_MOST_SENDS = 8

# A passage: the transition that it begins with, the delay of the message (NEVER: nothing runs when
# that comes; -1: it leads up to none), the state to which it leads and how long after its start (or
# after the message, if nothing runs then), what it sends, and how much of that before the message,
# transitions that it is made of, and when the first of what it sends is there (NEVER: it sends
# nothing); then times by category, and what it sends, as entries of a log: units count from the one
# that ends, times from the start of the passage, or from the message if it is sent after that and
# nothing ran when that came.
_EDGE, _DELAY, _TARGET, _TIME, _SENDS, _EARLY, _STEPS, _THERE, _ACCOUNT = range(9)

Ints = NDArray[np.int64]


def passage_words(categories: int) -> int:
    """Words of a passage in a run with so many *categories*, or with arrays of these."""
    return _ACCOUNT + categories + 1 + _MOST_SENDS * f.LOG_FIELDS


@njit(cache=True)
def pass_unit(fixed: Ints, live: Ints, at: Layout, number: int, unit: int, arrival: int) -> bool:
    """Take a stage over its next unit, whose message comes after the unit before has ended.

    *unit* is the address of that unit, *arrival* that of when its message comes.

    Returns:
        False if that cannot be done in one step; nothing then was.
    """
    stage = at.stage + number * f.STAGE_FIELDS
    pieces = fixed[at.program + number * f.PROGRAM_FIELDS + f.PIECES]
    piece = pieces + fixed[unit + f.WHICH] * f.PIECE_FIELDS
    if fixed[piece + f.LAST] < 0:
        return False  # it is followed node by node
    edge = transition(
        fixed, live, at, live[stage + f.STATE], 2 * piece, fixed[unit + f.FORWARD_AGE]
    )
    if live[f.FAILURE] != 0:
        return True
    delay = live[arrival] - live[stage + f.SINCE]
    by = n.NEVER if 0 < live[edge + f.QUIET] <= delay else delay
    if live[edge + f.PASSED_BY] != by and not _look_up(fixed, live, at, edge, delay, by):
        return bool(live[f.FAILURE] != 0)
    _take(fixed, live, at, number, live[edge + f.PASSED], live[arrival])
    live[stage + f.MODE] = f.CHAIN_ENDS
    live[stage + f.KNOWN] -= 1
    return True


@njit(cache=True)
def begin_unit(fixed: Ints, live: Ints, at: Layout, number: int, unit: int, message: int) -> bool:
    """Take a stage into its next unit, mostly up to where nothing runs any more, without *message*.

    *unit* is the address of that unit, which waits for the message.

    Returns:
        False if the message may come before, or that cannot be done in one step; nothing then was.
    """
    stage = at.stage + number * f.STAGE_FIELDS
    pieces = fixed[at.program + number * f.PROGRAM_FIELDS + f.PIECES]
    piece = pieces + fixed[unit + f.WHICH] * f.PIECE_FIELDS
    edge = transition(
        fixed, live, at, live[stage + f.STATE], 2 * piece, fixed[unit + f.FORWARD_AGE]
    )
    if live[f.FAILURE] != 0:
        return True
    if live[edge + f.SETTLED] == 0 and not _settle(live, at, edge):
        return False
    passage, since = live[edge + f.SETTLED], live[stage + f.SINCE]
    due, back = since + live[passage + _TIME], later(live[passage + _THERE], since)
    if not comes_later(fixed, live, at, number, message, due, back):
        return False
    _take(fixed, live, at, number, passage, due)
    live[stage + f.MODE] = f.AWAITS_MESSAGE
    head = live[at.state + live[stage + f.STATE] * f.STATE_FIELDS + f.HEAD_END]
    live[at.due + number] = later(head, live[stage + f.SINCE])
    return True


@njit(cache=True)
def _settle(live: Ints, at: Layout, edge: int) -> bool:
    """Put together the passage from *edge* to where nothing runs, or as far as all is known.

    Returns:
        False if nothing is known yet of what follows.
    """
    which = live[f.PASSAGES]
    passage = at.passage + which * at.passage_size
    if which == at.passages or not _open(live, at, passage, edge, n.ZERO - 1):
        return False
    time, source, one = live[edge + f.TIME], live[edge + f.TARGET], n.ZERO + 1
    state = at.state + source * f.STATE_FIELDS
    while live[state + f.LAST_WHAT] == STEP and live[state + f.LAST_VALUE] == 0:
        step = live[state + f.LAST_EDGE]
        if not _add(live, at, passage, step, one, time):
            break
        time, source = time + live[step + f.TIME], live[step + f.TARGET]
        state = at.state + source * f.STATE_FIELDS
    if live[passage + _STEPS] == 1 and live[state + f.HEAD_END] != n.NEVER:
        return False
    live[passage + _EARLY] = live[passage + _SENDS]
    live[passage + _TARGET], live[passage + _TIME] = source, time
    live[edge + f.SETTLED] = passage
    live[f.PASSAGES] += 1
    return True


@njit(cache=True)
def _look_up(fixed: Ints, live: Ints, at: Layout, edge: int, delay: int, by: int) -> bool:
    """Make the passage under *edge* and *by* the one taken last, or False if there is none."""
    place = _place(at, edge, by)
    which = live[place]
    passage = at.passage + which * at.passage_size
    is_known = 0 <= which < live[f.PASSAGES] and live[passage + _EDGE] == edge
    if not (is_known and live[passage + _DELAY] == by):
        which = live[f.PASSAGES]
        passage = at.passage + which * at.passage_size
        if which == at.passages or not _put_together(fixed, live, at, passage, edge, delay):
            return False
        by = live[passage + _DELAY]
        live[f.PASSAGES] += 1
        live[_place(at, edge, by)] = which
    live[edge + f.PASSED_BY], live[edge + f.PASSED] = by, passage
    return True


@njit(cache=True)
def _place(at: Layout, edge: int, by: int) -> int:
    """Address of the number of a passage, if there is one."""
    key = (((n.ZERO + edge) * 1000003) ^ by) * 1099511628211
    key = (key ^ (key >> 31)) * 1099511628211
    return int(at.passage_table + ((key ^ (key >> 29)) & (at.passages - 1)))


@njit(cache=True)
def _put_together(fixed: Ints, live: Ints, at: Layout, passage: int, edge: int, delay: int) -> bool:
    """Write the passage that begins with *edge*; False if it is not to be kept."""
    if not _open(live, at, passage, edge, delay):
        return False
    time, source, one = live[edge + f.TIME], live[edge + f.TARGET], n.ZERO + 1
    while live[at.state + source * f.STATE_FIELDS + f.HEAD_END] != n.NEVER:
        left = delay - time - live[at.state + source * f.STATE_FIELDS + f.HEAD_END]
        if left < 0:
            break
        if left == 0:
            return False
        step = transition(fixed, live, at, source, STEP, n.ZERO)
        if live[f.FAILURE] != 0 or not _add(live, at, passage, step, one, time):
            return False
        time, source = time + live[step + f.TIME], live[step + f.TARGET]
    live[passage + _EARLY] = live[passage + _SENDS]
    wait = delay - time
    if live[at.state + source * f.STATE_FIELDS + f.HEAD_END] == n.NEVER:
        if wait == 0:
            return False
        live[edge + f.QUIET] = time + 1
        live[passage + _DELAY] = n.NEVER
        time = wait = n.ZERO
    last = transition(fixed, live, at, source, ARRIVAL, wait)
    if live[f.FAILURE] != 0 or not _add(live, at, passage, last, one, time):
        return False
    if live[passage + _DELAY] != n.NEVER:
        live[passage + _EARLY] = live[passage + _SENDS]
    live[passage + _TARGET], live[passage + _TIME] = (
        live[last + f.TARGET],
        time + live[last + f.TIME],
    )
    return True


@njit(cache=True)
def _open(live: Ints, at: Layout, passage: int, edge: int, delay: int) -> bool:
    """Begin to write a passage, with its first transition; False if there is no room."""
    live[passage + _EDGE], live[passage + _DELAY] = edge, delay
    live[passage + _SENDS] = live[passage + _STEPS] = 0
    live[passage + _THERE] = n.NEVER
    for category in range(at.categories + 1):
        live[passage + _ACCOUNT + category] = 0
    return _add(live, at, passage, edge, n.ZERO, n.ZERO)


@njit(cache=True)
def _add(live: Ints, at: Layout, passage: int, edge: int, units: int, time: int) -> bool:
    """Add a transition that begins at *time*, so many *units* on; False if there is no room."""
    sends, entries = live[passage + _SENDS], live[edge + f.ENTRIES]
    if sends + entries > _MOST_SENDS:
        return False
    entry = live[edge + f.LOG]
    to = passage + _ACCOUNT + at.categories + 1 + sends * f.LOG_FIELDS
    for _ in range(entries):
        live[to + f.LOG_UNIT] = live[entry + f.LOG_UNIT] + units
        for field in range(f.LOG_START, f.LOG_FIELDS):
            live[to + field] = later(live[entry + field], time)
        live[passage + _THERE] = min(live[passage + _THERE], live[to + f.LOG_END])
        entry += f.LOG_FIELDS
        to += f.LOG_FIELDS
    for category in range(at.categories + 1):
        live[passage + _ACCOUNT + category] += live[entry + category]
    live[passage + _SENDS] += entries
    live[passage + _STEPS] += 1
    return True


@njit(cache=True)
def _take(fixed: Ints, live: Ints, at: Layout, number: int, passage: int, arrival: int) -> None:
    """Take a stage along a passage; the message comes at *arrival*."""
    stage = at.stage + number * f.STAGE_FIELDS
    since, unit = live[stage + f.SINCE], live[stage + f.AT_UNIT]
    account = at.account + number * (at.categories + 1)
    entry = passage + _ACCOUNT + at.categories + 1
    for _ in range(live[passage + _EARLY]):
        send(fixed, live, at, number, unit + live[entry], entry, since)
        entry += f.LOG_FIELDS
    if live[passage + _DELAY] == n.NEVER:
        live[account + at.categories] += arrival - since - live[live[passage + _EDGE] + f.QUIET] + 1
        since = arrival
        for _ in range(live[passage + _EARLY], live[passage + _SENDS]):
            send(fixed, live, at, number, unit + live[entry], entry, since)
            entry += f.LOG_FIELDS
    for category in range(at.categories + 1):
        live[account + category] += live[passage + _ACCOUNT + category]
    live[f.FOLLOWED] += live[passage + _STEPS]
    live[stage + f.AT_UNIT] = unit + 1
    live[stage + f.STATE] = live[passage + _TARGET]
    live[stage + f.SINCE] = live[at.due + number] = since + live[passage + _TIME]
