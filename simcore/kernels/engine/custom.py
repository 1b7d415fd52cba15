"""Collectives given as programs: all free nodes run at once, without slots or local costs.

Source: W. Won et al., "Towards a Standardized Representation for Deep Learning Collective
Algorithms", Hot Interconnects 2024; order of events as in ASTRA-sim 2.0.
"""

from simcore.kernels.engine.arena import new_event
from simcore.kernels.engine.compiled import kernel
from simcore.kernels.engine.event_queue import do_later
from simcore.kernels.engine.layout import (
    ACTION_MASK,
    ACTION_RECV,
    ACTION_SEND,
    CHILDREN_SHIFT,
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
    ONLY_CHILD,
    PHASE_CUSTOM,
    PHASE_LIST,
    PROGRAM_DETAILS,
    PROGRAM_NODES,
    PROGRAM_OPEN,
    PROGRAM_TABLE,
    Floats,
    Ints,
)
from simcore.kernels.engine.members import listed_id, sorted_place
from simcore.kernels.engine.messages import new_message, receive, send


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
    open_count = arena[program + PROGRAM_OPEN]
    for position in range(arena[program + PROGRAM_NODES]):
        arena[custom + CUSTOM_WORDS + position] = arena[open_count + position]
    for position in range(arena[program + PROGRAM_NODES]):
        if arena[custom + CUSTOM_WORDS + position] == NODE_READY:
            _issue(arena, rates, npu, position)


@kernel
def end_custom_node(arena: Ints, rates: Floats, npu: int, position: int) -> bool:
    """A node ended: issue its free children. Returns whether the program has ended."""
    custom = arena[npu + NPU_CUSTOM]
    arena[custom + CUSTOM_WORDS + position] = NODE_DONE
    arena[custom + CUSTOM_IN_FLIGHT] -= 1
    table = arena[arena[custom + CUSTOM_PROGRAM] + PROGRAM_TABLE]
    node = table + position * NODE_WORDS
    head = arena[node + NODE_HEAD]
    children = head >> CHILDREN_SHIFT
    if head & ONLY_CHILD:
        _parent_ended(arena, rates, npu, children)
    elif children != 0:
        for edge in range(children + 1, children + 1 + arena[children]):
            _parent_ended(arena, rates, npu, arena[edge])
    return arena[custom + CUSTOM_IN_FLIGHT] == 0


@kernel
def _parent_ended(arena: Ints, rates: Floats, npu: int, child: int) -> None:
    state = arena[npu + NPU_CUSTOM] + CUSTOM_WORDS + child
    arena[state] -= 1
    if arena[state] == NODE_READY:
        _issue(arena, rates, npu, child)


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
