"""Ring, direct, halving-doubling and tables of steps: every member runs the same machine.

A member keeps packets in line. Each packet's bundle passes the local bus first; then it is sent,
the receive from the mirrored member is posted, and each message received puts the next packet in
line. Rounds of plain packets and packets that are reduced alternate (ASTRA-sim 2.0).
"""

import numpy as np

from simcore.kernels.collectives import records
from simcore.kernels.collectives.phase_machine import reduction_ns
from simcore.kernels.collectives.step_table import (
    step_bytes,
    step_receiver,
    step_reduces,
    step_sender,
)
from simcore.kernels.events import layout as f
from simcore.kernels.events.bundles import pass_bundle
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.fold.stand_ins import present_to_stand_in
from simcore.kernels.events.layout import Floats, Ints
from simcore.kernels.events.members import listed_id
from simcore.kernels.events.messages import new_message, receive, send
from simcore.kernels.events.structures.arena import new_event

_NEXT = np.int64(1)


@kernel
def begin_steps(arena: Ints, rates: Floats, walk: int) -> None:
    """Set the machine to its start and put the first packets in line."""
    phase = arena[walk + f.WALK_PHASE]
    size = arena[arena[walk + f.WALK_STREAM] + f.STREAM_BYTES]
    arena[walk + f.WALK_PEERS] = arena[phase + f.PHASE_PEERS]
    takes_ns = arena[phase + f.PHASE_TAKES]
    arena[walk + f.WALK_TRAVEL_NS] = takes_ns if takes_ns > 0 else -1
    arena[walk + f.WALK_PARALLEL] = arena[phase + f.PHASE_PARALLEL]
    if _takes_part(arena, walk):
        arena[walk + f.WALK_LEFT] = arena[phase + f.PHASE_STEPS]
    arena[walk + f.WALK_BYTES] = size // arena[phase + f.PHASE_DIVISOR]
    arena[walk + f.WALK_DISTANCE] = arena[phase + f.PHASE_DISTANCE]
    arena[walk + f.WALK_SHRINKS] = arena[phase + f.PHASE_SHRINKS]
    arena[walk + f.WALK_REDUCE_NS] = reduction_ns(
        arena[walk + f.WALK_BYTES], rates[f.MEMORY_BYTES_PER_S]
    )
    rotating = arena[walk + f.WALK_PEERS] == records.PEERS_ROTATING
    if arena[walk + f.WALK_PEERS] == records.PEERS_NEIGHBOUR:
        _meet(arena, walk, _NEXT)
    for _ in range(arena[walk + f.WALK_PARALLEL] if rotating else 1):
        insert(arena, rates, walk)


@kernel
def _takes_part(arena: Ints, walk: int) -> bool:
    """True if the member's line has data to move: it is at place 0 of the dimensions that lead."""
    leads = arena[arena[walk + f.WALK_PHASE] + f.PHASE_LEADS]
    if leads == 0:
        return True
    me = arena[walk + f.WALK_ID]
    for pair in range(leads + 1, leads + 1 + 2 * arena[leads], 2):
        if me // arena[pair] % arena[pair + 1] != 0:
            return False
    return True


@kernel
def insert(arena: Ints, rates: Floats, walk: int) -> None:
    """Put the next packet in line and pass its bundle over the bus."""
    phase = arena[walk + f.WALK_PHASE]
    if arena[walk + f.WALK_PLAIN] == 0 and arena[walk + f.WALK_REDUCED] == 0:
        arena[walk + f.WALK_PLAIN] = arena[walk + f.WALK_PARALLEL]
        arena[walk + f.WALK_REDUCED] = arena[phase + f.PHASE_REDUCED]
        arena[walk + f.WALK_TOGGLE] ^= 1
    plain = arena[walk + f.WALK_PLAIN] > 0
    reduce_ns = f.NOT_REDUCED
    sends_back = f.NO
    if plain:
        arena[walk + f.WALK_PLAIN] -= 1
    else:
        rule = arena[phase + f.PHASE_REDUCE_RULE]
        if rule == records.REDUCE_ALWAYS or (
            rule == records.REDUCE_FIRST_HALF and arena[walk + f.WALK_TOGGLE] == 1
        ):
            reduce_ns = arena[walk + f.WALK_REDUCE_NS]
        sends_back = arena[walk + f.WALK_REDUCED] > arena[walk + f.WALK_PARALLEL]
        arena[walk + f.WALK_REDUCED] -= 1
    if arena[walk + f.WALK_PEERS] == records.PEERS_TABLE and arena[walk + f.WALK_INSERTED] > 0:
        reduce_ns = _table_reduce_ns(arena, rates, walk)
    arena[walk + f.WALK_INSERTED] += 1
    size = arena[walk + f.WALK_BYTES]
    if arena[walk + f.WALK_PEERS] == records.PEERS_HALVING:
        _advance(arena, rates, walk)
    pass_bundle(arena, rates, walk, reduce_ns, size, plain, sends_back)


@kernel
def _table_reduce_ns(arena: Ints, rates: Floats, walk: int) -> int:
    """Time to reduce what arrived in the last step of a table, or that it is not reduced."""
    table, step = (
        arena[arena[walk + f.WALK_PHASE] + f.PHASE_TABLE],
        arena[walk + f.WALK_INSERTED] - 1,
    )
    phase = arena[walk + f.WALK_PHASE]
    index, members = arena[walk + f.WALK_INDEX], arena[phase + f.PHASE_MEMBERS]
    if not step_reduces(arena, table, step) or step_sender(arena, table, step, index, members) < 0:
        return f.NOT_REDUCED
    size = step_bytes(arena, table, step, arena[arena[walk + f.WALK_STREAM] + f.STREAM_BYTES])
    return reduction_ns(size, rates[f.MEMORY_BYTES_PER_S])


@kernel
def _advance(arena: Ints, rates: Floats, walk: int) -> None:
    """Take the packet in line, of which there is one at most; then halve or double."""
    arena[walk + f.WALK_OUT_BYTES] = arena[walk + f.WALK_BYTES]
    arena[walk + f.WALK_OUT_DISTANCE] = arena[walk + f.WALK_DISTANCE]
    if arena[walk + f.WALK_SHRINKS] != 0:
        arena[walk + f.WALK_DISTANCE] *= 2
        arena[walk + f.WALK_BYTES] //= 2
    else:
        arena[walk + f.WALK_DISTANCE] //= 2
        arena[walk + f.WALK_BYTES] *= 2
    phase = arena[walk + f.WALK_PHASE]
    if (
        arena[phase + f.PHASE_REDUCE_RULE] == records.REDUCE_FIRST_HALF
        and arena[walk + f.WALK_DISTANCE] == arena[phase + f.PHASE_MEMBERS]
    ):
        arena[walk + f.WALK_SHRINKS] = 0
        arena[walk + f.WALK_DISTANCE] //= 2
        arena[walk + f.WALK_BYTES] *= 2
    arena[walk + f.WALK_REDUCE_NS] = reduction_ns(
        arena[walk + f.WALK_BYTES], rates[f.MEMORY_BYTES_PER_S]
    )


@kernel
def receive_step(arena: Ints, rates: Floats, walk: int) -> None:
    """A message came: the next packet gets in line, after what switches had to do."""
    if arena[walk + f.WALK_RECEIVED] == 0:
        wait_ns = arena[arena[walk + f.WALK_PHASE] + f.PHASE_WAIT]
        arena[walk + f.WALK_DELAY_NS] += -wait_ns if arena[walk + f.WALK_DELAY_NS] < 0 else wait_ns
    arena[walk + f.WALK_RECEIVED] += 1
    insert(arena, rates, walk)


@kernel
def go_on(arena: Ints, rates: Floats, walk: int) -> bool:
    """A bundle has passed: send what can be sent. Returns whether the phase is over."""
    phase = arena[walk + f.WALK_PHASE]
    arena[walk + f.WALK_FREE] += 1
    tries = 1
    if (
        arena[phase + f.PHASE_WAITS] != 0
        and arena[walk + f.WALK_LEFT] <= arena[phase + f.PHASE_MEMBERS] - 1
    ):
        if arena[walk + f.WALK_RECEIVED] < arena[phase + f.PHASE_MEMBERS] - 1:
            return False
        tries = arena[walk + f.WALK_PARALLEL]
    while tries > 0 and _try_to_send(arena, rates, walk):
        tries -= 1
    return (
        arena[walk + f.WALK_LEFT] == 0
        and arena[walk + f.WALK_FREE] == arena[walk + f.WALK_PARALLEL]
    )


@kernel
def _try_to_send(arena: Ints, rates: Floats, walk: int) -> bool:
    """Send the next packet in line, if there is one and a bundle is free; whether it was."""
    taken = arena[walk + f.WALK_TAKEN]
    if (
        taken == arena[walk + f.WALK_INSERTED]
        or arena[walk + f.WALK_LEFT] == 0
        or arena[walk + f.WALK_FREE] == 0
    ):
        return False
    size = arena[walk + f.WALK_BYTES]
    if arena[walk + f.WALK_PEERS] == records.PEERS_ROTATING:
        members = arena[arena[walk + f.WALK_PHASE] + f.PHASE_MEMBERS]
        _meet(arena, walk, taken % (members - 1) + 1)
    elif arena[walk + f.WALK_PEERS] == records.PEERS_HALVING:
        size = arena[walk + f.WALK_OUT_BYTES]
        _meet_pair(arena, walk)
    elif arena[walk + f.WALK_PEERS] == records.PEERS_TABLE:
        size = _meet_in_table(arena, walk)
        if size < 0:
            return False
        taken = arena[walk + f.WALK_TAKEN]
    me, tag = arena[walk + f.WALK_ID], arena[walk + f.WALK_TAG]
    arena[walk + f.WALK_TAKEN] = taken + 1
    arena[walk + f.WALK_LEFT] -= 1
    arena[walk + f.WALK_FREE] -= 1
    sender = arena[walk + f.WALK_FROM]
    if arena[walk + f.WALK_TO] >= 0:
        message = new_message(arena, tag, me, arena[walk + f.WALK_TO], size)
        arena[message + f.MSG_TRAVEL_NS] = arena[walk + f.WALK_TRAVEL_NS]
        if sender < 0:  # goes on when its packet is there
            arena[message + f.MSG_CALL] = f.DO_STEP_RECEIVED
            arena[message + f.MSG_CALL_A] = walk
            arena[message + f.MSG_CALL_B] = 0
        if arena[f.PLACES] != 0:
            present_to_stand_in(arena, rates, walk, message)
        send(arena, rates, message)
        if arena[walk + f.WALK_PEERS] == records.PEERS_NEIGHBOUR and arena[f.BACKEND] == f.UNAWARE:
            arena[walk + f.WALK_TRAVEL_NS] = arena[message + f.MSG_TRAVEL_NS]
    if sender >= 0:
        then = new_event(arena, f.DO_STEP_RECEIVED, walk, f.NOTHING)
        receive(arena, rates, tag, sender, me, size, then)
    return True


@kernel
def _meet(arena: Ints, walk: int, distance: int) -> None:
    """Send *distance* members ahead in the phase's direction, receive from as many behind."""
    ahead = -distance if arena[walk + f.WALK_BACKWARDS] != 0 else distance
    arena[walk + f.WALK_AHEAD] = ahead
    arena[walk + f.WALK_TO] = member_id(arena, walk, ahead)
    arena[walk + f.WALK_FROM] = member_id(arena, walk, -ahead)


@kernel
def _meet_pair(arena: Ints, walk: int) -> None:
    """Exchange with the member at the packet's distance: ahead or behind, pair by pair."""
    distance = arena[walk + f.WALK_OUT_DISTANCE]
    ahead = distance
    if distance > 0 and arena[walk + f.WALK_INDEX] // distance % 2 == 1:
        ahead = -distance
    arena[walk + f.WALK_AHEAD] = ahead
    arena[walk + f.WALK_TO] = member_id(arena, walk, ahead)
    arena[walk + f.WALK_FROM] = arena[walk + f.WALK_TO]


@kernel
def _meet_in_table(arena: Ints, walk: int) -> int:
    """Send to whom the table's next step names, receive from who names this one; its bytes.

    Steps in which the member does neither are passed; below 0: it does nothing in all that are
    left.
    """
    phase, index = arena[walk + f.WALK_PHASE], arena[walk + f.WALK_INDEX]
    table, members = arena[phase + f.PHASE_TABLE], arena[phase + f.PHASE_MEMBERS]
    while arena[walk + f.WALK_LEFT] > 0:
        step = arena[walk + f.WALK_TAKEN]
        receiver = step_receiver(arena, table, step, index, members)
        sender = step_sender(arena, table, step, index, members)
        if receiver >= 0 or sender >= 0:
            arena[walk + f.WALK_TO], arena[walk + f.WALK_FROM] = -1, -1
            if receiver >= 0:
                arena[walk + f.WALK_AHEAD] = (receiver - index) % members
                arena[walk + f.WALK_TO] = member_id(arena, walk, receiver - index)
            if sender >= 0:
                arena[walk + f.WALK_FROM] = member_id(arena, walk, sender - index)
            size = arena[arena[walk + f.WALK_STREAM] + f.STREAM_BYTES]
            return step_bytes(arena, table, step, size)
        arena[walk + f.WALK_TAKEN] += 1
        arena[walk + f.WALK_INSERTED] += 1
        arena[walk + f.WALK_LEFT] -= 1
    return -1


@kernel
def member_id(arena: Ints, walk: int, ahead: int) -> int:
    """NPU id of the member *ahead* positions further, wrapping round."""
    phase = arena[walk + f.WALK_PHASE]
    index = arena[walk + f.WALK_INDEX]
    place = (index + ahead) % arena[phase + f.PHASE_MEMBERS]
    if arena[phase + f.PHASE_LIST] != 0:
        return listed_id(arena, arena[phase + f.PHASE_LIST], place)
    return arena[walk + f.WALK_ID] + (place - index) * arena[phase + f.PHASE_STRIDE]
