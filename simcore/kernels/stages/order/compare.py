"""Order of two events at one time, told from what led to them.

The events of an iteration are in one queue: by time, then by when they were scheduled, then as they
were put there. So of two that are alike in the first two the one is first that was put there first.
An end of a node is put there when the node starts, in the course of another event. Where two nodes
started at different times, that decides. Else the events that started them came at one time too,
and their order decides, which is told in the same way: by when they were scheduled, and then by
what started the nodes whose ends they are. (A message is the end of a node too, of its sender.)
Where one event started both nodes, a message's sender comes before its receiver, and of one NPU the
node is first that started first.

So the answer is that of one queue for all events, or none: where the cause is not known. It is not
of collectives between stages, or where the order of two events makes no difference to what their
NPU does, and is wanted, but is not known itself.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.order import history as h
from simcore.kernels.stages.order import replay as r
from simcore.kernels.stages.pipeline_messages import message_to, unit_address
from simcore.kernels.stages.stage_layout import Layout

MESSAGE_FIRST, NOT_KNOWN, END_FIRST = np.int64(-1), np.int64(0), np.int64(1)

_MOST_ASKED = 256
"""Orders that may depend on each other."""

# A node: its stage, the record of the history in which it started, its unit, its place in that, its
# entry in the trace (0: not known), and whether its end is meant as the message that comes then.
_STAGE, _RECORD, _UNIT, _PLACE, _ENTRY, _IS_RECEIVED = range(6)

Ints = NDArray[np.int64]
Node = tuple[int, int, int, int, int, int]


@njit(cache=True)
def order_of(
    fixed: Ints, live: Ints, at: Layout, number: int, message: int, unit: int, place: int, now: int
) -> int:
    """Order of a *message* and of the end of its receiver's node at a *place* of its *unit*.

    Both come *now*, and both were scheduled at one time. Where that depends on such an order at an
    earlier time, that one is told first.
    """
    asked = np.empty((_MOST_ASKED, 5), np.int64)
    _ask(asked[0], message, number, unit, place, now)
    depth = 0
    while depth >= 0:
        ask = asked[depth]
        live[f.WANTED] = -1
        h.make_room(live, at)
        order = _told(fixed, live, at, ask[0], ask[1], ask[2], ask[3], ask[4])
        if order == 0:
            if live[f.WANTED] < 0 or depth + 1 == _MOST_ASKED or live[f.WANTED_AT] >= ask[4]:
                return NOT_KNOWN
            depth += 1
            for field in range(5):
                asked[depth, field] = live[f.WANTED + field]
        elif h.remember(live, at, ask[0], ask[2], ask[3], order):
            depth -= 1
        else:
            return NOT_KNOWN
    return h.decided(live, at, message, unit, place)


@njit(cache=True)
def _ask(asked: Ints, message: int, number: int, unit: int, place: int, now: int) -> None:
    asked[0], asked[1], asked[2], asked[3], asked[4] = message, number, unit, place, now


@njit(cache=True)
def _told(
    fixed: Ints, live: Ints, at: Layout, message: int, number: int, unit: int, place: int, now: int
) -> int:
    """``order_of``, or NOT_KNOWN and the order that has to be known first."""
    receiver = live[at.stage + number * f.STAGE_FIELDS + f.HISTORY]
    own = _node(fixed, live, at, number, receiver, unit, place, now)
    if own[_ENTRY] == 0:
        return NOT_KNOWN
    sent = _sent(fixed, live, at, number, message, now)
    return _compare(fixed, live, at, own, sent)


@njit(cache=True)
def _compare(fixed: Ints, live: Ints, at: Layout, one: Node, other: Node) -> int:
    """Order of the ends of two nodes that came and were scheduled at once.

    END_FIRST: that of *one* is first, MESSAGE_FIRST: that of *other* is.
    """
    while one[_ENTRY] > 0 and other[_ENTRY] > 0:
        known = _decided(fixed, live, at, one, other)
        if known != 0:
            return known
        mine, its = one[_ENTRY], other[_ENTRY]
        if live[mine + r.KIND] == n.SHARED or live[its + r.KIND] == n.SHARED:
            return NOT_KNOWN
        started = live[mine + r.START]
        if started != live[its + r.START]:
            return END_FIRST if started < live[its + r.START] else MESSAGE_FIRST
        if live[mine + r.CAUSE] == r.AT_BEGIN or live[its + r.CAUSE] == r.AT_BEGIN:
            return _first_at_begin(live, one, other)
        scheduled = _scheduled(fixed, live, at, one)
        its_scheduled = _scheduled(fixed, live, at, other)
        if scheduled != its_scheduled:
            return END_FIRST if scheduled < its_scheduled else MESSAGE_FIRST
        one, other = _cause(fixed, live, at, one), _cause(fixed, live, at, other)
        is_same = one[_STAGE] == other[_STAGE] and one[_UNIT] == other[_UNIT]
        if is_same and one[_PLACE] == other[_PLACE]:
            if one[_IS_RECEIVED] == other[_IS_RECEIVED]:
                return _first_of_walk(live, mine, its)
            return MESSAGE_FIRST if one[_IS_RECEIVED] != 0 else END_FIRST
    return NOT_KNOWN


@njit(cache=True)
def _decided(fixed: Ints, live: Ints, at: Layout, one: Node, other: Node) -> int:
    """``_compare`` as it was decided before, 0: it was not."""
    for turn in range(2):
        own, sent = (one, other) if turn == 0 else (other, one)
        if live[sent[_ENTRY] + r.KIND] == n.SEND:
            message = fixed[unit_address(fixed, at, sent[_STAGE], sent[_UNIT]) + f.SENDS]
            if fixed[at.message + message * f.MESSAGE_FIELDS] == own[_STAGE]:
                order = h.decided(live, at, message, own[_UNIT], own[_PLACE])
                if order != 0:
                    return order if turn == 0 else -order
    return 0


@njit(cache=True)
def _first_of_walk(live: Ints, mine: int, its: int) -> int:
    """Order of two nodes of one NPU that the same event started, by their entries.

    A collective is put into the queue later if it is the first over its groups; so of two kinds
    nothing is said.
    """
    alike = live[mine + r.KIND] == live[its + r.KIND]
    one_is_joint = live[mine + r.KIND] == n.COMMUNICATION
    if alike and one_is_joint:
        alike = live[mine + r.CATEGORY] == live[its + r.CATEGORY]
    elif not one_is_joint and live[its + r.KIND] != n.COMMUNICATION:
        alike = True
    if not alike or mine == its:
        return NOT_KNOWN
    return END_FIRST if mine < its else MESSAGE_FIRST


@njit(cache=True)
def _first_at_begin(live: Ints, one: Node, other: Node) -> int:
    """Order of two nodes that start at once, one of them at least as the iteration begins.

    Collectives are put into the queue after computes, as their groups are looked at first.
    """
    mine, its = one[_ENTRY], other[_ENTRY]
    if live[mine + r.CAUSE] != live[its + r.CAUSE]:
        return END_FIRST if live[mine + r.CAUSE] == r.AT_BEGIN else MESSAGE_FIRST
    alike = live[mine + r.KIND] == live[its + r.KIND]
    if not alike or live[mine + r.CATEGORY] != live[its + r.CATEGORY]:
        return NOT_KNOWN
    if one[_STAGE] == other[_STAGE]:
        return NOT_KNOWN
    return END_FIRST if one[_STAGE] < other[_STAGE] else MESSAGE_FIRST


@njit(cache=True)
def _scheduled(fixed: Ints, live: Ints, at: Layout, node: Node) -> int:
    """Time at which the event that started a node was scheduled."""
    entry = node[_ENTRY]
    if live[entry + r.CAUSE] == r.BY_NODE:
        return int(live[entry + r.CAUSE_SCHEDULED])
    message = message_to(fixed, at, node[_STAGE], live[entry + r.CAUSE_UNIT])
    sender = fixed[at.message + message * f.MESSAGE_FIELDS + f.FROM_STAGE]
    _, _, takes = _send_of(fixed, at, sender, message)
    return int(live[entry + r.START] - takes)


@njit(cache=True)
def _cause(fixed: Ints, live: Ints, at: Layout, node: Node) -> Node:
    """The node whose end started a node."""
    stage, record, entry = node[_STAGE], node[_RECORD], node[_ENTRY]
    unit, now = live[entry + r.CAUSE_UNIT], live[entry + r.START]
    if live[entry + r.CAUSE] == r.BY_NODE:
        return _node(fixed, live, at, stage, record, unit, live[entry + r.CAUSE_PLACE], now)
    return _sent(fixed, live, at, stage, message_to(fixed, at, stage, unit), now)


@njit(cache=True)
def _node(
    fixed: Ints, live: Ints, at: Layout, stage: int, record: int, unit: int, place: int, now: int
) -> Node:
    """A node that ends *now*, which started in a *record* of its stage or before."""
    record, entry = r.find(fixed, live, at, stage, record, unit, place, now)
    return stage, record, unit, place, entry, n.ZERO


@njit(cache=True)
def _sent(fixed: Ints, live: Ints, at: Layout, to: int, message: int, now: int) -> Node:
    """The send of a message that comes *now*."""
    stage = fixed[at.message + message * f.MESSAGE_FIELDS + f.FROM_STAGE]
    record = live[at.stage + stage * f.STAGE_FIELDS + f.HISTORY]
    unit, place, takes = _send_of(fixed, at, stage, message)
    record, entry = r.find(fixed, live, at, stage, record, unit, place, now - takes)
    return stage, record, unit, place, entry, n.ZERO + 1


@njit(cache=True)
def _send_of(fixed: Ints, at: Layout, stage: int, message: int) -> tuple[int, int, int]:
    """Unit and place of the node that sends a message, and how long it takes."""
    unit = fixed[at.message + message * f.MESSAGE_FIELDS + f.FROM_UNIT]
    pieces = fixed[at.program + stage * f.PROGRAM_FIELDS + f.PIECES]
    which = fixed[unit_address(fixed, at, stage, unit) + f.WHICH]
    piece = pieces + which * f.PIECE_FIELDS
    first, own = n.ZERO, n.ZERO
    if fixed[piece + f.LAST] < 0:
        own = fixed[piece + f.FIRST_UNIT]
        first = fixed[fixed[piece + f.STARTS] + own]
    place = n.ZERO
    while True:
        row = fixed[piece + f.ROWS] + (first + place) * f.NODE_FIELDS
        if fixed[row + n.KIND] == n.SEND and fixed[row + n.MATE] == own:
            forward = fixed[row + f.DIRECTION] > 0
            return unit, place, fixed[piece + (f.NEXT_NS if forward else f.PREVIOUS_NS)]
        place += 1
