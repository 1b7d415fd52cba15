"""The loop over events: take the next one and do what it says, until something stops it."""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.controls.table import on_timer
from simcore.kernels.packets.credits import return_credit, take_credit
from simcore.kernels.packets.event_wheel import (
    ENTRY_WORDS,
    SPAN_NS,
    double_heap,
    enter_group,
    has_more_now,
    next_event,
    next_time_ns,
    schedule,
)
from simcore.kernels.packets.host import (
    call_flow,
    receive_ack,
    relay,
    send_from_host,
    start_flow,
)
from simcore.kernels.packets.layout import Floats, Ints
from simcore.kernels.packets.links import change_link
from simcore.kernels.packets.receiving import receive_data
from simcore.kernels.packets.records import (
    is_lost,
    new_event,
    note,
    release_event,
    release_packet,
)
from simcore.kernels.packets.recovery import retries
from simcore.kernels.packets.switch import arrive_at_switch, send_from_switch
from simcore.kernels.packets.ways.paths import choose_paths


@kernel
def call_flows(arena: Ints) -> None:
    """Schedule the start of every flow that waits for no other, in the order of the list."""
    for number in range(arena[f.QP_COUNT]):
        qp = arena[f.QPS] + number * f.Q_WORDS
        if arena[qp + f.Q_WAITS_FOR] == 0:
            call_flow(arena, qp, arena[qp + f.Q_DELAY_NS])


@kernel
def plan_sample(arena: Ints, at_ns: int) -> None:
    """Let the kernel come back at a time; in a run, only after it has come back for a sample."""
    schedule(arena, at_ns, new_event(arena, f.SAMPLE, 0, 0))


@kernel
def run_packets(arena: Ints, reals: Floats, trace: Ints) -> int:
    """Handle events until every flow has ENDED or something else stops the kernel.

    That is: the run is STUCK, for nothing to come can move a packet; the arena is FULL, or the
    trace; or it is PAUSED for a moment, after very many events, or for a sample; or the network
    REROUTES, for links have changed.

    Args:
        arena: (W,) int64, all state; see ``layout``.
        reals: (W,) float64, the same memory.
        trace: (8 T,) int64, rows of the trace.
    """
    until = arena[f.EVENTS] + f.STRETCH
    while arena[f.FLOWS_LEFT] > 0:
        if arena[f.EVENTS] == until:
            return f.PAUSED
        if not _make_room(arena):
            return f.FULL
        if arena[f.TRACING] != 0 and f.TRACE_WORDS * (arena[f.TRACE_ROWS] + 1) > trace.size:
            return f.TRACE_FULL
        if arena[f.LIVE] == 0:
            return f.STUCK
        event = next_event(arena)
        arena[f.EVENTS] += 1
        kind = arena[event + f.E_KIND] & f.KIND_MASK
        if kind == f.SAMPLE:
            arena[f.EVENTS] -= 1
            release_event(arena, event)
            return f.SAMPLED
        if kind == f.REROUTE:
            release_event(arena, event)
            return f.REROUTES
        _carry_out(arena, reals, trace, kind, event)
    return f.ENDED


@kernel
def run_until(arena: Ints, reals: Floats, until_ns: int) -> int:
    """Handle events up to and including a time; ENDED then, or why it stopped before.

    It has ENDED as well after the events of the first ns in which flows end, which are listed from
    ``ENDED_FIRST`` on, and where nothing to come can move a packet. ``NEXT_NS`` then holds the time
    of the next event that can, or -1.

    Args:
        arena: (W,) int64, all state; see ``layout``.
        reals: (W,) float64, the same memory.
        until_ns: The time.
    """
    until = arena[f.EVENTS] + f.STRETCH
    while arena[f.LIVE] > 0:
        if not has_more_now(arena):
            if arena[f.ENDED_FIRST] != 0:
                break
            if arena[f.NEARS_DRAW] & arena[f.STANDS_FOR_OTHERS] != 0:
                return f.UNFOLDS
            next_ns = next_time_ns(arena)
            if next_ns < 0 or next_ns > until_ns:
                break
        if arena[f.EVENTS] == until:
            return f.PAUSED
        if not _make_room(arena):
            return f.FULL
        event = next_event(arena)
        arena[f.EVENTS] += 1
        kind = arena[event + f.E_KIND] & f.KIND_MASK
        if kind == f.REROUTE:
            release_event(arena, event)
            return f.REROUTES
        enter_group(arena, event)
        _carry_out(arena, reals, arena, kind, event)
    arena[f.NEXT_NS] = next_time_ns(arena) if arena[f.LIVE] > 0 else -1
    return f.ENDED


@kernel
def _carry_out(arena: Ints, reals: Floats, trace: Ints, kind: int, event: int) -> None:
    if kind == f.ARRIVAL:
        arena[f.LIVE] -= 1
        _arrive(arena, reals, trace, event)
    elif kind == f.PORT_FREE:
        arena[f.LIVE] -= 1
        arena[event + f.PORT_BUSY] = 0
        _send(arena, reals, event)
    else:
        _handle(arena, reals, kind, event)


@kernel
def _make_room(arena: Ints) -> bool:
    """Give the heap room for what one event adds; False where the arena itself is too small."""
    need = arena[f.NEXT_WORD] + arena[f.RESERVE_WORDS]
    heap_is_low = 4 * (arena[f.HEAP_CAPACITY] - arena[f.HEAP_SIZE]) < arena[f.RESERVE_WORDS]
    if heap_is_low:
        need += 6 * arena[f.HEAP_CAPACITY]
    if need > arena.size:
        arena[f.NEEDED_WORDS] = need
        return False
    if heap_is_low:
        double_heap(arena)
    return True


@kernel
def _handle(arena: Ints, reals: Floats, kind: int, event: int) -> None:
    """Carry out an event that is no packet and no port."""
    if kind >= f.TIMER:
        qp, valid = arena[event + f.E_A], arena[event + f.E_B]
        release_event(arena, event)
        if arena[qp + f.Q_FINISH_NS] < 0:
            on_timer(arena, reals, qp, kind - f.TIMER, valid)
        return
    if kind == f.LINK_CHANGE:
        port, rate = arena[event + f.E_A], arena[event + f.E_B]
        release_event(arena, event)
        change_link(arena, port, rate)
        change_link(arena, arena[port + f.PORT_PEER], rate)
        _send_at_both_ends(arena, reals, port)
        return
    arena[f.LIVE] -= 1
    if kind == f.WAKE:
        port, valid = arena[event + f.E_A], arena[event + f.E_B]
        release_event(arena, event)
        if arena[port + f.PORT_WAKE] == valid:
            arena[port + f.PORT_WAKE_NS] = -1
            send_from_host(arena, port)
    elif kind == f.CREDIT:
        port = arena[event + f.E_A]
        take_credit(arena, port, arena[event + f.E_B])
        release_event(arena, event)
        if arena[port + f.PORT_BUSY] == 0:
            _send(arena, reals, port)
    elif kind == f.RETRY:
        qp = arena[event + f.E_A]
        release_event(arena, event)
        if retries(arena, reals, qp):
            send_from_host(arena, arena[qp + f.Q_PORT])
    elif kind == f.FLOW_CALLED:  # two more events without delay, as the reference starts flows
        arena[event + f.Q_START_NS] = arena[f.NOW_NS]
        choose_paths(arena, event)
        _go_on(arena, event, f.FLOW_CREATED)
    elif kind == f.FLOW_CREATED:
        _go_on(arena, event, f.FLOW_STARTED)
    else:
        start_flow(arena, reals, event)


@kernel
def _go_on(arena: Ints, qp: int, kind: int) -> None:
    arena[qp + f.E_KIND] = kind
    arena[f.LIVE] += 1
    schedule(arena, arena[f.NOW_NS], qp)


@kernel
def _send(arena: Ints, reals: Floats, port: int) -> None:
    if arena[arena[port + f.PORT_NODE] + f.NODE_IS_SWITCH] != 0:
        send_from_switch(arena, reals, port)
    else:
        send_from_host(arena, port)


@kernel
def _send_at_both_ends(arena: Ints, reals: Floats, port: int) -> None:
    for end in (port, arena[port + f.PORT_PEER]):
        if arena[end + f.PORT_BUSY] == 0:
            _send(arena, reals, end)


@kernel
def _arrive(arena: Ints, reals: Floats, trace: Ints, packet: int) -> None:
    """A packet's last bit has come over a link."""
    port = arena[packet + f.P_PORT]
    if is_lost(arena, reals, port):
        arena[f.LOST_PACKETS] += 1
        if arena[f.CREDITS] != 0:  # counted in blocks since the link began, lost ones among them
            return_credit(arena, port, arena[packet + f.P_QP], arena[packet + f.P_BYTES])
        release_packet(arena, packet)
        return
    node, kind = arena[port + f.PORT_NODE], arena[packet + f.P_TYPE]
    if kind != f.PFC and arena[node + f.NODE_IS_SWITCH] != 0:
        arrive_at_switch(arena, reals, port, packet)
        return
    if arena[f.TRAIN] > 1 and arena[packet + f.P_TAIL_NS] > arena[f.NOW_NS]:
        is_there = arena[f.WAYS_TOLD] == 0 or kind == f.PFC or arena[arena[packet + f.P_HOP]] == 0
        if is_there:  # its last packet is still to come
            arena[f.LIVE] += 1
            schedule(arena, arena[packet + f.P_TAIL_NS], packet)
            return
    if arena[f.CREDITS] != 0:  # hosts have room for all that comes
        return_credit(arena, port, arena[packet + f.P_QP], arena[packet + f.P_BYTES])
    if arena[f.WAYS_TOLD] != 0 and kind != f.PFC and arena[arena[packet + f.P_HOP]] != 0:
        relay(arena, packet)
        return
    arena[f.TAKEN_PACKETS] += 1
    qp = arena[packet + f.P_QP]
    if arena[f.TRACING] != 0 and arena[node + f.NODE_IS_SWITCH] == 0:
        known = kind == f.ACK or kind == f.NACK or kind == f.CNP
        note(arena, trace, node, packet, arena[qp + f.Q_RATE] if known else 0)
    if kind == f.DATA:
        if receive_data(arena, qp, packet):
            send_from_host(arena, arena[qp + f.Q_RECEIVER])
    elif kind == f.PFC:
        _heed_pfc(arena, reals, port, packet)
    else:
        receive_ack(arena, reals, qp, packet)


@kernel
def _heed_pfc(arena: Ints, reals: Floats, port: int, frame: int) -> None:
    """Pause the class of data at *port*, or let it go on."""
    pauses = arena[frame + f.P_SEQ] != 0
    release_packet(arena, frame)
    arena[port + f.PORT_PAUSED] = pauses
    if pauses:
        arena[f.PAUSES] += 1
        arena[port + f.PORT_PAUSES] += 1
        return
    arena[port + f.PORT_RESUMES] += 1
    if arena[port + f.PORT_BUSY] == 0:
        _send(arena, reals, port)


@kernel
def count_flying(arena: Ints, ports: int, count: int) -> int:
    """Packets on links and in queues.

    Args:
        arena: (W,) int64; see ``layout``.
        ports: First port.
        count: How many ports there are.
    """
    flying = 0
    for slot in range(SPAN_NS):
        event = arena[arena[f.WHEEL] + 2 * slot]
        while event != 0:
            flying += arena[event + f.E_KIND] & f.KIND_MASK == f.ARRIVAL
            event = arena[event + f.E_NEXT]
    for entry in range(arena[f.HEAP_SIZE]):
        event = arena[arena[f.HEAP] + ENTRY_WORDS * entry + 2]
        flying += arena[event + f.E_KIND] & f.KIND_MASK == f.ARRIVAL
    for number in range(count):
        port = ports + number * f.PORT_WORDS
        flying += _waiting(arena, port + f.PORT_CONTROL_FIRST)
        flying += _waiting(arena, port + f.PORT_FIRST)
        if arena[f.LANES] > 1:
            for lane in range(arena[f.LANES]):
                flying += _waiting(arena, arena[port + f.PORT_LANES] + f.LANE_WORDS * lane)
    return flying


@kernel
def _waiting(arena: Ints, first: int) -> int:
    """Packets of the queue whose first one stands at *first*."""
    count, packet = 0, arena[first]
    while packet != 0:
        count += 1
        packet = arena[packet + f.E_NEXT]
    return count
