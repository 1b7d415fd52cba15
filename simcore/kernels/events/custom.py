"""Collectives given as programs: all free nodes run at once, without slots or local costs.

Source: W. Won et al., "Towards a Standardized Representation for Deep Learning Collective
Algorithms", Hot Interconnects 2024; order of events as in ASTRA-sim 2.0, which keeps the free nodes
in a hash set (``hashed_set``).
"""

from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.layout import (
    ACTION_MASK,
    ACTION_RECV,
    ACTION_SEND,
    CUSTOM_FREE,
    CUSTOM_IN_FLIGHT,
    CUSTOM_LIST,
    CUSTOM_PROGRAM,
    CUSTOM_STREAM,
    CUSTOM_WORDS,
    DETAIL_BYTES,
    DETAIL_PEER,
    DETAIL_TAG,
    DETAIL_WORDS,
    DO_CUSTOM_DONE,
    MSG_CALL,
    MSG_CALL_A,
    MSG_CALL_B,
    NODE_DONE,
    NODE_HEAD,
    NODE_ISSUED,
    NODE_READY,
    NODE_VALUE,
    NODE_WORDS,
    NPU_CUSTOM,
    NPU_ID,
    PHASE_CUSTOM,
    PHASE_LIST,
    PROGRAM_CHILD_START,
    PROGRAM_CHILDREN,
    PROGRAM_DETAILS,
    PROGRAM_KEYS,
    PROGRAM_NODES,
    PROGRAM_OPEN,
    PROGRAM_ORDER,
    PROGRAM_TABLE,
    Floats,
    Ints,
)
from simcore.kernels.events.members import listed_id, sorted_place
from simcore.kernels.events.messages import new_message, receive, send
from simcore.kernels.events.structures.arena import new_event
from simcore.kernels.events.structures.event_queue import do_later
from simcore.kernels.events.structures.hashed_set import add_item, begin_set, has_items, take_first


@kernel
def begin_custom(arena: Ints, rates: Floats, npu: int, stream: int, phase: int) -> None:
    """Start the program of this NPU: by its id, or its position in the sorted group."""
    ids = arena[phase + PHASE_LIST]
    place = arena[npu + NPU_ID]
    if ids != 0:
        place = sorted_place(arena, phase, place)
    custom = arena[npu + NPU_CUSTOM]
    program = arena[arena[phase + PHASE_CUSTOM] + place]
    arena[custom + CUSTOM_STREAM] = stream
    arena[custom + CUSTOM_PROGRAM] = program
    arena[custom + CUSTOM_LIST] = ids
    arena[custom + CUSTOM_IN_FLIGHT] = 0
    nodes, open_count = arena[program + PROGRAM_NODES], arena[program + PROGRAM_OPEN]
    free = custom + CUSTOM_WORDS + nodes
    arena[custom + CUSTOM_FREE] = free
    begin_set(arena, free, nodes, arena[program + PROGRAM_KEYS], 1)
    for position in range(nodes):
        arena[custom + CUSTOM_WORDS + position] = arena[open_count + position]
    order = arena[program + PROGRAM_ORDER]
    for place in range(order, order + nodes):
        if arena[open_count + arena[place]] == NODE_READY:
            add_item(arena, free, arena[place])
    _issue_free(arena, rates, npu)


@kernel
def end_custom_node(arena: Ints, rates: Floats, npu: int, position: int) -> bool:
    """A node ended: issue its free children. Returns whether the program has ended."""
    custom = arena[npu + NPU_CUSTOM]
    arena[custom + CUSTOM_WORDS + position] = NODE_DONE
    arena[custom + CUSTOM_IN_FLIGHT] -= 1
    program = arena[custom + CUSTOM_PROGRAM]
    start = arena[program + PROGRAM_CHILD_START] + position
    children = arena[program + PROGRAM_CHILDREN]
    for edge in range(children + arena[start], children + arena[start + 1]):
        state = custom + CUSTOM_WORDS + arena[edge]
        arena[state] -= 1
        if arena[state] == NODE_READY:
            add_item(arena, arena[custom + CUSTOM_FREE], arena[edge])
    _issue_free(arena, rates, npu)
    return arena[custom + CUSTOM_IN_FLIGHT] == 0


@kernel
def _issue_free(arena: Ints, rates: Floats, npu: int) -> None:
    free = arena[arena[npu + NPU_CUSTOM] + CUSTOM_FREE]
    while has_items(arena, free):
        _issue(arena, rates, npu, take_first(arena, free))


@kernel
def _issue(arena: Ints, rates: Floats, npu: int, position: int) -> None:
    custom = arena[npu + NPU_CUSTOM]
    arena[custom + CUSTOM_WORDS + position] = NODE_ISSUED
    arena[custom + CUSTOM_IN_FLIGHT] += 1
    program = arena[custom + CUSTOM_PROGRAM]
    node = arena[program + PROGRAM_TABLE] + position * NODE_WORDS
    action, value = arena[node + NODE_HEAD] & ACTION_MASK, arena[node + NODE_VALUE]
    if action != ACTION_SEND and action != ACTION_RECV:
        do_later(arena, npu, value, DO_CUSTOM_DONE, npu, position)
        return
    me, detail = arena[npu + NPU_ID], arena[program + PROGRAM_DETAILS] + value * DETAIL_WORDS
    peer, tag = arena[detail + DETAIL_PEER], arena[detail + DETAIL_TAG]
    size = arena[detail + DETAIL_BYTES]
    if arena[custom + CUSTOM_LIST] != 0:
        peer = listed_id(arena, arena[custom + CUSTOM_LIST], peer)
    if action == ACTION_SEND:
        message = new_message(arena, tag, me, peer, size)
        arena[message + MSG_CALL] = DO_CUSTOM_DONE
        arena[message + MSG_CALL_A] = npu
        arena[message + MSG_CALL_B] = position
        send(arena, rates, message)
    else:
        then = new_event(arena, DO_CUSTOM_DONE, npu, position)
        receive(arena, rates, tag, peer, me, size, then)
