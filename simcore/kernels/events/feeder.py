"""The workload feeder: which nodes of its program an NPU issues, and when.

An NPU has slots for CPU work, for compute and for collectives, sends and memory, of each kind one
unless told otherwise; receives need none. After every node that ends, the free nodes are visited in
ascending order, and each whose slot is free at that moment is issued (ASTRA-sim 2.0).
"""

from simcore.kernels.events import layout as f
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.fold.ties import SENDER, touch
from simcore.kernels.events.layout import Floats, Ints
from simcore.kernels.events.messages import new_message, present_as, receive, send
from simcore.kernels.events.remote_memory import leave_port, request_memory, request_port
from simcore.kernels.events.streams import issue_collective
from simcore.kernels.events.structures.arena import new_event, release
from simcore.kernels.events.structures.event_queue import do_later
from simcore.kernels.heaps import drop_lowest, push_number


@kernel
def end_node(arena: Ints, rates: Floats, npu: int, position: int) -> None:
    """A node ended: free its slot and its children, then visit the free nodes."""
    touch(arena, npu + f.NPU_FEEDER_MARK)
    _mark_done(arena, npu, position)
    visit_free_nodes(arena, rates, npu)
    node = arena[arena[npu + f.NPU_PROGRAM] + f.PROGRAM_TABLE] + position * f.NODE_WORDS
    if arena[node + f.NODE_HEAD] & f.ACTION_MASK == f.ACTION_PORT:
        leave_port(arena, npu, position)


@kernel
def visit_free_nodes(arena: Ints, rates: Floats, npu: int) -> None:
    """Issue what can be issued; nodes freed meanwhile wait for the next node that ends."""
    arena[npu + f.NPU_WALKING] = 1
    while True:
        slot = _lowest_class(arena, npu)
        if slot < 0:
            break
        _issue(arena, rates, npu, _pop_ready(arena, npu, slot))
    arena[npu + f.NPU_WALKING] = 0
    free = arena[npu + f.NPU_FREED] != 0
    while arena[npu + f.NPU_FREED] != 0:
        freed = arena[npu + f.NPU_FREED]
        arena[npu + f.NPU_FREED] = arena[freed + f.EVENT_NEXT]
        _push_ready(arena, npu, arena[freed + f.EVENT_A])
        release(arena, freed, f.EVENT_WORDS)
    for slot in range(f.SLOTS):
        free = free or arena[npu + f.NPU_READY_COUNT + slot] > 0
    if not free and arena[npu + f.NPU_IN_FLIGHT] == 0 and arena[npu + f.NPU_FINISH_NS] < 0:
        arena[npu + f.NPU_FINISH_NS] = arena[f.NOW_NS]


@kernel
def _lowest_class(arena: Ints, npu: int) -> int:
    """The slot class of the lowest node that can be issued now, or -1."""
    heaps = arena[npu + f.NPU_PROGRAM] + f.PROGRAM_HEAPS
    lowest, chosen = -1, -1
    for slot in range(f.SLOTS):
        if (
            arena[npu + f.NPU_READY_COUNT + slot] > 0
            and arena[npu + f.NPU_BUSY + slot] < arena[f.SLOT_LIMITS + slot]
        ):
            position = arena[arena[npu + f.NPU_READY] + arena[heaps + slot]]
            if chosen < 0 or position < lowest:
                lowest, chosen = position, slot
    return chosen


@kernel
def _issue(arena: Ints, rates: Floats, npu: int, position: int) -> None:
    node = arena[arena[npu + f.NPU_PROGRAM] + f.PROGRAM_TABLE] + position * f.NODE_WORDS
    head, value = arena[node + f.NODE_HEAD], arena[node + f.NODE_VALUE]
    action = head & f.ACTION_MASK
    arena[arena[npu + f.NPU_STATE] + position] = f.NODE_ISSUED
    arena[npu + f.NPU_IN_FLIGHT] += 1
    arena[npu + f.NPU_BUSY + (head >> f.SLOT_SHIFT & f.SLOT_MASK)] += 1
    _begin_account(arena, npu, head >> f.ACCOUNT_SHIFT & f.ACCOUNT_MASK)
    if arena[f.RECORD_NODES] != 0:
        arena[arena[npu + f.NPU_START] + position] = arena[f.NOW_NS]
    if action == f.ACTION_SKIP:
        _mark_done(arena, npu, position)
    elif action == f.ACTION_FIXED:
        do_later(arena, npu, value, f.DO_NODE_DONE, npu, position)
    elif action == f.ACTION_MEMORY:
        request_memory(arena, npu, position)
    elif action == f.ACTION_PORT:
        request_port(arena, npu, position)
    else:
        detail = arena[arena[npu + f.NPU_PROGRAM] + f.PROGRAM_DETAILS] + value * f.DETAIL_WORDS
        if action != f.ACTION_COLLECTIVE:
            _issue_transfer(arena, rates, npu, detail, position, action)
        elif arena[detail + f.DETAIL_PLAN] == 0:  # nobody to talk to
            do_later(arena, npu, f.NOTHING, f.DO_NODE_DONE, npu, position)
        else:
            issue_collective(arena, rates, npu, detail, position)


@kernel
def _begin_account(arena: Ints, npu: int, number: int) -> None:
    account = npu + f.NPU_ACCOUNTS + number * f.ACCOUNT_WORDS
    if arena[account + f.ACCOUNT_RUNNING] == 0:
        arena[account + f.ACCOUNT_SINCE_NS] = arena[f.NOW_NS]
        arena[account + f.ACCOUNT_BUSY_NS] = max(arena[account + f.ACCOUNT_BUSY_NS], 0)
    arena[account + f.ACCOUNT_RUNNING] += 1


@kernel
def _end_account(arena: Ints, npu: int, number: int) -> None:
    account = npu + f.NPU_ACCOUNTS + number * f.ACCOUNT_WORDS
    arena[account + f.ACCOUNT_RUNNING] -= 1
    if arena[account + f.ACCOUNT_RUNNING] == 0:
        arena[account + f.ACCOUNT_BUSY_NS] += arena[f.NOW_NS] - arena[account + f.ACCOUNT_SINCE_NS]
    arena[npu + f.NPU_LAST_END_NS] = arena[f.NOW_NS]


@kernel
def _issue_transfer(
    arena: Ints, rates: Floats, npu: int, detail: int, position: int, action: int
) -> None:
    me, peer = arena[npu + f.NPU_ID], arena[detail + f.DETAIL_PEER]
    tag, size = arena[detail + f.DETAIL_TAG], arena[detail + f.DETAIL_BYTES]
    if action == f.ACTION_SEND:
        message = new_message(arena, tag, me, peer, size)
        arena[message + f.MSG_CALL] = f.DO_NODE_DONE
        arena[message + f.MSG_CALL_A] = npu
        arena[message + f.MSG_CALL_B] = position
        if arena[f.PLACES] != 0:
            seen_tag, seen_src = (
                arena[detail + f.DETAIL_SEEN_TAG],
                arena[detail + f.DETAIL_SEEN_SRC],
            )
            present_as(arena, rates, npu, message, seen_tag, seen_src, SENDER + seen_src)
        send(arena, rates, message)
    else:
        then = new_event(arena, f.DO_NODE_DONE, npu, position)
        receive(arena, rates, tag, peer, me, size, then)


@kernel
def _mark_done(arena: Ints, npu: int, position: int) -> None:
    state = arena[npu + f.NPU_STATE]
    node = arena[arena[npu + f.NPU_PROGRAM] + f.PROGRAM_TABLE] + position * f.NODE_WORDS
    arena[state + position] = f.NODE_DONE
    arena[npu + f.NPU_IN_FLIGHT] -= 1
    head = arena[node + f.NODE_HEAD]
    arena[npu + f.NPU_BUSY + (head >> f.SLOT_SHIFT & f.SLOT_MASK)] -= 1
    _end_account(arena, npu, head >> f.ACCOUNT_SHIFT & f.ACCOUNT_MASK)
    if arena[f.RECORD_NODES] != 0:
        arena[arena[npu + f.NPU_END] + position] = arena[f.NOW_NS]
    children = head >> f.CHILDREN_SHIFT
    if head & f.ONLY_CHILD:
        _parent_ended(arena, npu, children)
    elif children != 0:
        for edge in range(children + 1, children + 1 + arena[children]):
            _parent_ended(arena, npu, arena[edge])


@kernel
def _parent_ended(arena: Ints, npu: int, child: int) -> None:
    """One dependency of a node is fulfilled; with the last one it is free."""
    state = arena[npu + f.NPU_STATE] + child
    arena[state] -= 1
    if arena[state] != f.NODE_READY:
        return
    if arena[npu + f.NPU_WALKING] == 0:
        _push_ready(arena, npu, child)
    else:
        freed = new_event(arena, f.DO_NOTHING, child, f.NOTHING)
        arena[freed + f.EVENT_NEXT] = arena[npu + f.NPU_FREED]
        arena[npu + f.NPU_FREED] = freed


@kernel
def _push_ready(arena: Ints, npu: int, position: int) -> None:
    """Add a free node to the heap of its slot class."""
    program = arena[npu + f.NPU_PROGRAM]
    head = arena[arena[program + f.PROGRAM_TABLE] + position * f.NODE_WORDS + f.NODE_HEAD]
    slot = head >> f.SLOT_SHIFT & f.SLOT_MASK
    heap = arena[npu + f.NPU_READY] + arena[program + f.PROGRAM_HEAPS + slot]
    push_number(arena, heap, arena[npu + f.NPU_READY_COUNT + slot], position)
    arena[npu + f.NPU_READY_COUNT + slot] += 1


@kernel
def _pop_ready(arena: Ints, npu: int, slot: int) -> int:
    """Take the lowest free node of a slot class."""
    heap = arena[npu + f.NPU_READY] + arena[arena[npu + f.NPU_PROGRAM] + f.PROGRAM_HEAPS + slot]
    lowest = arena[heap]
    arena[npu + f.NPU_READY_COUNT + slot] -= 1
    drop_lowest(arena, heap, arena[npu + f.NPU_READY_COUNT + slot])
    return lowest


@kernel
def start_npu(arena: Ints, rates: Floats, npu: int) -> None:
    """Free the nodes without dependencies and issue the first ones."""
    touch(arena, npu + f.NPU_FEEDER_MARK)
    program = arena[npu + f.NPU_PROGRAM]
    for position in range(arena[program + f.PROGRAM_NODES]):
        if arena[arena[npu + f.NPU_STATE] + position] == f.NODE_READY:
            _push_ready(arena, npu, position)
    visit_free_nodes(arena, rates, npu)
