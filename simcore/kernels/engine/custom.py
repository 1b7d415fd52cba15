"""Collectives given as programs: all free nodes run at once, without slots or local costs.

Source: W. Won et al., "Towards a Standardized Representation for Deep Learning Collective
Algorithms", Hot Interconnects 2024; order of events as in ASTRA-sim 2.0.
"""

from simcore.kernels.engine.arena import new_event
from simcore.kernels.engine.compiled import kernel
from simcore.kernels.engine.event_queue import do_later
from simcore.kernels.engine.layout import (
    ACTION_RECV,
    ACTION_SEND,
    CUSTOM_IN_FLIGHT,
    CUSTOM_LIST,
    CUSTOM_PROGRAM,
    CUSTOM_STREAM,
    CUSTOM_WORDS,
    DO_CUSTOM_DONE,
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
    NODE_OPEN,
    NODE_PEER,
    NODE_READY,
    NODE_TAG,
    NODE_WORDS,
    NPU_CUSTOM,
    NPU_ID,
    PHASE_CUSTOM,
    PHASE_LIST,
    PROGRAM_NODES,
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
    table = arena[program + PROGRAM_TABLE]
    for position in range(arena[program + PROGRAM_NODES]):
        arena[custom + CUSTOM_WORDS + position] = arena[table + position * NODE_WORDS + NODE_OPEN]
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
    for edge in range(arena[node + NODE_CHILDREN], arena[node + NODE_CHILDREN_END]):
        child = arena[edge]
        arena[custom + CUSTOM_WORDS + child] -= 1
        if arena[custom + CUSTOM_WORDS + child] == NODE_READY:
            _issue(arena, rates, npu, child)
    return arena[custom + CUSTOM_IN_FLIGHT] == 0


@kernel
def _issue(arena: Ints, rates: Floats, npu: int, position: int) -> None:
    custom = arena[npu + NPU_CUSTOM]
    arena[custom + CUSTOM_WORDS + position] = NODE_ISSUED
    arena[custom + CUSTOM_IN_FLIGHT] += 1
    table = arena[arena[custom + CUSTOM_PROGRAM] + PROGRAM_TABLE]
    node = table + position * NODE_WORDS
    action, me = arena[node + NODE_ACTION], arena[npu + NPU_ID]
    if action != ACTION_SEND and action != ACTION_RECV:
        duration_ns = arena[node + NODE_DURATION_NS]
        do_later(arena, npu, duration_ns, DO_CUSTOM_DONE, npu, position)
        return
    peer, tag, size = arena[node + NODE_PEER], arena[node + NODE_TAG], arena[node + NODE_BYTES]
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
