"""Flows of senders that react: queues of links as a fluid, step by step.

In a step a sender sends what its rate, its window and its first link let it; a link passes what its
capacity lets it, what came first first; what has passed stands before the next link. Senders know
of it as much later as bytes take onwards and acknowledgements back on idle links.
"""

import numpy as np

from simcore.kernels.flows import controls
from simcore.kernels.flows.controlled_state import (
    ENDED,
    ENDS,
    KNOWN,
    NOT_YET,
    RATE,
    SENDS,
    SENT,
    WAITS,
    Moving,
    Senders,
    Ways,
)
from simcore.kernels.flows.controls import Now
from simcore.kernels.flows.state import Floats
from simcore.kernels.jit import njit

_WHOLE = 1.0 - 1e-9
"""Part of a flow from which on it is through."""
_MIXED = -1.0
_ROUNDS = 16
"""Rounds in which a level is looked for to which senders fill a link."""


@njit(cache=True, nogil=True, error_model="numpy")
def run_controlled(
    ways: Ways, senders: Senders, moving: Moving, control: int, given: Floats, clock: Floats
) -> bool:
    """Run until all flows have ended; False if the rest wait for each other.

    Args:
        ways: Links.
        senders: Flows.
        moving: Their state.
        control: See ``controls``.
        given: Its parameters.
        clock: (2,) length of a step, present time.
    """
    span, step, ended, active = clock[0], 0, 0, 0
    while ended < len(senders.size):
        begun = _begin(senders, moving, active, clock[1] + span)
        if begun == 0:
            nearest = _next_begin(moving)
            if np.isinf(nearest):
                return False
            clock[1] = nearest  # all queues are empty
            continue
        active = begun
        _send(ways, senders, moving, active, clock)
        _pass_on(ways, senders, moving, active, clock, step)
        _follow_last(ways, senders, moving, active, clock)
        _write_down(moving, active, step, span)
        clock[1] += span
        now = Now(step, clock[1], span)
        kept = 0
        for at in range(active):
            flow = moving.under_way[at]
            if moving.stage[flow] == ENDS and moving.finish[flow] <= clock[1]:
                moving.stage[flow] = ENDED
                _let_go(senders, moving, flow)
                ended += 1
            if moving.stage[flow] == ENDED and _is_through(senders, moving, flow):
                continue
            moving.under_way[kept] = flow
            kept += 1
            if moving.stage[flow] == SENDS:
                _react(ways, senders, moving, control, given, flow, now)
        active = kept
        step += 1
    return True


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _begin(senders: Senders, moving: Moving, active: int, until: float) -> int:
    """Let flows begin that do so before *until*; how many are under way."""
    for flow in range(len(moving.stage)):
        if moving.stage[flow] == WAITS and moving.waits[flow] == 0 and moving.begin[flow] < until:
            moving.stage[flow] = SENDS
            moving.sender[flow, RATE] = senders.line[flow]
            moving.under_way[active] = flow
            active += 1
    return active


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _next_begin(moving: Moving) -> float:
    nearest = np.inf
    for flow in range(len(moving.stage)):
        if moving.stage[flow] == WAITS and moving.waits[flow] == 0:
            nearest = min(nearest, moving.begin[flow])
    return nearest


@njit(cache=True, nogil=True, error_model="numpy")
def _send(ways: Ways, senders: Senders, moving: Moving, active: int, clock: Floats) -> None:
    """Send in this step what each sender wants to, or a fair part of its first link."""
    span, time, wanted = clock[0], clock[1], moving.wanted
    moving.queue[:] = 0.0
    for at in range(active):
        flow = moving.under_way[at]
        wanted[flow] = 0.0
        if moving.stage[flow] != SENDS:
            continue
        own = moving.sender[flow]
        lasts = span if own[SENT] > 0.0 else time + span - moving.begin[flow]
        most = senders.window[flow] * own[RATE] / senders.line[flow] + senders.packet[flow]
        free = max(0.0, most - (own[SENT] - own[KNOWN]))
        wanted[flow] = min(own[RATE] * lasts, senders.size[flow] - own[SENT], free)
        moving.queue[ways.links[ways.offsets[flow]]] += wanted[flow]
    for link in range(len(ways.capacity)):
        if moving.sends_on[link]:
            moving.room[link] = ways.capacity[link] * span - moving.acks[link]
            moving.share[link] = 0.0 if moving.queue[link] > moving.room[link] else np.inf
    _fill(ways, moving, active)
    for at in range(active):
        flow = moving.under_way[at]
        first = ways.offsets[flow]
        wanted[flow] = min(wanted[flow], moving.share[ways.links[first]])
        moving.sender[flow, SENT] += wanted[flow]
        moving.held[first] = wanted[flow]


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _fill(ways: Ways, moving: Moving, active: int) -> None:
    """Find the level to which the senders of each link that is too narrow can send."""
    share, left, count = moving.share, moving.queue, moving.open
    for _ in range(_ROUNDS):
        for link in range(len(share)):
            left[link], count[link] = moving.room[link], 0
        for at in range(active):
            flow = moving.under_way[at]
            link = ways.links[ways.offsets[flow]]
            if moving.wanted[flow] <= share[link]:
                left[link] -= moving.wanted[flow]
            else:
                count[link] += 1
        same = True
        for link in range(len(share)):
            if moving.sends_on[link] and count[link] > 0:
                level = left[link] / count[link]
                if level > share[link] * (1.0 + 1e-12):
                    share[link], same = level, False
        if same:
            return


@njit(cache=True, nogil=True, error_model="numpy")
def _pass_on(
    ways: Ways, senders: Senders, moving: Moving, active: int, clock: Floats, step: int
) -> None:
    """Let links pass what came first, from the last of each way to the first."""
    queue, acks, held = moving.queue, moving.acks, moving.held
    depth = moving.came.shape[1]
    queue[:] = 0.0
    for at in range(active):
        flow = moving.under_way[at]
        for entry in range(ways.offsets[flow] + 1, ways.offsets[flow + 1]):
            queue[ways.links[entry]] += held[entry]
    for link in range(len(queue)):
        room = ways.capacity[link] * clock[0] - acks[link]
        moving.passed[link] += acks[link]
        acks[link] = 0.0
        moving.share[link] = 1.0 if queue[link] <= room else room / queue[link]
        _find_first(moving, link, room, step)
        queue[link] *= 1.0 - moving.share[link]
        moving.came_all[link, step % depth] = 0.0
    for at in range(active):
        flow = moving.under_way[at]
        first, end = ways.offsets[flow], ways.offsets[flow + 1]
        for entry in range(end - 1, first - 1, -1):
            link = ways.links[entry]
            out = held[entry]
            if entry != first and moving.share[link] < 1.0:
                if moving.gone[link, 1] == _MIXED:
                    out *= moving.share[link]
                else:
                    out = min(out, _passed_of(moving, entry, link))
            held[entry] -= out
            moving.passed[link] += out
            if entry + 1 < end:
                held[entry + 1] += out
                moving.came[entry + 1, step % depth] = out
                moving.came_all[ways.links[entry + 1], step % depth] += out
            else:
                moving.arrived[flow] += out
                for at_back in range(ways.back_offsets[flow], ways.back_offsets[flow + 1]):
                    acks[ways.back_links[at_back]] += out * senders.ack[flow]


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _find_first(moving: Moving, link: int, room: float, step: int) -> None:
    """Find up to where a link passes what came before it: in which step, and which part of it.

    Of a queue longer than what is kept, the link passes as much of each flow as stands in it.
    """
    came, first, gone = moving.came_all[link], moving.first[link], moving.gone[link]
    depth = len(came)
    first[0], gone[0] = first[1], max(gone[1], 0.0)
    if first[0] <= step - depth:
        first[0], gone[0] = step - depth + 1, 0.0
    first[1], gone[1] = first[0], gone[0]
    if moving.share[link] >= 1.0:
        first[1], gone[1] = step, 0.0
        return
    while room > 0.0 and first[1] < step:
        stands = came[first[1] % depth] * (1.0 - gone[1])
        if stands > room:
            gone[1] += room / came[first[1] % depth]
            return
        room -= stands
        first[1] += 1
        gone[1] = 0.0
    if first[1] >= step:
        gone[1] = _MIXED


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _passed_of(moving: Moving, entry: int, link: int) -> float:
    """Bytes of a flow that its link passes in this step."""
    came, first, gone = moving.came[entry], moving.first[link], moving.gone[link]
    depth = len(came)
    if first[0] == first[1]:
        return float(came[first[0] % depth] * (gone[1] - gone[0]))
    found = came[first[0] % depth] * (1.0 - gone[0])
    for step in range(first[0] + 1, first[1]):
        found += came[step % depth]
    if gone[1] > 0.0:
        found += came[first[1] % depth] * gone[1]
    return float(found)


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _follow_last(ways: Ways, senders: Senders, moving: Moving, active: int, clock: Floats) -> None:
    """Let the last byte of each flow wait at each link for all that stood there before it.

    The fluid of a flow is mixed with that of others, so that some of it stays for too long.
    """
    after = clock[1] + clock[0]
    for at in range(active):
        flow = moving.under_way[at]
        end = ways.offsets[flow + 1]
        if moving.stage[flow] != SENDS:
            continue
        if moving.last[flow] == 0:
            if moving.sender[flow, SENT] < senders.size[flow] * _WHOLE:
                continue
            moving.last[flow] = ways.offsets[flow] + 1
            moving.leaves[flow, 0], moving.leaves[flow, 1] = NOT_YET, after
        else:
            if moving.leaves[flow, 0] == NOT_YET:
                link = ways.links[moving.last[flow]]
                waits, share = 0.0, moving.share[link]
                if share < 1.0:
                    waits = clock[0] / share
                moving.leaves[flow, 0] = clock[1] + max(waits, clock[0])
                moving.leaves[flow, 1] += waits
            if moving.leaves[flow, 0] <= after * (1.0 + 1e-12):
                moving.last[flow] += 1
                moving.leaves[flow, 0] = NOT_YET
        if moving.last[flow] == end:
            moving.stage[flow] = ENDS
            moving.finish[flow] = moving.leaves[flow, 1] + senders.late[flow]


@njit(cache=True, nogil=True, error_model="numpy", inline="always", makes_arrays=False)
def _is_through(senders: Senders, moving: Moving, flow: int) -> bool:
    return bool(moving.arrived[flow] >= senders.size[flow] * _WHOLE)


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _write_down(moving: Moving, active: int, step: int, span: float) -> None:
    """Keep what links and flows look like at the end of a step, for senders to know of later."""
    now = step % moving.queues.shape[1]
    for link in range(len(moving.queue)):
        stands = 0 if moving.share[link] >= 1.0 else step - moving.first[link, 1]
        moving.waited[link, now] = stands * span
        moving.queues[link, now] = moving.queue[link]
        moving.passes[link, now] = moving.passed[link]
    for at in range(active):
        flow = moving.under_way[at]
        moving.arrivals[flow, now] = moving.arrived[flow]


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _let_go(senders: Senders, moving: Moving, flow: int) -> None:
    """Let go the flows that waited for one that has ended."""
    for at in range(senders.offsets[flow], senders.offsets[flow + 1]):
        other = senders.followers[at]
        moving.waits[other] -= 1
        begin = moving.finish[flow] + senders.start[other]
        moving.begin[other] = max(moving.begin[other], begin)


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _react(
    ways: Ways,
    senders: Senders,
    moving: Moving,
    control: int,
    given: Floats,
    flow: int,
    now: Now,
) -> None:
    """Tell a sender what it knows by now, packet by packet, and let it react."""
    own, packet = moving.sender[flow], senders.packet[flow]
    before = now.step - senders.back[flow]
    known = moving.arrivals[flow, before % moving.arrivals.shape[1]] if before >= 0 else 0.0
    came = np.floor(known / packet + 1e-9) > np.floor(own[KNOWN] / packet + 1e-9)
    own[KNOWN] = known
    if control == controls.DCQCN:
        controls.dcqcn(ways, senders, moving, given, flow, came, now)
    elif control == controls.HPCC:
        controls.hpcc(ways, senders, moving, given, flow, came, now)
    else:
        controls.timely(ways, senders, moving, given, flow, came, now)
