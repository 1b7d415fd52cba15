"""The workload feeder: which nodes of its program an NPU issues, and when.

An NPU has slots for CPU work, for compute and for collectives, sends and memory, of each kind one
unless told otherwise; receives need none. After every node that ends, the free nodes are visited in
ascending order, and each whose slot is free at that moment is issued (ASTRA-sim 2.0).
"""

from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.fold.ties import SENDER, touch
from simcore.kernels.events.layout import (
    ACCOUNT_BUSY_NS,
    ACCOUNT_MASK,
    ACCOUNT_RUNNING,
    ACCOUNT_SHIFT,
    ACCOUNT_SINCE_NS,
    ACCOUNT_WORDS,
    ACTION_COLLECTIVE,
    ACTION_FIXED,
    ACTION_MASK,
    ACTION_MEMORY,
    ACTION_SEND,
    ACTION_SKIP,
    CHILDREN_SHIFT,
    DETAIL_BYTES,
    DETAIL_PEER,
    DETAIL_PLAN,
    DETAIL_SEEN_SRC,
    DETAIL_SEEN_TAG,
    DETAIL_TAG,
    DETAIL_WORDS,
    DO_NODE_DONE,
    DO_NOTHING,
    EVENT_A,
    EVENT_NEXT,
    EVENT_WORDS,
    MSG_CALL,
    MSG_CALL_A,
    MSG_CALL_B,
    NODE_DONE,
    NODE_HEAD,
    NODE_ISSUED,
    NODE_READY,
    NODE_VALUE,
    NODE_WORDS,
    NOTHING,
    NOW_NS,
    NPU_ACCOUNTS,
    NPU_BUSY,
    NPU_END,
    NPU_FEEDER_MARK,
    NPU_FINISH_NS,
    NPU_FREED,
    NPU_ID,
    NPU_IN_FLIGHT,
    NPU_LAST_END_NS,
    NPU_PROGRAM,
    NPU_READY,
    NPU_READY_COUNT,
    NPU_START,
    NPU_STATE,
    NPU_WALKING,
    ONLY_CHILD,
    PLACES,
    PROGRAM_DETAILS,
    PROGRAM_HEAPS,
    PROGRAM_NODES,
    PROGRAM_TABLE,
    RECORD_NODES,
    SLOT_LIMITS,
    SLOT_MASK,
    SLOT_SHIFT,
    SLOTS,
    Floats,
    Ints,
)
from simcore.kernels.events.messages import new_message, present_as, receive, send
from simcore.kernels.events.shared_bus import request_memory
from simcore.kernels.events.streams import issue_collective
from simcore.kernels.events.structures.arena import new_event, release
from simcore.kernels.events.structures.event_queue import do_later
from simcore.kernels.heaps import drop_lowest, push_number


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
    head, value = arena[node + NODE_HEAD], arena[node + NODE_VALUE]
    action = head & ACTION_MASK
    arena[arena[npu + NPU_STATE] + position] = NODE_ISSUED
    arena[npu + NPU_IN_FLIGHT] += 1
    arena[npu + NPU_BUSY + (head >> SLOT_SHIFT & SLOT_MASK)] += 1
    _begin_account(arena, npu, head >> ACCOUNT_SHIFT & ACCOUNT_MASK)
    if arena[RECORD_NODES] != 0:
        arena[arena[npu + NPU_START] + position] = arena[NOW_NS]
    if action == ACTION_SKIP:
        _mark_done(arena, npu, position)
    elif action == ACTION_FIXED:
        do_later(arena, npu, value, DO_NODE_DONE, npu, position)
    elif action == ACTION_MEMORY:
        request_memory(arena, npu, position)
    else:
        detail = arena[arena[npu + NPU_PROGRAM] + PROGRAM_DETAILS] + value * DETAIL_WORDS
        if action != ACTION_COLLECTIVE:
            _issue_transfer(arena, rates, npu, detail, position, action)
        elif arena[detail + DETAIL_PLAN] == 0:  # nobody to talk to
            do_later(arena, npu, NOTHING, DO_NODE_DONE, npu, position)
        else:
            issue_collective(arena, rates, npu, detail, position)


@kernel
def _begin_account(arena: Ints, npu: int, number: int) -> None:
    account = npu + NPU_ACCOUNTS + number * ACCOUNT_WORDS
    if arena[account + ACCOUNT_RUNNING] == 0:
        arena[account + ACCOUNT_SINCE_NS] = arena[NOW_NS]
        arena[account + ACCOUNT_BUSY_NS] = max(arena[account + ACCOUNT_BUSY_NS], 0)
    arena[account + ACCOUNT_RUNNING] += 1


@kernel
def _end_account(arena: Ints, npu: int, number: int) -> None:
    account = npu + NPU_ACCOUNTS + number * ACCOUNT_WORDS
    arena[account + ACCOUNT_RUNNING] -= 1
    if arena[account + ACCOUNT_RUNNING] == 0:
        arena[account + ACCOUNT_BUSY_NS] += arena[NOW_NS] - arena[account + ACCOUNT_SINCE_NS]
    arena[npu + NPU_LAST_END_NS] = arena[NOW_NS]


@kernel
def _issue_transfer(
    arena: Ints, rates: Floats, npu: int, detail: int, position: int, action: int
) -> None:
    me, peer = arena[npu + NPU_ID], arena[detail + DETAIL_PEER]
    tag, size = arena[detail + DETAIL_TAG], arena[detail + DETAIL_BYTES]
    if action == ACTION_SEND:
        message = new_message(arena, tag, me, peer, size)
        arena[message + MSG_CALL] = DO_NODE_DONE
        arena[message + MSG_CALL_A] = npu
        arena[message + MSG_CALL_B] = position
        if arena[PLACES] != 0:
            seen_tag, seen_src = arena[detail + DETAIL_SEEN_TAG], arena[detail + DETAIL_SEEN_SRC]
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
    head = arena[node + NODE_HEAD]
    arena[npu + NPU_BUSY + (head >> SLOT_SHIFT & SLOT_MASK)] -= 1
    _end_account(arena, npu, head >> ACCOUNT_SHIFT & ACCOUNT_MASK)
    if arena[RECORD_NODES] != 0:
        arena[arena[npu + NPU_END] + position] = arena[NOW_NS]
    children = head >> CHILDREN_SHIFT
    if head & ONLY_CHILD:
        _parent_ended(arena, npu, children)
    elif children != 0:
        for edge in range(children + 1, children + 1 + arena[children]):
            _parent_ended(arena, npu, arena[edge])


@kernel
def _parent_ended(arena: Ints, npu: int, child: int) -> None:
    """One dependency of a node is fulfilled; with the last one it is free."""
    state = arena[npu + NPU_STATE] + child
    arena[state] -= 1
    if arena[state] != NODE_READY:
        return
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
    head = arena[arena[program + PROGRAM_TABLE] + position * NODE_WORDS + NODE_HEAD]
    slot = head >> SLOT_SHIFT & SLOT_MASK
    heap = arena[npu + NPU_READY] + arena[program + PROGRAM_HEAPS + slot]
    push_number(arena, heap, arena[npu + NPU_READY_COUNT + slot], position)
    arena[npu + NPU_READY_COUNT + slot] += 1


@kernel
def _pop_ready(arena: Ints, npu: int, slot: int) -> int:
    """Take the lowest free node of a slot class."""
    heap = arena[npu + NPU_READY] + arena[arena[npu + NPU_PROGRAM] + PROGRAM_HEAPS + slot]
    lowest = arena[heap]
    arena[npu + NPU_READY_COUNT + slot] -= 1
    drop_lowest(arena, heap, arena[npu + NPU_READY_COUNT + slot])
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
