"""Congestion controls as what a sender does once it knows more: one function each.

Each is told of one sender: what it knows (``controlled_state``), its parameters, the time, and what
the links of its way looked like when the bytes that it now knows of left them.
"""

from typing import NamedTuple

import numpy as np

from simcore.kernels.flows.controlled_state import KNOWN, OWN, RATE, SENT, Moving, Senders, Ways
from simcore.kernels.flows.state import Floats
from simcore.kernels.jit import njit

DCQCN, HPCC, TIMELY = range(3)


class Now(NamedTuple):
    """A moment.

    Attributes:
        step: Number of the step.
        time: Its end.
        span: How long it is.
    """

    step: int
    time: float
    span: float


# DCQCN: its parameters; alpha, target rate, stage of its recovery, times of what comes next, and
# whether a mark has come at all, since the last change of alpha, since the last look at the rate.
ADDED, MORE_ADDED, LEAST, GAIN, ALPHA_NS, CUT_NS, RISE_NS, FAST, CLAMPS, MARKED_NS = range(10)
ALPHA, TARGET, STAGE, NEXT_ALPHA, NEXT_CUT, NEXT_RISE, MARKS, FOR_ALPHA, FOR_CUT = range(
    OWN, OWN + 9
)


@njit(cache=True, error_model="numpy", makes_arrays=False)
def dcqcn(
    ways: Ways, senders: Senders, moving: Moving, given: Floats, flow: int, came: bool, now: Now
) -> None:
    """Marks cut the rate by a part that follows how often they come; timers let it rise."""
    own = moving.sender[flow]
    if came and _is_marked(ways, moving, given[MARKED_NS], flow, now.step):
        own[FOR_ALPHA] = own[FOR_CUT] = 1.0
        if own[MARKS] == 0.0:
            own[MARKS] = own[ALPHA] = 1.0
            own[FOR_ALPHA], own[TARGET] = 0.0, own[RATE]
            own[NEXT_ALPHA], own[NEXT_CUT] = now.time + given[ALPHA_NS], now.time + given[CUT_NS]
            own[NEXT_RISE] = np.inf
    if own[MARKS] == 0.0:
        return
    while own[NEXT_ALPHA] <= now.time:
        own[ALPHA] = (1.0 - given[GAIN]) * own[ALPHA] + given[GAIN] * own[FOR_ALPHA]
        own[FOR_ALPHA] = 0.0
        own[NEXT_ALPHA] += given[ALPHA_NS]
    while own[NEXT_CUT] <= now.time:
        if own[FOR_CUT] != 0.0:
            if given[CLAMPS] != 0.0 or own[STAGE] != 0.0:
                own[TARGET] = own[RATE]
            own[RATE] = max(given[LEAST], own[RATE] * (1.0 - own[ALPHA] / 2.0))
            own[STAGE] = own[FOR_CUT] = 0.0
            own[NEXT_RISE] = own[NEXT_CUT] + given[RISE_NS]
        own[NEXT_CUT] += given[CUT_NS]
    while own[NEXT_RISE] <= now.time:
        if own[STAGE] >= given[FAST]:
            added = given[ADDED] if own[STAGE] == given[FAST] else given[MORE_ADDED]
            own[TARGET] = min(own[TARGET] + added, senders.line[flow])
        own[RATE] = (own[RATE] + own[TARGET]) / 2.0
        own[STAGE] += 1.0
        own[NEXT_RISE] += given[RISE_NS]


@njit(cache=True, error_model="numpy", makes_arrays=False)
def _is_marked(ways: Ways, moving: Moving, marked_ns: float, flow: int, step: int) -> bool:
    """True if bytes that the sender now knows of left a queue longer than that much time."""
    for at in range(ways.offsets[flow] + 1, ways.offsets[flow + 1]):
        link, before = ways.links[at], step - ways.told[at]
        if before >= 0:
            queue = moving.queues[link, before % moving.queues.shape[1]]
            if queue > marked_ns * ways.capacity[link]:
                return True
    return False


# HPCC: its parameters; reference rate, utilisation, stage, step and bytes sent of the last update.
TARGET_USE, STAGES, BASE_NS, AT_ONCE = range(3, 7)
REFERENCE, USE, ADDITIONS, LAST_STEP, LAST_SENT = range(OWN, OWN + 5)


@njit(cache=True, error_model="numpy", makes_arrays=False)
def hpcc(
    ways: Ways, senders: Senders, moving: Moving, given: Floats, flow: int, came: bool, now: Now
) -> None:
    """The rate follows the utilisation of the busiest link of the way."""
    own, line = moving.sender[flow], senders.line[flow]
    if not came:
        return
    whole = own[KNOWN] > own[LAST_SENT]
    if own[LAST_SENT] > 0.0 and not whole and given[AT_ONCE] == 0.0:
        return
    tau, used, depth = (now.step - own[LAST_STEP]) * now.span, 0.0, moving.queues.shape[1]
    for at in range(ways.offsets[flow] + 1, ways.offsets[flow + 1]):
        link, before = ways.links[at], max(0, now.step - ways.told[at]) % depth
        passed, queue = moving.passes[link, before], moving.queues[link, before]
        rate = (passed - moving.seen[at, 0]) / tau
        stands = min(queue, moving.seen[at, 1]) * line / senders.window[flow]
        used = max(used, (rate + stands) / ways.capacity[link])
        moving.seen[at, 0], moving.seen[at, 1] = passed, queue
    own[LAST_STEP] = now.step
    if own[LAST_SENT] == 0.0:
        own[LAST_SENT], own[USE], own[REFERENCE] = own[SENT], 1.0, line
        return
    tau = min(tau, given[BASE_NS])
    own[USE] += (used - own[USE]) * tau / given[BASE_NS]
    over = own[USE] / given[TARGET_USE]
    divides = over >= 1.0 or own[ADDITIONS] >= given[STAGES]
    rate = (own[REFERENCE] / over if divides else own[REFERENCE]) + given[ADDED]
    own[RATE] = min(line, max(given[LEAST], rate))
    if whole:
        own[REFERENCE] = own[RATE]
        own[ADDITIONS] = 0.0 if divides else own[ADDITIONS] + 1.0
        own[LAST_SENT] = own[SENT]


# TIMELY: its parameters; last round trip, its smoothed change, increases, bytes sent at the update.
WEIGHT, PART, LOW_NS, HIGH_NS, LEAST_NS = range(3, 8)
LAST_NS, CHANGE, INCREASES, SENT_THEN = range(OWN, OWN + 4)
_HYPER = 5


@njit(cache=True, error_model="numpy", makes_arrays=False)
def timely(
    ways: Ways, senders: Senders, moving: Moving, given: Floats, flow: int, came: bool, now: Now
) -> None:
    """The rate follows how round trips change, once in each of them."""
    own = moving.sender[flow]
    if not came or own[KNOWN] <= own[SENT_THEN]:
        return
    trip = senders.idle[flow]  # and what the bytes waited that it knows of
    for at in range(ways.offsets[flow] + 1, ways.offsets[flow + 1]):
        link, before = ways.links[at], now.step - ways.told[at]
        if before >= 0:
            trip += moving.waited[link, before % moving.waited.shape[1]]
    if own[SENT_THEN] > 0.0:
        weight = given[WEIGHT]
        own[CHANGE] = (1.0 - weight) * own[CHANGE] + weight * (trip - own[LAST_NS])
        kept = 1.0
        if trip > given[HIGH_NS]:
            kept = 1.0 - given[PART] * (1.0 - given[HIGH_NS] / trip)
        elif trip >= given[LOW_NS] and own[CHANGE] > 0.0:
            kept = max(0.0, 1.0 - given[PART] * own[CHANGE] / given[LEAST_NS])
        if kept == 1.0:
            added = given[ADDED] if own[INCREASES] < _HYPER else given[MORE_ADDED]
            own[RATE] = min(senders.line[flow], own[RATE] + added)
            own[INCREASES] += 1.0
        else:
            own[RATE], own[INCREASES] = max(given[LEAST], own[RATE] * kept), 0.0
    own[LAST_NS], own[SENT_THEN] = trip, own[SENT]
