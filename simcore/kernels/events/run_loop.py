"""The loop over events: take the next one and do what it says, until something stops it."""

from simcore.kernels.collectives.records import PEERS_ROTATING, PEERS_TREE
from simcore.kernels.events import layout as f
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.custom import end_custom_node
from simcore.kernels.events.double_tree import go_on_in_tree, receive_in_tree
from simcore.kernels.events.feeder import end_node, start_npu
from simcore.kernels.events.fold.ties import (
    MIXED,
    OWN,
    RECEIVER,
    act_for,
    join_strands,
    note_arrival,
    touch,
)
from simcore.kernels.events.layout import Floats, Ints
from simcore.kernels.events.matching import arrived, double_match_table
from simcore.kernels.events.messages import forward, free_link, launch, post_held
from simcore.kernels.events.remote_memory import serve_next
from simcore.kernels.events.shared_bus import begin_bus_event, bundle_of, end_bus_event
from simcore.kernels.events.stepwise import go_on, receive_step
from simcore.kernels.events.streams import is_last_phase, leave_queue, next_phase, start_waiting
from simcore.kernels.events.structures.arena import new_event, release
from simcore.kernels.events.structures.event_queue import (
    do_later,
    double_heap,
    next_event,
    schedule,
)
from simcore.kernels.events.structures.keyed_fifo import double_fifo_table


@kernel
def run_events(arena: Ints, rates: Floats) -> int:
    """Handle events until the run ENDED or something else stops the kernel.

    That is: the arena is FULL, the OUTBOX_FILLED, the next event lies beyond the horizon, or the
    count of events is where the kernel shall be PAUSED.

    Args:
        arena: (W,) int64, all state; see ``layout``.
        rates: (2 + 2D,) float64, local memory in B/s, bus gap in ns/B, then B/ns and ns of each
            dimension.
    """
    while True:
        if not _make_room(arena):
            return f.FULL
        if arena[f.EVENTS] == arena[f.PAUSE_AT]:
            return f.PAUSED
        event = next_event(arena)
        if event == 0:
            return f.ENDED if arena[f.HEAP_SIZE] == 0 else f.AT_HORIZON
        arena[f.EVENTS] += 1
        kind = arena[event + f.EVENT_KIND]
        if kind == f.DO_ARRIVAL:
            _arrive(arena, rates, event)
        elif kind == f.DO_LINK_FREE:
            free_link(arena, rates, event)
        else:
            a, b = arena[event + f.EVENT_A], arena[event + f.EVENT_B]
            if arena[f.PLACES] != 0:
                _act_as_planned(arena, event, kind, a)
            release(arena, event, f.EVENT_WORDS)
            _handle(arena, rates, kind, a, b)
        if arena[f.OUTBOX_HEAD] != 0:
            return f.OUTBOX_FILLED


@kernel
def _make_room(arena: Ints) -> bool:
    """Give tables and heap room for one more event; False where the arena itself is too small."""
    need = arena[f.NEXT_WORD] + arena[f.RESERVE_WORDS]
    heap_is_low = arena[f.HEAP_SIZE] + arena[f.BURST] > arena[f.HEAP_CAPACITY]
    fifos_are_low = arena[f.FIFO_COUNT] > arena[f.FIFO_CAPACITY]
    matches_are_low = arena[f.MATCH_COUNT] > arena[f.MATCH_CAPACITY]
    if heap_is_low:
        need += 2 * arena[f.HEAP_CAPACITY]
    if fifos_are_low:
        need += 2 * arena[f.FIFO_CAPACITY]
    if matches_are_low:
        need += 2 * arena[f.MATCH_CAPACITY]
    if need > arena.size:
        arena[f.NEEDED_WORDS] = need
        return False
    if heap_is_low:
        double_heap(arena)
    if fifos_are_low:
        double_fifo_table(arena)
    if matches_are_low:
        double_match_table(arena)
    return True


@kernel
def _act_as_planned(arena: Ints, event: int, kind: int, a: int) -> None:
    """An event of an NPU's table, or of an NPU that starts or takes a message that was there."""
    born, cause = arena[event + f.EVENT_BORN], OWN
    table = arena[f.CURRENT_TABLE]
    if table != 0:
        npu = arena[table + f.FIFO_OWNER]
        if arena[table + f.FIFO_MARK] < 0:
            cause = MIXED
        else:
            born = arena[table + f.EVENT_BORN]
    elif kind == f.DO_STEP_RECEIVED:
        npu = arena[a + f.WALK_NPU]
    else:
        npu = a
    act_for(arena, npu, cause, born)


@kernel
def _handle(arena: Ints, rates: Floats, kind: int, a: int, b: int) -> None:
    """Do *kind* with its arguments; arrivals and links are the loop's."""
    if kind == f.DO_STEP_RECEIVED:
        if arena[f.PLACES] != 0:
            if _takes_alike_messages(arena, a):
                join_strands(arena, arena[a + f.WALK_NPU], a + f.WALK_JOINED)
            touch(arena, a + f.WALK_MARK)
        if arena[a + f.WALK_PEERS] == PEERS_TREE:
            receive_in_tree(arena, rates, a)
        else:
            receive_step(arena, rates, a)
    elif kind == f.DO_BUNDLE:
        _end_bundle(arena, rates, a, b)
    elif kind == f.DO_GENERAL:
        _go_on(arena, rates, a)
    elif kind == f.DO_NODE_DONE:
        end_node(arena, rates, a, b)
    elif kind == f.DO_START:
        start_npu(arena, rates, a)
    elif kind == f.DO_CUSTOM_DONE:
        if end_custom_node(arena, rates, a, b):
            _end_phase(arena, rates, arena[arena[a + f.NPU_CUSTOM] + f.CUSTOM_STREAM])
    elif kind == f.DO_POST_HELD:
        post_held(arena, a)
    elif kind == f.DO_LAUNCH:
        launch(arena, rates, a)
    elif kind == f.DO_QUEUE:
        start_waiting(arena, rates, a)
    elif kind == f.DO_SERVER_NEXT:
        serve_next(arena, a)
    else:
        ended = begin_bus_event(arena, rates, kind, a)
        if ended != 0:
            walk, reduce_ns = bundle_of(arena, ended)
            _end_bundle(arena, rates, walk, reduce_ns)
        end_bus_event(arena, rates, kind, a, ended)


@kernel
def _takes_alike_messages(arena: Ints, walk: int) -> bool:
    """True if messages of several members may come at once, and are all handled alike."""
    peers = arena[walk + f.WALK_PEERS]
    if peers == PEERS_TREE:  # from both children; the parent answers to what came from them
        return arena[walk + f.WALK_SECOND_CHILD] >= 0
    return peers == PEERS_ROTATING and arena[walk + f.WALK_PARALLEL] > 1


@kernel
def _arrive(arena: Ints, rates: Floats, message: int) -> None:
    """A message has crossed a link or all: sender's part first, then the receiver's."""
    dst = arena[message + f.MSG_DST]
    if arena[f.BACKEND] == f.AWARE and arena[message + f.MSG_AT] != dst:
        forward(arena, rates, message)
        return
    tag, src, size = (
        arena[message + f.MSG_TAG],
        arena[message + f.MSG_SRC],
        arena[message + f.MSG_BYTES],
    )
    call = arena[message + f.MSG_CALL]
    a, b = arena[message + f.MSG_CALL_A], arena[message + f.MSG_CALL_B]
    stand_in, cause, born = 0, 0, arena[message + f.EVENT_BORN]
    if arena[f.PLACES] != 0:
        stand_in = arena[arena[f.PLACES] + dst]
        aware = arena[f.BACKEND] == f.AWARE
        cause = arena[message + f.MSG_VIA] if aware else arena[message + f.MSG_SENDER]
        if call != 0:
            act_for(arena, a, RECEIVER + dst if aware else OWN, born)
        dst = arena[stand_in + f.NPU_ID]
    release(arena, message, f.MSG_WORDS)
    if call != 0:
        _handle(arena, rates, call, a, b)
    if stand_in != 0:
        act_for(arena, stand_in, cause, born)
    receive = arrived(arena, tag, src, dst, size)
    if receive != 0:
        kind, a, b = (
            arena[receive + f.EVENT_KIND],
            arena[receive + f.EVENT_A],
            arena[receive + f.EVENT_B],
        )
        release(arena, receive, f.EVENT_WORDS)
        _handle(arena, rates, kind, a, b)


@kernel
def _end_bundle(arena: Ints, rates: Floats, walk: int, reduce_ns: int) -> None:
    """A bundle has passed the bus: its reduction follows, or the algorithm goes on."""
    touch(arena, walk + f.WALK_MARK)
    if reduce_ns >= 0:
        do_later(arena, arena[walk + f.WALK_NPU], reduce_ns, f.DO_GENERAL, walk, f.NOTHING)
    else:
        _go_on(arena, rates, walk)


@kernel
def _go_on(arena: Ints, rates: Floats, walk: int) -> None:
    touch(arena, walk + f.WALK_MARK)
    if arena[walk + f.WALK_PEERS] == PEERS_TREE:
        over = go_on_in_tree(arena, rates, walk)
    else:
        over = go_on(arena, rates, walk)
    if over:
        stream = arena[walk + f.WALK_STREAM]
        release(arena, walk, f.WALK_WORDS)
        _end_phase(arena, rates, stream)


@kernel
def _end_phase(arena: Ints, rates: Floats, stream: int) -> None:
    """Tell the node before the queue: its NPU issues new nodes while this stream still runs."""
    if not is_last_phase(arena, stream):
        next_phase(arena, rates, stream)
        return
    collective = arena[stream + f.STREAM_COLLECTIVE]
    touch(arena, arena[stream + f.STREAM_NPU] + f.NPU_FEEDER_MARK)
    arena[collective + f.COLLECTIVE_STREAMS_LEFT] -= 1
    if arena[collective + f.COLLECTIVE_STREAMS_LEFT] == 0:
        position = arena[collective + f.COLLECTIVE_NODE]
        release(arena, collective, f.COLLECTIVE_WORDS)
        end_node(arena, rates, arena[stream + f.STREAM_NPU], position)
    leave_queue(arena, rates, stream)


@kernel
def add_event(arena: Ints, time_ns: int, event: int, number: int) -> None:
    """Schedule the arrival of a message that was carried outside the kernel.

    *number*: of this one among those that the network tells of at once, from 0 on. In which order
    it does may differ among the NPUs of a class.
    """
    if arena[f.PLACES] != 0:
        note_arrival(arena, number)
    schedule(arena, time_ns, event)


@kernel
def schedule_starts(arena: Ints, start_ns: Ints) -> None:
    """Schedule the start of every NPU; (N,) int64 times. There must be room for all of them."""
    for index in range(start_ns.size):
        npu = arena[f.NPU_TABLE] + index * arena[f.NPU_STRIDE]
        schedule(arena, start_ns[index], new_event(arena, f.DO_START, npu, f.NOTHING))
