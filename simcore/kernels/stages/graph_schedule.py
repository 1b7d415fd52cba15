"""Runs the programs of the pipeline stages: which node starts when, on one NPU per stage.

The rules are those of ASTRA-sim 2.0's feeder: after every finished node an NPU walks its free nodes
in ascending position and issues each whose slot (compute, communication) is free; receives need no
slot; a send ends when its data arrives. The kernel can be left and entered again: it stops when
every member of a collective between stages has started, so that its ends can be worked out.

All functions share their arrays (S stages, T nodes one stage after another, E dependencies, X
shared collectives, C categories; int64 throughout, few arrays of records, since Numba counts the
references of every array that it takes out of a tuple):

    node    (T, NODE_FIELDS)   what each node is, and when it ran
    child   (E,)               children of each node, from its CHILDREN on
    stage   (S, SLOT + slots + C + 1)  ready lists of each stage, nodes in its slots (compute
                               slots, then communication streams), and its ns by what it did, the
                               last column idle
    ready   (2, T)             heaps of ready compute and communication nodes, stage by stage
    event   (Q, 4)             heap of (time, scheduled at, number, node)
    counter (COUNTERS + 2 X,)  of the whole run; then per shared collective its members, and how
                               many of them have started
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.stages.event_heap import drop_first_event, push_event

COMPUTE, COMMUNICATION, SEND, RECV, SHARED = 0, 1, 2, 3, 4
FINISHED = -1

# Fields of a node: its stage, its kind, its duration (of a send: of its message), how long before
# its end the event that ends it was scheduled (negative: at its start), what its time is booked
# under, a send's receive or a SHARED node's collective, where its children begin, dependencies not
# yet met, start and end (-1: not yet), whether a receive's data is there, next in a list.
STAGE, KIND, DURATION, LAST_STEP, CATEGORY, MATE, CHILDREN, MISSING = 0, 1, 2, 3, 4, 5, 6, 7
START, END, ARRIVED, NEXT, NODE_FIELDS = 8, 9, 10, 11, 12

# Fields of a stage: sizes of its two ready heaps, where its nodes begin, until when its time is
# booked, first receive to be posted (-1: none); from SLOT on, nodes in its slots (-1: free).
READY, FIRST, BOOKED_UNTIL, POSTED, SLOT = 0, 2, 3, 4, 5

EVENTS, NUMBERS, RESOLVABLE, DONE, COMPUTE_SLOTS, STREAMS, COUNTERS = 0, 1, 2, 3, 4, 5, 6

Ints = NDArray[np.int64]


@njit(cache=True)
def start(
    node: Ints,
    child: Ints,
    stage: Ints,
    ready: Ints,
    event: Ints,
    counter: Ints,
) -> None:
    """Issue what is free at time 0, stage by stage."""
    for position in range(node.shape[0]):
        if node[position, MISSING] == 0:
            _make_ready(node, stage, ready, position)
    for number in range(stage.shape[0]):
        _walk(node, stage, ready, event, counter, number, 0)


@njit(cache=True)
def run(
    node: Ints,
    child: Ints,
    stage: Ints,
    ready: Ints,
    event: Ints,
    counter: Ints,
) -> int:
    """Go on until nothing is left, or a shared collective can be resolved.

    Returns:
        FINISHED, or the number of the collective all of whose members have started.
    """
    while True:
        if counter[RESOLVABLE] >= 0:
            collective = counter[RESOLVABLE]
            counter[RESOLVABLE] = -1
            return collective
        if counter[EVENTS] == 0:
            return FINISHED
        now = event[0, 0]
        position = event[0, 3]
        drop_first_event(event, counter)
        kind = node[position, KIND]
        if kind == SEND:
            _finish(node, child, stage, ready, event, counter, position, now)
            receive = node[position, MATE]
            node[receive, ARRIVED] = 1
            if node[receive, START] >= 0:
                _finish(node, child, stage, ready, event, counter, receive, now)
            continue
        if node[position, END] >= 0:
            continue  # ended together with the other slot's node, see below
        number = node[position, STAGE]
        _finish(node, child, stage, ready, event, counter, position, now)
        # the ends of one NPU at one time run together, in the order in which they were scheduled
        for slot in range(SLOT, SLOT + counter[COMPUTE_SLOTS] + counter[STREAMS]):
            other = stage[number, slot]
            if other < 0 or node[other, KIND] > COMMUNICATION:
                continue
            if node[other, START] + node[other, DURATION] == now:
                _finish(node, child, stage, ready, event, counter, other, now)


@njit(cache=True)
def resolve(event: Ints, counter: Ints, position: int, end_ns: int, scheduled_ns: int) -> None:
    """Tell when the member *position* of a shared collective ends."""
    push_event(event, counter, end_ns, scheduled_ns, position)


@njit(cache=True)
def _finish(
    node: Ints,
    child: Ints,
    stage: Ints,
    ready: Ints,
    event: Ints,
    counter: Ints,
    position: int,
    now: int,
) -> None:
    """End a node: its slot is free, its children may be, and the NPU walks its free nodes."""
    number = node[position, STAGE]
    _book(node, stage, counter, number, now)
    node[position, END] = now
    counter[DONE] += 1
    kind = node[position, KIND]
    if kind != RECV:
        slot = SLOT
        while stage[number, slot] != position:
            slot += 1
        stage[number, slot] = -1
    last = node[position + 1, CHILDREN] if position + 1 < node.shape[0] else child.size
    for at in range(node[position, CHILDREN], last):
        waiting = child[at]
        node[waiting, MISSING] -= 1
        if node[waiting, MISSING] == 0:
            _make_ready(node, stage, ready, waiting)
    _walk(node, stage, ready, event, counter, number, now)


@njit(cache=True)
def _book(node: Ints, stage: Ints, counter: Ints, number: int, now: int) -> None:
    """Book the time since the last event under what the NPU did: compute before communication."""
    passed = now - stage[number, BOOKED_UNTIL]
    if passed == 0:
        return
    booked = SLOT + counter[COMPUTE_SLOTS] + counter[STREAMS]
    category = stage.shape[1] - 1 - booked
    for slot in range(SLOT, booked):
        busy = stage[number, slot]
        if busy < 0:
            continue
        if node[busy, KIND] == SHARED:
            at = COUNTERS + 2 * node[busy, MATE]
            if counter[at + 1] < counter[at]:
                continue  # a member of a shared collective waits until the last one has started
        category = node[busy, CATEGORY]
        break
    stage[number, booked + category] += passed
    stage[number, BOOKED_UNTIL] = now


@njit(cache=True)
def _make_ready(node: Ints, stage: Ints, ready: Ints, position: int) -> None:
    kind = node[position, KIND]
    number = node[position, STAGE]
    if kind == RECV:
        node[position, NEXT] = stage[number, POSTED]
        stage[number, POSTED] = position
        return
    lane = 0 if kind == COMPUTE else 1
    base = stage[number, FIRST]
    at = stage[number, READY + lane]
    stage[number, READY + lane] += 1
    while at > 0:
        parent = (at - 1) // 2
        if ready[lane, base + parent] <= position:
            break
        ready[lane, base + at] = ready[lane, base + parent]
        at = parent
    ready[lane, base + at] = position


@njit(cache=True)
def _take_ready(stage: Ints, ready: Ints, number: int, lane: int) -> None:
    """Drop the lowest position of a ready heap."""
    base = stage[number, FIRST]
    stage[number, READY + lane] -= 1
    size = stage[number, READY + lane]
    last = ready[lane, base + size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and ready[lane, base + below + 1] < ready[lane, base + below]:
            below += 1
        if ready[lane, base + below] >= last:
            break
        ready[lane, base + at] = ready[lane, base + below]
        at = below
    ready[lane, base + at] = last


@njit(cache=True)
def _walk(
    node: Ints,
    stage: Ints,
    ready: Ints,
    event: Ints,
    counter: Ints,
    number: int,
    now: int,
) -> None:
    """Issue the free nodes of a stage whose slot is free, lowest position first."""
    while stage[number, POSTED] >= 0:
        position = stage[number, POSTED]
        stage[number, POSTED] = node[position, NEXT]
        node[position, START] = now
        if node[position, ARRIVED] != 0:
            push_event(event, counter, now, now, position)
    base = stage[number, FIRST]
    while True:
        best = -1
        lane = 0
        slot = 0
        for choice in range(2):
            free = _free_slot(stage, counter, number, choice)
            if free >= 0 and stage[number, READY + choice] > 0:
                position = ready[choice, base]
                if best < 0 or position < best:
                    best, lane, slot = position, choice, free
        if best < 0:
            return
        _take_ready(stage, ready, number, lane)
        _book(node, stage, counter, number, now)
        stage[number, slot] = best
        node[best, START] = now
        if node[best, KIND] == SHARED:
            _join(node, stage, counter, best, now)
        else:
            end = now + node[best, DURATION]
            lead = node[best, LAST_STEP]
            push_event(event, counter, end, now if lead < 0 else end - lead, best)


@njit(cache=True)
def _free_slot(stage: Ints, counter: Ints, number: int, lane: int) -> int:
    """A free compute slot (lane 0) or communication stream (lane 1), -1 if all are taken."""
    first = SLOT + lane * counter[COMPUTE_SLOTS]
    for slot in range(first, first + counter[COMPUTE_SLOTS + lane]):
        if stage[number, slot] < 0:
            return slot
    return -1


@njit(cache=True)
def _join(node: Ints, stage: Ints, counter: Ints, position: int, now: int) -> None:
    """A member of a shared collective has started; the last one makes it resolvable."""
    collective = node[position, MATE]
    at = COUNTERS + 2 * collective
    if counter[at + 1] + 1 == counter[at]:
        for number in range(stage.shape[0]):
            _book(node, stage, counter, number, now)  # until now the members waited
        counter[RESOLVABLE] = collective
    counter[at + 1] += 1


@njit(cache=True)
def invert_dependencies(
    dep_start: Ints, dep: NDArray[np.int32], first: int, child: Ints, node: Ints
) -> None:
    """Write the children of one program's nodes, from the dependencies of each node.

    Args:
        dep_start: (N + 1,) int64, where each node's dependencies begin.
        dep: (D,) int32, their positions within the program.
        first: Position of the program's first node among all nodes.
        child: (E,) int64; the program's part is ``child[node[first, CHILDREN]:]``, filled here.
        node: (T, NODE_FIELDS) int64; CHILDREN of the program's first node is given, the others
            are filled, as is MISSING.
    """
    nodes = dep_start.size - 1
    at = np.zeros(nodes + 1, np.int64)
    for parent in dep:
        at[parent + 1] += 1
    at[0] = node[first, CHILDREN]
    for position in range(nodes):
        at[position + 1] += at[position]
        node[first + position, CHILDREN] = at[position]
        node[first + position, MISSING] = dep_start[position + 1] - dep_start[position]
    for position in range(nodes):
        for edge in range(dep_start[position], dep_start[position + 1]):
            parent = dep[edge]
            child[at[parent]] = first + position
            at[parent] += 1
