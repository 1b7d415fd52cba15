"""Lost packets: timers that send again, and receivers that keep what came before an earlier packet.

A timer is that of RoCE's reliable connections (InfiniBand Architecture Specification, volume 1,
9.7.6: a timeout and a number of retries) or, where it waits longer each time, of TCP (RFC 6298).
Selective repeat is that of IRN (Mittal et al., "Revisiting network support for RDMA", SIGCOMM
2018): an answer tells which packet came beside the first byte that is missing, and the sender sends
those again before which a later one has come.
"""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.controls.table import on_timeout
from simcore.kernels.packets.event_wheel import schedule
from simcore.kernels.packets.layout import Floats, Ints
from simcore.kernels.packets.records import new_event

_MOST_DOUBLINGS = 6


@kernel
def open_records(arena: Ints, qp: int) -> None:
    """Give a flow that starts its bits of packets, of the receiver and of the sender."""
    if arena[f.REORDER_PACKETS] == 0:
        return
    words = arena[f.REORDER_PACKETS] // 64
    first = arena[f.NEXT_WORD]
    arena[f.NEXT_WORD] = first + 2 * words
    arena[qp + f.Q_CAME] = first
    arena[qp + f.Q_ANSWERED] = first + words


@kernel
def has_bit(arena: Ints, bits: int, packet: int) -> bool:
    """True if the bit of a packet, by its number in the flow, is set."""
    place = packet % arena[f.REORDER_PACKETS]
    return (arena[bits + place // 64] >> (place % 64)) & 1 != 0


@kernel
def flip_bit(arena: Ints, bits: int, packet: int) -> None:
    """Set the bit of a packet, or clear one that is set."""
    place = packet % arena[f.REORDER_PACKETS]
    arena[bits + place // 64] ^= 1 << (place % 64)


@kernel
def plan_retry(arena: Ints, qp: int) -> None:
    """Start the timer of a flow that sends, if it has none under way."""
    if arena[f.RETRY_NS] == 0:
        return
    if arena[qp + f.Q_NEXT] == arena[qp + f.Q_ACKED]:
        arena[qp + f.Q_PROGRESS_NS] = arena[f.NOW_NS]
    if arena[qp + f.Q_RETRY_PLANNED] == 0:
        _plan(arena, qp, arena[f.NOW_NS] + arena[f.RETRY_NS])


@kernel
def _plan(arena: Ints, qp: int, at_ns: int) -> None:
    arena[qp + f.Q_RETRY_PLANNED] = 1
    arena[f.LIVE] += 1
    schedule(arena, at_ns, new_event(arena, f.RETRY, qp, 0))


@kernel
def retries(arena: Ints, reals: Floats, qp: int) -> bool:
    """Carry out a flow's timer; True if it is to send again.

    One timer is under way at a time: it looks whether there was progress, and goes on waiting.
    """
    arena[qp + f.Q_RETRY_PLANNED] = 0
    if arena[qp + f.Q_FINISH_NS] >= 0 or arena[qp + f.Q_NEXT] <= arena[qp + f.Q_ACKED]:
        return False
    wait_ns = arena[f.RETRY_NS]
    if arena[f.BACKS_OFF] != 0:
        wait_ns <<= min(arena[qp + f.Q_RETRIES], _MOST_DOUBLINGS)
    due_ns = arena[qp + f.Q_PROGRESS_NS] + wait_ns
    if due_ns > arena[f.NOW_NS]:
        _plan(arena, qp, due_ns)
        return False
    if arena[qp + f.Q_RETRIES] >= arena[f.MOST_RETRIES]:
        return False
    arena[qp + f.Q_RETRIES] += 1
    arena[qp + f.Q_PROGRESS_NS] = arena[f.NOW_NS]
    if arena[f.REORDER_PACKETS] == 0:
        arena[qp + f.Q_NEXT] = arena[qp + f.Q_ACKED]
    else:
        sent = _packets(arena, arena[qp + f.Q_NEXT])
        arena[qp + f.Q_RECOVERS_TO] = arena[qp + f.Q_ANSWERED_END] = sent
        arena[qp + f.Q_RESEND] = arena[qp + f.Q_ACKED] // arena[f.PAYLOAD]
    on_timeout(arena, reals, qp)
    plan_retry(arena, qp)
    return True


@kernel
def _packets(arena: Ints, sent: int) -> int:
    """Packets that *sent* bytes of a flow make up."""
    return (sent + arena[f.PAYLOAD] - 1) // arena[f.PAYLOAD]


@kernel
def take_answer(arena: Ints, qp: int, packet: int, acked: int) -> None:
    """Note which packet an answer is for, beside the first byte that is missing.

    Args:
        arena: (W,) int64, all state; see ``layout``.
        qp: The flow.
        packet: The answer.
        acked: Bytes of the flow that were acknowledged before it.
    """
    payload, bits = arena[f.PAYLOAD], arena[qp + f.Q_ANSWERED]
    first, size = arena[qp + f.Q_ACKED], arena[qp + f.Q_SIZE]
    end = _packets(arena, size) if first >= size else first // payload
    for number in range(acked // payload, end):
        if has_bit(arena, bits, number):
            flip_bit(arena, bits, number)
    came = arena[packet + f.P_TAKEN] // payload
    if came >= end and not has_bit(arena, bits, came):
        flip_bit(arena, bits, came)
        arena[qp + f.Q_ANSWERED_END] = max(arena[qp + f.Q_ANSWERED_END], came + 1)
    if arena[packet + f.P_TYPE] == f.NACK and arena[qp + f.Q_RECOVERS_TO] <= end:
        arena[qp + f.Q_RECOVERS_TO] = _packets(arena, arena[qp + f.Q_NEXT])
        arena[qp + f.Q_RESEND] = end


@kernel
def next_lost(arena: Ints, qp: int) -> int:
    """Number of the packet of a flow to send again, or -1."""
    first = arena[qp + f.Q_ACKED] // arena[f.PAYLOAD]
    if arena[qp + f.Q_RECOVERS_TO] <= first:
        return -1
    number = max(first, arena[qp + f.Q_RESEND])
    end = min(arena[qp + f.Q_ANSWERED_END], arena[qp + f.Q_RECOVERS_TO])
    while number < end and has_bit(arena, arena[qp + f.Q_ANSWERED], number):
        number += 1
    arena[qp + f.Q_RESEND] = number
    return number if number < end else -1


@kernel
def has_place(arena: Ints, qp: int) -> bool:
    """True if the receiver has a bit for the next packet of a flow."""
    first = arena[qp + f.Q_ACKED] // arena[f.PAYLOAD]
    return arena[qp + f.Q_NEXT] // arena[f.PAYLOAD] < first + arena[f.REORDER_PACKETS]
