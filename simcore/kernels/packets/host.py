"""Hosts: what their network interface sends next, and how they answer packets."""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.controls.table import on_ack, on_start
from simcore.kernels.packets.credits import has_credit
from simcore.kernels.packets.event_wheel import schedule
from simcore.kernels.packets.layout import Floats, Ints
from simcore.kernels.packets.links import (
    packets_in,
    port_time_ns,
    put,
    take,
    time_ns,
    train_time_ns,
    transmit,
)
from simcore.kernels.packets.pacing import set_rate, wake
from simcore.kernels.packets.receiving import list_ended
from simcore.kernels.packets.records import new_packet, release_packet
from simcore.kernels.packets.recovery import (
    has_place,
    next_lost,
    open_records,
    plan_retry,
    take_answer,
)


@kernel
def start_flow(arena: Ints, reals: Floats, qp: int) -> None:
    """Give the queue pair to its port, which sends its first packet if it is idle."""
    port = arena[qp + f.Q_PORT]
    arena[arena[port + f.PORT_QPS] + arena[port + f.PORT_QP_COUNT]] = qp
    arena[port + f.PORT_QP_COUNT] += 1
    set_rate(arena, qp, arena[qp + f.Q_LINE_RATE])
    arena[qp + f.Q_READY_NS] = arena[f.NOW_NS]
    open_records(arena, qp)
    on_start(arena, reals, qp)
    send_from_host(arena, port)


@kernel
def send_from_host(arena: Ints, port: int) -> None:
    """Start the next packet of *port* unless it is busy: ACKs first, then flows in turn."""
    if arena[port + f.PORT_BUSY] != 0:
        return
    paused = arena[port + f.PORT_PAUSED] != 0
    if arena[port + f.PORT_FIRST] != 0 and not (paused and arena[f.ACK_PAUSES] != 0):
        first = arena[port + f.PORT_FIRST]
        if has_credit(arena, port, arena[first + f.P_QP], arena[first + f.P_BYTES]):
            transmit(arena, port, take(arena, port + f.PORT_FIRST))
        return
    index = _next_flow(arena, port, paused)
    if index < 0:
        _plan_wake(arena, port)
        return
    qp = arena[arena[port + f.PORT_QPS] + index]
    if not has_credit(arena, port, qp, _next_bytes(arena, qp)):
        return
    arena[port + f.PORT_LAST_QP] = index
    _send_data(arena, port, qp)


@kernel
def _next_flow(arena: Ints, port: int, paused: bool) -> int:
    """Index of the next flow in turn that may send, or -1; ended flows on the way are dropped."""
    qps, count = arena[port + f.PORT_QPS], arena[port + f.PORT_QP_COUNT]
    if count == 0:
        return -1
    index = arena[port + f.PORT_LAST_QP] % count
    chosen, lowest = -1, count
    for _ in range(count):
        index += 1
        if index == count:
            index = 0
        qp = arena[qps + index]
        if not paused and _has_more(arena, qp):
            is_ready = arena[qp + f.Q_READY_NS] <= arena[f.NOW_NS]
            if is_ready and arena[f.LANES] > 1:  # another lane may have room
                is_ready = has_credit(arena, port, qp, _next_bytes(arena, qp))
            if is_ready:
                chosen = index
                break
        elif arena[qp + f.Q_ACKED] >= arena[qp + f.Q_SIZE]:
            lowest = min(lowest, index)
    if lowest < count:
        chosen = _drop_ended(arena, port, lowest, chosen)
    return chosen


@kernel
def _has_more(arena: Ints, qp: int) -> bool:
    """True if the flow has bytes to send, and its window is open."""
    sent = arena[qp + f.Q_NEXT]
    if arena[f.REORDER_PACKETS] != 0:
        if next_lost(arena, qp) >= 0:
            return True
        if not has_place(arena, qp):
            return False
    if sent >= arena[qp + f.Q_SIZE]:
        return False
    flying = sent - arena[qp + f.Q_ACKED]
    # acknowledged beyond what was sent again: the reference's difference has no sign
    return flying < arena[qp + f.Q_WINDOW_NOW] and (flying >= 0 or arena[qp + f.Q_WINDOW] == 0)


@kernel
def _drop_ended(arena: Ints, port: int, lowest: int, chosen: int) -> int:
    """Take every ended flow from index *lowest* on off the list; index of the *chosen* one now."""
    qps = arena[port + f.PORT_QPS]
    kept = lowest
    for index in range(lowest + 1, arena[port + f.PORT_QP_COUNT]):
        qp = arena[qps + index]
        if arena[qp + f.Q_ACKED] >= arena[qp + f.Q_SIZE]:
            continue
        if index == chosen:
            chosen = kept
        arena[qps + kept] = qp
        kept += 1
    arena[port + f.PORT_QP_COUNT] = kept
    return chosen


@kernel
def _plan_wake(arena: Ints, port: int) -> None:
    """Try again when the first flow may send, unless one could already but for its window.

    The reference looks at flows that are sent, shut by their window or paused too: where one of
    these is ready, nothing is planned, and a flow held back by its pace waits for the next ACK.
    """
    if arena[port + f.PORT_WAKE_NS] >= 0 or arena[port + f.PORT_QP_COUNT] == 0:
        return
    qps = arena[port + f.PORT_QPS]
    first_ns = arena[arena[qps] + f.Q_READY_NS]
    for index in range(1, arena[port + f.PORT_QP_COUNT]):
        first_ns = min(first_ns, arena[arena[qps + index] + f.Q_READY_NS])
    if first_ns > arena[f.NOW_NS]:
        wake(arena, port, first_ns)


@kernel
def _next_bytes(arena: Ints, qp: int) -> int:
    """Size of the next packet of a flow on the wire."""
    left = arena[qp + f.Q_SIZE] - _first_byte(arena, qp)
    if arena[f.TRAIN] == 1:
        return min(arena[f.PAYLOAD], left) + arena[f.HEADERS]
    left = min(left, _train_payload(arena, qp))
    return left + packets_in(left, arena[f.PAYLOAD]) * arena[f.HEADERS]


@kernel
def _first_byte(arena: Ints, qp: int) -> int:
    """First byte of the next packet of a flow: one that was lost, or new ones."""
    if arena[f.REORDER_PACKETS] != 0:
        lost = next_lost(arena, qp)
        if lost >= 0:
            return lost * arena[f.PAYLOAD]
    return arena[qp + f.Q_NEXT]


@kernel
def _train_payload(arena: Ints, qp: int) -> int:
    """Most bytes in the next train of a flow: many trains fit into its window.

    A flow that is held back below its line's rate sends packet by packet: others come between.
    """
    if arena[qp + f.Q_RATE] != arena[qp + f.Q_LINE_RATE]:
        return arena[f.PAYLOAD]
    share = arena[qp + f.Q_WINDOW_NOW] // (f.TRAINS_IN_WINDOW * arena[f.PAYLOAD])
    return max(1, min(arena[f.TRAIN], share)) * arena[f.PAYLOAD]


@kernel
def relay(arena: Ints, packet: int) -> None:
    """Pass a packet of others on: before packets of one's own, in the order of arrival."""
    at = arena[packet + f.P_HOP]
    arena[packet + f.P_HOP] = at + 1
    put(arena, arena[at] + f.PORT_FIRST, packet)
    send_from_host(arena, arena[at])


@kernel
def _send_data(arena: Ints, port: int, qp: int) -> None:
    """Make the next packet of a flow and start it."""
    first = _first_byte(arena, qp)
    size = _next_bytes(arena, qp)
    plan_retry(arena, qp)
    count = 1 if arena[f.TRAIN] == 1 else packets_in(size, arena[f.PAYLOAD] + arena[f.HEADERS])
    payload = size - count * arena[f.HEADERS]
    packet = new_packet(arena, f.DATA, qp, size)
    arena[packet + f.P_SEQ] = first
    arena[packet + f.P_HOP] = arena[qp + f.Q_FORTH]
    if arena[f.STAMPS_HOPS] == 0:
        arena[packet + f.P_STAMP] = arena[f.NOW_NS]
    if first < arena[qp + f.Q_NEXT]:
        arena[qp + f.Q_RESEND] += 1
    arena[qp + f.Q_NEXT] = max(arena[qp + f.Q_NEXT], first + payload)
    arena[qp + f.Q_SENT] += 1
    arena[qp + f.Q_LAST_BYTES] = size
    transmit(arena, port, packet)
    rate = arena[qp + f.Q_RATE]
    if count > 1:
        unit = arena[f.PAYLOAD] + arena[f.HEADERS]
        line = arena[port + f.PORT_RATE]
        gap_ns = train_time_ns(size, unit, rate if arena[f.PACES_AT_RATE] != 0 else line)
        if arena[f.STAMPS_HOPS] == 0:  # that of its last packet, which is answered
            arena[packet + f.P_STAMP] += train_time_ns(size, unit, line) - time_ns(
                (size - 1) % unit + 1, line
            )
    elif arena[f.PACES_AT_RATE] == 0 or rate == arena[port + f.PORT_RATE]:
        gap_ns = port_time_ns(arena, port, size)
    else:
        gap_ns = time_ns(size, rate)
    arena[qp + f.Q_READY_NS] = arena[f.NOW_NS] + gap_ns


@kernel
def receive_ack(arena: Ints, reals: Floats, qp: int, packet: int) -> None:
    """Take an answer: what it says of bytes first, then of congestion; then send."""
    acked, before = arena[packet + f.P_SEQ], arena[qp + f.Q_ACKED]
    if arena[f.BACK_TO_ZERO] != 0:
        acked -= acked % arena[f.CHUNK] if acked < arena[qp + f.Q_SIZE] else 0
    if acked > before:
        arena[qp + f.Q_ACKED] = acked
        arena[qp + f.Q_PROGRESS_NS] = arena[f.NOW_NS]
        arena[qp + f.Q_RETRIES] = 0
    if arena[qp + f.Q_ACKED] >= arena[qp + f.Q_SIZE] and arena[qp + f.Q_FINISH_NS] < 0:
        _end_flow(arena, qp)
    if arena[packet + f.P_TYPE] != f.CNP:
        if arena[f.REORDER_PACKETS] != 0:
            take_answer(arena, qp, packet, before)
        elif arena[packet + f.P_TYPE] == f.NACK:
            arena[qp + f.Q_NEXT] = arena[qp + f.Q_ACKED]
    on_ack(arena, reals, qp, packet)
    release_packet(arena, packet)
    send_from_host(arena, arena[qp + f.Q_PORT])


@kernel
def _end_flow(arena: Ints, qp: int) -> None:
    """Note the end of a flow, and call those that waited for nothing else."""
    arena[qp + f.Q_FINISH_NS] = arena[f.NOW_NS]
    arena[f.FLOWS_LEFT] -= 1
    if arena[f.ENDS_AT_RECEIVER] == 0:
        list_ended(arena, qp)
    followers = arena[qp + f.Q_FOLLOWERS]
    for index in range(arena[qp + f.Q_FOLLOWER_COUNT]):
        follower = arena[followers + index]
        arena[follower + f.Q_WAITS_FOR] -= 1
        if arena[follower + f.Q_WAITS_FOR] == 0:
            call_flow(arena, follower, arena[f.NOW_NS] + arena[follower + f.Q_DELAY_NS])


@kernel
def call_flow(arena: Ints, qp: int, at_ns: int) -> None:
    """Schedule the start of a flow."""
    arena[qp + f.E_KIND] = f.FLOW_CALLED
    arena[f.LIVE] += 1
    schedule(arena, at_ns, qp)
