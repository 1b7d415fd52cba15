"""Runs the programs of the pipeline stages: which node starts when, on one NPU per stage.

The rules are those of ASTRA-sim 2.0's feeder: after every finished node an NPU walks its free nodes
in ascending position and issues each whose slot (compute, communication) is free; receives need no
slot; a send ends when its data arrives. The kernel can be left and entered again: it stops when
every member of a collective between stages has started, so that its ends can be worked out.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

COMPUTE, COMMUNICATION, SEND, RECV, SHARED = 0, 1, 2, 3, 4
FINISHED, RENDEZVOUS = -1, -2

Ints = NDArray[np.int64]
SmallInts = NDArray[np.int32]


class Programs(NamedTuple):
    """The stages' nodes one after another: S stages, T nodes, E dependencies, C categories.

    Attributes:
        stage_of: (T,) int32.
        kind: (T,) int8: COMPUTE, COMMUNICATION, SEND, RECV, or SHARED (a collective whose members
            are at several stages).
        duration_ns: (T,) int64; of a send: time of its message; of RECV and SHARED: unused.
        last_step_ns: (T,) int64, how long before its end the event that ends it was scheduled; a
            negative value: at its start.
        category: (T,) int32, what the time is booked under, 0..C-1.
        mate: (T,) int64: a send's receive; a SHARED node's number of the collective.
        child_start: (T + 1,) int64, children of each node, and child: (E,) int64.
        shared_members: (X,) int64, how many stages take part in each shared collective.
    """

    stage_of: SmallInts
    kind: NDArray[np.int8]
    duration_ns: Ints
    last_step_ns: Ints
    category: SmallInts
    mate: Ints
    child_start: Ints
    child: Ints
    shared_members: Ints


class State(NamedTuple):
    """All that changes while the programs run.

    Attributes:
        missing: (T,) int32, dependencies not yet met.
        start_ns, end_ns: (T,) int64; -1 where not yet.
        arrived: (T,) bool, a receive's data is there.
        slot: (S, 2) int64, node in the compute and in the communication slot, -1 where free.
        ready: (2, T) int64 binary heaps of ready nodes, stage by stage; ready_size: (S, 2).
        stage_start: (S + 1,) int64, where each stage's heaps begin.
        posted: (R,) int64 scratch list of receives that became free; posted_size: (1,).
        event: (Q, 4) int64 binary heap of (time, scheduled at, number, node).
        counter: (4,) int64: events in the heap, numbers given, collective to resolve, events done.
        shared_started: (X,) int64.
        booked_ns: (S, C + 1) int64, time by what the NPU did; the last column is idle.
        booked_until_ns: (S,) int64.
    """

    missing: SmallInts
    start_ns: Ints
    end_ns: Ints
    arrived: NDArray[np.bool_]
    slot: Ints
    ready: Ints
    ready_size: Ints
    stage_start: Ints
    posted: Ints
    posted_size: Ints
    event: Ints
    counter: Ints
    shared_started: Ints
    booked_ns: Ints
    booked_until_ns: Ints


@njit(cache=True)
def start(programs: Programs, state: State) -> None:
    """Issue what is free at time 0, stage by stage."""
    for node in range(state.missing.size):
        if state.missing[node] == 0:
            _make_ready(programs, state, node)
    for stage in range(state.slot.shape[0]):
        _walk(programs, state, stage, 0)


@njit(cache=True)
def run(programs: Programs, state: State) -> int:
    """Go on until nothing is left, or a shared collective can be resolved.

    Returns:
        FINISHED, or the number of the collective all of whose members have started.
    """
    while True:
        if state.counter[2] >= 0:
            collective = state.counter[2]
            state.counter[2] = -1
            return collective
        if state.counter[0] == 0:
            return FINISHED
        now, node = _pop(state)
        if state.end_ns[node] >= 0 and programs.kind[node] != SEND:
            continue  # ended together with the other slot's node, see below
        if programs.kind[node] == SEND:
            _arrive(programs, state, node, now)
            continue
        stage = programs.stage_of[node]
        _finish(programs, state, node, now)
        # the ends of one NPU at one time run together, in the order in which they were scheduled
        for lane in range(2):
            other = state.slot[stage, lane]
            if other >= 0 and programs.kind[other] != SEND and _due(programs, state, other) == now:
                _finish(programs, state, other, now)


@njit(cache=True)
def resolve(state: State, node: int, end_ns: int, scheduled_ns: int) -> None:
    """Tell when the member *node* of a shared collective ends."""
    _push(state, end_ns, scheduled_ns, node)


@njit(cache=True)
def _due(programs: Programs, state: State, node: int) -> int:
    if programs.kind[node] == SHARED:
        return -1
    return state.start_ns[node] + programs.duration_ns[node]


@njit(cache=True)
def _arrive(programs: Programs, state: State, node: int, now: int) -> None:
    """The data of a send is there: the send ends, and its receive if that is posted."""
    _finish(programs, state, node, now)
    receive = programs.mate[node]
    state.arrived[receive] = True
    if state.start_ns[receive] >= 0:
        _finish(programs, state, receive, now)


@njit(cache=True)
def _finish(programs: Programs, state: State, node: int, now: int) -> None:
    stage = programs.stage_of[node]
    _book(programs, state, stage, now)
    state.end_ns[node] = now
    state.counter[3] += 1
    kind = programs.kind[node]
    if kind != RECV:
        state.slot[stage, 0 if kind == COMPUTE else 1] = -1
    for position in range(programs.child_start[node], programs.child_start[node + 1]):
        child = programs.child[position]
        state.missing[child] -= 1
        if state.missing[child] == 0:
            _make_ready(programs, state, child)
    _walk(programs, state, stage, now)


@njit(cache=True)
def _book(programs: Programs, state: State, stage: int, now: int) -> None:
    """Book the time since the last event under what the NPU did: compute before communication."""
    idle = state.booked_ns.shape[1] - 1
    category = idle
    if state.slot[stage, 0] >= 0:
        category = programs.category[state.slot[stage, 0]]
    elif state.slot[stage, 1] >= 0 and not _awaited(programs, state, state.slot[stage, 1]):
        category = programs.category[state.slot[stage, 1]]
    state.booked_ns[stage, category] += now - state.booked_until_ns[stage]
    state.booked_until_ns[stage] = now


@njit(cache=True)
def _awaited(programs: Programs, state: State, node: int) -> bool:
    """Whether *node* is a shared collective that some member has not started yet."""
    if programs.kind[node] != SHARED:
        return False
    collective = programs.mate[node]
    return bool(state.shared_started[collective] < programs.shared_members[collective])


@njit(cache=True)
def _make_ready(programs: Programs, state: State, node: int) -> None:
    kind = programs.kind[node]
    if kind == RECV:
        state.posted[state.posted_size[0]] = node
        state.posted_size[0] += 1
        return
    lane = 0 if kind == COMPUTE else 1
    stage = programs.stage_of[node]
    base = state.stage_start[stage]
    heap = state.ready[lane]
    at = state.ready_size[stage, lane]
    state.ready_size[stage, lane] += 1
    while at > 0:
        parent = (at - 1) // 2
        if heap[base + parent] <= node:
            break
        heap[base + at] = heap[base + parent]
        at = parent
    heap[base + at] = node


@njit(cache=True)
def _take_ready(state: State, stage: int, lane: int) -> int:
    base = state.stage_start[stage]
    heap = state.ready[lane]
    top = heap[base]
    state.ready_size[stage, lane] -= 1
    size = state.ready_size[stage, lane]
    last = heap[base + size]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[base + child + 1] < heap[base + child]:
            child += 1
        if heap[base + child] >= last:
            break
        heap[base + at] = heap[base + child]
        at = child
    heap[base + at] = last
    return top


@njit(cache=True)
def _walk(programs: Programs, state: State, stage: int, now: int) -> None:
    """Issue the free nodes of *stage* whose slot is free, lowest position first."""
    _book(programs, state, stage, now)
    kept = 0
    for position in range(state.posted_size[0]):
        node = state.posted[position]
        if programs.stage_of[node] != stage:
            state.posted[kept] = node
            kept += 1
            continue
        state.start_ns[node] = now
        if state.arrived[node]:
            _push(state, now, now, node)
    state.posted_size[0] = kept
    base = state.stage_start[stage]
    while True:
        best, lane = -1, -1
        for choice in range(2):
            if state.slot[stage, choice] < 0 and state.ready_size[stage, choice] > 0:
                node = state.ready[choice, base]
                if best < 0 or node < best:
                    best, lane = node, choice
        if best < 0:
            return
        _issue(programs, state, _take_ready(state, stage, lane), lane, now)


@njit(cache=True)
def _issue(programs: Programs, state: State, node: int, lane: int, now: int) -> None:
    state.slot[programs.stage_of[node], lane] = node
    state.start_ns[node] = now
    if programs.kind[node] == SHARED:
        collective = programs.mate[node]
        if state.shared_started[collective] + 1 == programs.shared_members[collective]:
            for stage in range(state.slot.shape[0]):
                _book(programs, state, stage, now)  # until now the members waited
            state.counter[2] = collective
        state.shared_started[collective] += 1
        return
    end = now + programs.duration_ns[node]
    lead = programs.last_step_ns[node]
    _push(state, end, now if lead < 0 else end - lead, node)


@njit(cache=True)
def _push(state: State, time: int, scheduled: int, node: int) -> None:
    event = state.event
    state.counter[1] += 1
    number = state.counter[1]
    at = state.counter[0]
    state.counter[0] += 1
    while at > 0:
        parent = (at - 1) // 2
        if not _before(time, scheduled, number, event, parent):
            break
        event[at] = event[parent]
        at = parent
    event[at, 0] = time
    event[at, 1] = scheduled
    event[at, 2] = number
    event[at, 3] = node


@njit(cache=True)
def _before(time: int, scheduled: int, number: int, event: Ints, at: int) -> bool:
    if time != event[at, 0]:
        return bool(time < event[at, 0])
    if scheduled != event[at, 1]:
        return bool(scheduled < event[at, 1])
    return bool(number < event[at, 2])


@njit(cache=True)
def _pop(state: State) -> tuple[int, int]:
    event = state.event
    time, node = event[0, 0], event[0, 3]
    state.counter[0] -= 1
    size = state.counter[0]
    last_time, last_scheduled = event[size, 0], event[size, 1]
    last_number, last_node = event[size, 2], event[size, 3]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _before(
            event[child + 1, 0], event[child + 1, 1], event[child + 1, 2], event, child
        ):
            child += 1
        if _before(last_time, last_scheduled, last_number, event, child):
            break
        event[at] = event[child]
        at = child
    event[at, 0] = last_time
    event[at, 1] = last_scheduled
    event[at, 2] = last_number
    event[at, 3] = last_node
    return time, node


@njit(cache=True)
def invert_dependencies(dep_start: Ints, dep: SmallInts, offset: int, child_start: Ints) -> Ints:
    """Children of each node, from the dependencies of each node.

    Args:
        dep_start: (N + 1,) int64, where each node's dependencies begin.
        dep: (E,) int32, their positions.
        offset: Added to every child, so that several programs can lie one after another.
        child_start: (N + 1,) int64, filled here.

    Returns:
        (E,) int64: the children of node i are at ``child_start[i]:child_start[i + 1]``, ascending.
    """
    nodes = dep_start.size - 1
    child_start[:] = 0
    for parent in dep:
        child_start[parent + 1] += 1
    for node in range(nodes):
        child_start[node + 1] += child_start[node]
    at = child_start[:-1].copy()
    child = np.empty(dep.size, np.int64)
    for node in range(nodes):
        for position in range(dep_start[node], dep_start[node + 1]):
            parent = dep[position]
            child[at[parent]] = node + offset
            at[parent] += 1
    return child
