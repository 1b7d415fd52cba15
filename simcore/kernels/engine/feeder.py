"""The workload feeder: which nodes of its program an NPU issues, and when.

An NPU has slots for CPU work, for compute and for collectives, sends and memory, of each kind one
unless told otherwise; receives need none. After every node that ends, the free nodes are visited in
ascending order, and each whose slot is free at that moment is issued (ASTRA-sim 2.0).
"""

from simcore.kernels.engine.arena import new_event, release
from simcore.kernels.engine.compiled import kernel
from simcore.kernels.engine.event_queue import do_later
from simcore.kernels.engine.layout import (
    ACTION_COLLECTIVE,
    ACTION_FIXED,
    ACTION_MEMORY,
    ACTION_SEND,
    ACTION_SKIP,
    DO_NODE_DONE,
    DO_NOTHING,
    EVENT_A,
    EVENT_NEXT,
    EVENT_WORDS,
    MSG_CALL,
    MSG_CALL_A,
    MSG_CALL_B,
    NODE_ACTION,
    NODE_BYTES,
    NODE_CHILDREN,
    NODE_CHILDREN_END,
    NODE_DONE,
    NODE_DURATION_NS,
    NODE_ISSUED,
    NODE_PEER,
    NODE_READY,
    NODE_SEEN_SRC,
    NODE_SEEN_TAG,
    NODE_SLOT,
    NODE_TAG,
    NODE_WORDS,
    NOTHING,
    NOW_NS,
    NPU_BUSY,
    NPU_END,
    NPU_FEEDER_MARK,
    NPU_FINISH_NS,
    NPU_FREED,
    NPU_ID,
    NPU_IN_FLIGHT,
    NPU_PROGRAM,
    NPU_READY,
    NPU_READY_COUNT,
    NPU_START,
    NPU_STATE,
    NPU_WALKING,
    PLACES,
    PROGRAM_HEAPS,
    PROGRAM_NODES,
    PROGRAM_TABLE,
    RECORD_NODES,
    SLOT_LIMITS,
    SLOTS,
    Floats,
    Ints,
)
from simcore.kernels.engine.messages import new_message, present_as, receive, send
from simcore.kernels.engine.remote_memory import request_memory
from simcore.kernels.engine.streams import issue_collective
from simcore.kernels.engine.ties import SENDER, touch


@kernel
def end_node(arena: Ints, rates: Floats, npu: int, position: int) -> None:
    """A node ended: free its slot and its children, then visit the free nodes."""
    touch(arena, npu + NPU_FEEDER_MARK)
    _mark_done(arena, npu, position)
    visit_free_nodes(arena, rates, npu)


@kernel
def visit_free_nodes(arena: Ints, rates: Floats, npu: int) -> None:
    """Issue what can be issued; nodes freed meanwhile wait for the next node that ends."""
    arena[npu + NPU_WALKING] = 1
    while True:
        slot = _lowest_class(arena, npu)
        if slot < 0:
            break
        _issue(arena, rates, npu, _pop_ready(arena, npu, slot))
    arena[npu + NPU_WALKING] = 0
    free = arena[npu + NPU_FREED] != 0
    while arena[npu + NPU_FREED] != 0:
        freed = arena[npu + NPU_FREED]
        arena[npu + NPU_FREED] = arena[freed + EVENT_NEXT]
        _push_ready(arena, npu, arena[freed + EVENT_A])
        release(arena, freed, EVENT_WORDS)
    for slot in range(SLOTS):
        free = free or arena[npu + NPU_READY_COUNT + slot] > 0
    if not free and arena[npu + NPU_IN_FLIGHT] == 0 and arena[npu + NPU_FINISH_NS] < 0:
        arena[npu + NPU_FINISH_NS] = arena[NOW_NS]


@kernel
def _lowest_class(arena: Ints, npu: int) -> int:
    """The slot class of the lowest node that can be issued now, or -1."""
    heaps = arena[npu + NPU_PROGRAM] + PROGRAM_HEAPS
    lowest, chosen = -1, -1
    for slot in range(SLOTS):
        if (
            arena[npu + NPU_READY_COUNT + slot] > 0
            and arena[npu + NPU_BUSY + slot] < arena[SLOT_LIMITS + slot]
        ):
            position = arena[arena[npu + NPU_READY] + arena[heaps + slot]]
            if chosen < 0 or position < lowest:
                lowest, chosen = position, slot
    return chosen


@kernel
def _issue(arena: Ints, rates: Floats, npu: int, position: int) -> None:
    node = arena[arena[npu + NPU_PROGRAM] + PROGRAM_TABLE] + position * NODE_WORDS
    slot, action = arena[node + NODE_SLOT], arena[node + NODE_ACTION]
    arena[arena[npu + NPU_STATE] + position] = NODE_ISSUED
    arena[npu + NPU_IN_FLIGHT] += 1
    arena[npu + NPU_BUSY + slot] += 1
    if arena[RECORD_NODES] != 0:
        arena[arena[npu + NPU_START] + position] = arena[NOW_NS]
    if action == ACTION_SKIP:
        _mark_done(arena, npu, position)
    elif action == ACTION_FIXED:
        delay_ns = arena[node + NODE_DURATION_NS]
        do_later(arena, npu, delay_ns, DO_NODE_DONE, npu, position)
    elif action == ACTION_COLLECTIVE:
        issue_collective(arena, rates, npu, node, position)
    elif action == ACTION_MEMORY:
        request_memory(arena, npu, position)
    else:
        _issue_transfer(arena, rates, npu, node, position)


@kernel
def _issue_transfer(arena: Ints, rates: Floats, npu: int, node: int, position: int) -> None:
    me, peer = arena[npu + NPU_ID], arena[node + NODE_PEER]
    tag, size = arena[node + NODE_TAG], arena[node + NODE_BYTES]
    if arena[node + NODE_ACTION] == ACTION_SEND:
        message = new_message(arena, tag, me, peer, size)
        arena[message + MSG_CALL] = DO_NODE_DONE
        arena[message + MSG_CALL_A] = npu
        arena[message + MSG_CALL_B] = position
        if arena[PLACES] != 0:
            seen_tag, seen_src = arena[node + NODE_SEEN_TAG], arena[node + NODE_SEEN_SRC]
            present_as(arena, rates, npu, message, seen_tag, seen_src, SENDER + seen_src)
        send(arena, rates, message)
    else:
        then = new_event(arena, DO_NODE_DONE, npu, position)
        receive(arena, rates, tag, peer, me, size, then)


@kernel
def _mark_done(arena: Ints, npu: int, position: int) -> None:
    state = arena[npu + NPU_STATE]
    node = arena[arena[npu + NPU_PROGRAM] + PROGRAM_TABLE] + position * NODE_WORDS
    arena[state + position] = NODE_DONE
    arena[npu + NPU_IN_FLIGHT] -= 1
    arena[npu + NPU_BUSY + arena[node + NODE_SLOT]] -= 1
    if arena[RECORD_NODES] != 0:
        arena[arena[npu + NPU_END] + position] = arena[NOW_NS]
    for edge in range(arena[node + NODE_CHILDREN], arena[node + NODE_CHILDREN_END]):
        child = arena[edge]
        arena[state + child] -= 1
        if arena[state + child] == NODE_READY:
            if arena[npu + NPU_WALKING] == 0:
                _push_ready(arena, npu, child)
            else:
                freed = new_event(arena, DO_NOTHING, child, NOTHING)
                arena[freed + EVENT_NEXT] = arena[npu + NPU_FREED]
                arena[npu + NPU_FREED] = freed


@kernel
def _push_ready(arena: Ints, npu: int, position: int) -> None:
    """Add a free node to the heap of its slot class."""
    program = arena[npu + NPU_PROGRAM]
    slot = arena[arena[program + PROGRAM_TABLE] + position * NODE_WORDS + NODE_SLOT]
    heap = arena[npu + NPU_READY] + arena[program + PROGRAM_HEAPS + slot]
    place = arena[npu + NPU_READY_COUNT + slot]
    arena[npu + NPU_READY_COUNT + slot] = place + 1
    while place > 0 and arena[heap + ((place - 1) >> 1)] > position:
        arena[heap + place] = arena[heap + ((place - 1) >> 1)]
        place = (place - 1) >> 1
    arena[heap + place] = position


@kernel
def _pop_ready(arena: Ints, npu: int, slot: int) -> int:
    """Take the lowest free node of a slot class."""
    heap = arena[npu + NPU_READY] + arena[arena[npu + NPU_PROGRAM] + PROGRAM_HEAPS + slot]
    size = arena[npu + NPU_READY_COUNT + slot] - 1
    arena[npu + NPU_READY_COUNT + slot] = size
    lowest, last = arena[heap], arena[heap + size]
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and arena[heap + below + 1] < arena[heap + below]:
            below += 1
        if last <= arena[heap + below]:
            break
        arena[heap + place] = arena[heap + below]
        place = below
    arena[heap + place] = last
    return lowest


@kernel
def start_npu(arena: Ints, rates: Floats, npu: int) -> None:
    """Free the nodes without dependencies and issue the first ones."""
    touch(arena, npu + NPU_FEEDER_MARK)
    program = arena[npu + NPU_PROGRAM]
    for position in range(arena[program + PROGRAM_NODES]):
        if arena[arena[npu + NPU_STATE] + position] == NODE_READY:
            _push_ready(arena, npu, position)
    visit_free_nodes(arena, rates, npu)
