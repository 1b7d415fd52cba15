"""Messages on the network: who carries them, and how long it takes.

* unaware: a message takes hops x latency plus bytes / bandwidth of the lowest dimension in which
  the two coordinates differ; messages never meet.
* aware: dimension by dimension, link by link; store and forward, one message at a time per link.
* outside: messages are handed to a network that is not part of the kernel, but for those among
  NPUs that it leaves out, which go unaware.

Source: ASTRA-sim 2.0's analytical network backends.
"""

import numpy as np

from simcore.kernels.collectives.hops import hops_by_rule
from simcore.kernels.collectives.phase_machine import message_ns
from simcore.kernels.collectives.topology_codes import RING, SWITCH, TABLE
from simcore.kernels.events import layout as f
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.fold.ties import OWN, RING_STEP, act_for, touch
from simcore.kernels.events.layout import Floats, Ints
from simcore.kernels.events.matching import post_receive
from simcore.kernels.events.structures.arena import allocate, new_event, release
from simcore.kernels.events.structures.event_queue import schedule
from simcore.kernels.events.structures.keyed_fifo import append, drop_fifo, find_fifo, new_fifo, pop

CONTROL_BYTES = np.int64(8192)
CONTROL_TAG = 1 << 61
_FORWARD, _BACKWARD, _UP, _DOWN, _DIRECT = 0, 1, 2, 3, 4


@kernel
def new_message(arena: Ints, tag: int, src: int, dst: int, size: int) -> int:
    """A message that does nothing to its sender when it arrives."""
    message = allocate(arena, f.MSG_WORDS)
    arena[message + f.EVENT_KIND] = f.DO_ARRIVAL
    arena[message + f.MSG_TAG] = tag
    arena[message + f.MSG_SRC] = src
    arena[message + f.MSG_DST] = dst
    arena[message + f.MSG_BYTES] = size
    arena[message + f.MSG_CALL] = f.DO_NOTHING
    arena[message + f.MSG_AT] = src
    arena[message + f.MSG_IN_SWITCH] = 0
    arena[message + f.MSG_TRAVEL_NS] = -1
    return message


@kernel
def present_as(
    arena: Ints, rates: Floats, npu: int, message: int, tag: int, src: int, sender: int
) -> None:
    """Let *message* of *npu* look as the stand-in of its receiver awaits it.

    Every NPU that *npu* stands for sends one like it, of which one goes to that stand-in.
    """
    if arena[f.BACKEND] == f.UNAWARE and arena[message + f.MSG_TRAVEL_NS] < 0:
        arena[message + f.MSG_TRAVEL_NS] = idle_network_ns(arena, rates, message)
    arena[message + f.MSG_TAG] = tag
    arena[message + f.MSG_SRC] = src
    arena[message + f.MSG_SENDER] = sender
    others = arena[npu + f.NPU_ALIKE] - 1
    arena[f.SENT_MESSAGES] += others
    arena[f.SENT_BYTES] += others * arena[message + f.MSG_BYTES]


@kernel
def send(arena: Ints, rates: Floats, message: int) -> None:
    """Send *message*, after the receiver's leave where rendezvous is on."""
    if arena[f.RENDEZVOUS] == 0:
        launch(arena, rates, message)
        return
    post_receive(
        arena,
        arena[message + f.MSG_TAG] + CONTROL_TAG,
        arena[message + f.MSG_DST],
        arena[message + f.MSG_SRC],
        CONTROL_BYTES,
        new_event(arena, f.DO_LAUNCH, message, f.NOTHING),
    )


@kernel
def receive(arena: Ints, rates: Floats, tag: int, src: int, dst: int, size: int, call: int) -> None:
    """Run the event *call* when the message is there; rendezvous first gives leave to send."""
    if arena[f.RENDEZVOUS] == 0:
        post_receive(arena, tag, src, dst, size, call)
        return
    held = allocate(arena, f.HELD_WORDS)
    arena[held + f.HELD_TAG] = tag
    arena[held + f.HELD_SRC] = src
    arena[held + f.HELD_DST] = dst
    arena[held + f.HELD_BYTES] = size
    arena[held + f.HELD_CALL] = call
    leave = new_message(arena, tag + CONTROL_TAG, dst, src, CONTROL_BYTES)
    arena[leave + f.MSG_CALL] = f.DO_POST_HELD
    arena[leave + f.MSG_CALL_A] = held
    arena[leave + f.MSG_CALL_B] = 0
    launch(arena, rates, leave)


@kernel
def post_held(arena: Ints, held: int) -> None:
    """Post the receive that rendezvous held back."""
    post_receive(
        arena,
        arena[held + f.HELD_TAG],
        arena[held + f.HELD_SRC],
        arena[held + f.HELD_DST],
        arena[held + f.HELD_BYTES],
        arena[held + f.HELD_CALL],
    )
    release(arena, held, f.HELD_WORDS)


@kernel
def launch(arena: Ints, rates: Floats, message: int) -> None:
    """Start the transfer of *message* now."""
    arena[f.SENT_MESSAGES] += 1
    arena[f.SENT_BYTES] += arena[message + f.MSG_BYTES]
    if arena[message + f.MSG_BYTES] == 0:
        arena[f.EMPTY_MESSAGES] = 1
    travel_ns = arena[message + f.MSG_TRAVEL_NS]
    if arena[f.BACKEND] == f.UNAWARE or _stays_inside(arena, message):
        if travel_ns < 0:
            travel_ns = idle_network_ns(arena, rates, message)
            arena[message + f.MSG_TRAVEL_NS] = travel_ns
        schedule(arena, arena[f.NOW_NS] + travel_ns, message)
    elif arena[f.BACKEND] == f.AWARE and travel_ns < 0:
        forward(arena, rates, message)
    elif arena[f.BACKEND] == f.AWARE:
        arena[message + f.MSG_AT] = arena[message + f.MSG_DST]
        schedule(arena, arena[f.NOW_NS] + travel_ns, message)
    else:
        arena[message + f.EVENT_NEXT] = 0
        if arena[f.OUTBOX_HEAD] == 0:
            arena[f.OUTBOX_HEAD] = message
        else:
            arena[arena[f.OUTBOX_TAIL] + f.EVENT_NEXT] = message
        arena[f.OUTBOX_TAIL] = message


@kernel
def _stays_inside(arena: Ints, message: int) -> bool:
    """True if a message stays among NPUs whose network no other one looks at."""
    npus = arena[f.NPUS_INSIDE]
    if npus == 0:
        return False
    return arena[message + f.MSG_SRC] // npus == arena[message + f.MSG_DST] // npus


@kernel
def idle_network_ns(arena: Ints, rates: Floats, message: int) -> int:
    """Time over the lowest dimension in which sender and receiver differ; 0 to oneself."""
    a, b = arena[message + f.MSG_SRC], arena[message + f.MSG_DST]
    for d in range(arena[f.DIMENSIONS]):
        dimension = arena[f.DIMENSION_TABLE] + d * f.DIM_WORDS
        npus = arena[dimension + f.DIM_NPUS]
        x, y = a % npus, b % npus
        if x != y:
            hops = _hops(arena, dimension, x, y)
            rate = rates[f.FIRST_DIMENSION + 2 * d]
            latency_ns = rates[f.FIRST_DIMENSION + 2 * d + 1]
            return message_ns(hops, latency_ns, arena[message + f.MSG_BYTES], rate)
        a //= npus
        b //= npus
    return 0


@kernel
def _hops(arena: Ints, dimension: int, x: int, y: int) -> int:
    """Links between two coordinates of a *dimension*."""
    topology, npus = arena[dimension + f.DIM_TOPOLOGY], arena[dimension + f.DIM_NPUS]
    if topology == TABLE:
        return int(arena[arena[dimension + f.DIM_HOPS] + x * npus + y])
    return hops_by_rule(topology, npus, x, y)


@kernel
def forward(arena: Ints, rates: Floats, message: int) -> None:
    """Put *message* on its next link: towards its receiver, lowest dimension first."""
    at, dst = arena[message + f.MSG_AT], arena[message + f.MSG_DST]
    below = 1  # NPUs in one step of the dimension's coordinate
    for d in range(arena[f.DIMENSIONS]):
        npus = arena[arena[f.DIMENSION_TABLE] + d * f.DIM_WORDS + f.DIM_NPUS]
        x, y = at // below % npus, dst // below % npus
        if x != y:
            _take_link(arena, rates, message, d, x, y)
            return
        below *= npus
    schedule(arena, arena[f.NOW_NS], message)  # to oneself: arrives at once


@kernel
def _take_link(arena: Ints, rates: Floats, message: int, d: int, x: int, y: int) -> None:
    """Queue for the link that leads from coordinate *x* towards *y* in dimension *d*."""
    dimension = arena[f.DIMENSION_TABLE] + d * f.DIM_WORDS
    npus, topology = arena[dimension + f.DIM_NPUS], arena[dimension + f.DIM_TOPOLOGY]
    npu = arena[message + f.MSG_AT]
    if topology == TABLE:
        switch = arena[message + f.MSG_IN_SWITCH]
        node = x if switch == 0 else npus + switch - 1
        follows = arena[arena[dimension + f.DIM_ROUTES] + node * npus + y]
        port = _DIRECT + node * arena[dimension + f.DIM_NODES] + follows
        if switch != 0:  # its links are kept with the first NPU of the dimension
            npu -= x * _below(arena, d)
    elif topology == RING:
        forwards = (y - x) % npus
        port = _BACKWARD if npus - forwards < forwards else _FORWARD
    elif topology == SWITCH:
        port = _UP
        if arena[message + f.MSG_IN_SWITCH] != 0:
            port = _DOWN
            npu += (y - x) * _below(arena, d)
    else:
        port = _DIRECT + y
    if arena[f.PLACES] != 0:
        stand_in = arena[arena[f.PLACES] + npu]
        npu = arena[stand_in + f.NPU_ID]
        if arena[message + f.MSG_VIA] >= 0:
            act_for(arena, stand_in, arena[message + f.MSG_VIA], arena[message + f.EVENT_BORN])
    key = npu * arena[f.DIMENSIONS] + d
    link = find_fifo(arena, key, f.LINK_OWNER - port)
    if link == 0:
        link = new_fifo(arena, key, f.LINK_OWNER - port)
        arena[link + f.EVENT_KIND] = f.DO_NOTHING
    touch(arena, link + f.FIFO_MARK)
    if arena[link + f.EVENT_KIND] == f.DO_LINK_FREE:
        append(arena, link, message)
        return
    arena[link + f.EVENT_KIND] = f.DO_LINK_FREE
    _start_transfer(arena, rates, link, message)


@kernel
def _below(arena: Ints, d: int) -> int:
    below = 1
    for lower in range(d):
        below *= arena[arena[f.DIMENSION_TABLE] + lower * f.DIM_WORDS + f.DIM_NPUS]
    return below


@kernel
def _start_transfer(arena: Ints, rates: Floats, link: int, message: int) -> None:
    """Send *message* over a link that is free now: its arrival first, then the free link."""
    d = arena[link + f.FIFO_KEY] % arena[f.DIMENSIONS]
    port = f.LINK_OWNER - arena[link + f.FIFO_OWNER]
    dimension = arena[f.DIMENSION_TABLE] + d * f.DIM_WORDS
    npus = arena[dimension + f.DIM_NPUS]
    below = _below(arena, d)
    at, in_switch = arena[message + f.MSG_AT], 1 if port == _UP else 0
    x, y = at // below % npus, arena[message + f.MSG_DST] // below % npus
    if port == _FORWARD:
        y = (x + 1) % npus
    elif port == _BACKWARD:
        y = (x - 1) % npus
    elif port == _UP:
        y = x
    elif arena[dimension + f.DIM_TOPOLOGY] == TABLE:
        follows = (port - _DIRECT) % arena[dimension + f.DIM_NODES]
        y = follows if follows < npus else x
        in_switch = max(follows - npus + 1, 0)
    if port <= _BACKWARD:
        arena[message + f.MSG_VIA] = RING_STEP + 2 * d + port
    else:
        arena[message + f.MSG_VIA] = OWN if port == _DOWN else arena[message + f.MSG_SENDER]
    arena[message + f.MSG_IN_SWITCH] = in_switch
    arena[message + f.MSG_AT] = at + (y - x) * below
    rate, latency_ns = rates[f.FIRST_DIMENSION + 2 * d], rates[f.FIRST_DIMENSION + 2 * d + 1]
    size = arena[message + f.MSG_BYTES]
    schedule(arena, arena[f.NOW_NS] + message_ns(1, latency_ns, size, rate), message)
    schedule(arena, arena[f.NOW_NS] + message_ns(0, latency_ns, size, rate), link)


@kernel
def free_link(arena: Ints, rates: Floats, link: int) -> None:
    """Start the next message that waits for *link*, or let the link go."""
    if arena[f.PLACES] != 0:
        npu = arena[arena[f.PLACES] + arena[link + f.FIFO_KEY] // arena[f.DIMENSIONS]]
        act_for(arena, npu, OWN, arena[link + f.EVENT_BORN])
        touch(arena, link + f.FIFO_MARK)
    message = pop(arena, link)
    if message != 0:
        _start_transfer(arena, rates, link, message)
    elif arena[f.PLACES] != 0:  # its mark may be needed
        arena[link + f.EVENT_KIND] = f.DO_NOTHING
    else:
        drop_fifo(arena, link)
