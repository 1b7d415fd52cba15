"""Collectives given as programs: all free nodes run at once, without slots or local costs.

Source: W. Won et al., "Towards a Standardized Representation for Deep Learning Collective
Algorithms", Hot Interconnects 2024; order of events as in ASTRA-sim 2.0, which keeps the free nodes
in a hash set (``hashed_set``).
"""

from simcore.kernels.events import layout as f
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.layout import Floats, Ints
from simcore.kernels.events.members import listed_id, sorted_place
from simcore.kernels.events.messages import new_message, receive, send
from simcore.kernels.events.structures.arena import new_event
from simcore.kernels.events.structures.event_queue import do_later
from simcore.kernels.events.structures.hashed_set import add_item, begin_set, has_items, take_first


@kernel
def begin_custom(arena: Ints, rates: Floats, npu: int, stream: int, phase: int) -> None:
    """Start the program of this NPU: by its id, or its position in the sorted group."""
    ids = arena[phase + f.PHASE_LIST]
    place = arena[npu + f.NPU_ID]
    if ids != 0:
        place = sorted_place(arena, phase, place)
    custom = arena[npu + f.NPU_CUSTOM]
    program = arena[arena[phase + f.PHASE_CUSTOM] + place]
    arena[custom + f.CUSTOM_STREAM] = stream
    arena[custom + f.CUSTOM_PROGRAM] = program
    arena[custom + f.CUSTOM_LIST] = ids
    arena[custom + f.CUSTOM_IN_FLIGHT] = 0
    nodes, open_count = arena[program + f.PROGRAM_NODES], arena[program + f.PROGRAM_OPEN]
    free = custom + f.CUSTOM_WORDS + nodes
    arena[custom + f.CUSTOM_FREE] = free
    begin_set(arena, free, nodes, arena[program + f.PROGRAM_KEYS], 1)
    for position in range(nodes):
        arena[custom + f.CUSTOM_WORDS + position] = arena[open_count + position]
    order = arena[program + f.PROGRAM_ORDER]
    for place in range(order, order + nodes):
        if arena[open_count + arena[place]] == f.NODE_READY:
            add_item(arena, free, arena[place])
    _issue_free(arena, rates, npu)


@kernel
def end_custom_node(arena: Ints, rates: Floats, npu: int, position: int) -> bool:
    """A node ended: issue its free children. Returns whether the program has ended."""
    custom = arena[npu + f.NPU_CUSTOM]
    arena[custom + f.CUSTOM_WORDS + position] = f.NODE_DONE
    arena[custom + f.CUSTOM_IN_FLIGHT] -= 1
    program = arena[custom + f.CUSTOM_PROGRAM]
    start = arena[program + f.PROGRAM_CHILD_START] + position
    children = arena[program + f.PROGRAM_CHILDREN]
    for edge in range(children + arena[start], children + arena[start + 1]):
        state = custom + f.CUSTOM_WORDS + arena[edge]
        arena[state] -= 1
        if arena[state] == f.NODE_READY:
            add_item(arena, arena[custom + f.CUSTOM_FREE], arena[edge])
    _issue_free(arena, rates, npu)
    return arena[custom + f.CUSTOM_IN_FLIGHT] == 0


@kernel
def _issue_free(arena: Ints, rates: Floats, npu: int) -> None:
    free = arena[arena[npu + f.NPU_CUSTOM] + f.CUSTOM_FREE]
    while has_items(arena, free):
        _issue(arena, rates, npu, take_first(arena, free))


@kernel
def _issue(arena: Ints, rates: Floats, npu: int, position: int) -> None:
    custom = arena[npu + f.NPU_CUSTOM]
    arena[custom + f.CUSTOM_WORDS + position] = f.NODE_ISSUED
    arena[custom + f.CUSTOM_IN_FLIGHT] += 1
    program = arena[custom + f.CUSTOM_PROGRAM]
    node = arena[program + f.PROGRAM_TABLE] + position * f.NODE_WORDS
    action, value = arena[node + f.NODE_HEAD] & f.ACTION_MASK, arena[node + f.NODE_VALUE]
    if action != f.ACTION_SEND and action != f.ACTION_RECV:
        do_later(arena, npu, value, f.DO_CUSTOM_DONE, npu, position)
        return
    me, detail = arena[npu + f.NPU_ID], arena[program + f.PROGRAM_DETAILS] + value * f.DETAIL_WORDS
    peer, tag = arena[detail + f.DETAIL_PEER], arena[detail + f.DETAIL_TAG]
    size = arena[detail + f.DETAIL_BYTES]
    if arena[custom + f.CUSTOM_LIST] != 0:
        peer = listed_id(arena, arena[custom + f.CUSTOM_LIST], peer)
    if action == f.ACTION_SEND:
        message = new_message(arena, tag, me, peer, size)
        arena[message + f.MSG_CALL] = f.DO_CUSTOM_DONE
        arena[message + f.MSG_CALL_A] = npu
        arena[message + f.MSG_CALL_B] = position
        send(arena, rates, message)
    else:
        then = new_event(arena, f.DO_CUSTOM_DONE, npu, position)
        receive(arena, rates, tag, peer, me, size, then)
