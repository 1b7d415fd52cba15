"""Receivers: how a host answers the packets of data that come to it."""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.layout import Ints
from simcore.kernels.packets.links import packets_in, put
from simcore.kernels.packets.records import new_packet, release_packet
from simcore.kernels.packets.recovery import flip_bit, has_bit


@kernel
def receive_data(arena: Ints, qp: int, packet: int) -> bool:
    """Answer a data packet with an ACK, a NACK or nothing; True if its host has one to send.

    The answer is written in the packet's place.
    """
    count = 1
    if arena[f.TRAIN] > 1:
        count = packets_in(arena[packet + f.P_BYTES], arena[f.PAYLOAD] + arena[f.HEADERS])
        arena[packet + f.P_MARK] *= count
    arena[qp + f.Q_TAKEN] += count
    arena[qp + f.Q_MARKED] += arena[packet + f.P_MARK]
    arena[qp + f.Q_CAME_NS] = arena[f.NOW_NS]
    tells = arena[packet + f.P_MARK] != 0 and arena[f.CNP_NS] != 0
    if tells:
        arena[packet + f.P_MARK] = 0
        tells = _tell_mark(arena, qp)
    payload = arena[packet + f.P_BYTES] - count * arena[f.HEADERS]
    if arena[f.REORDER_PACKETS] != 0:
        answer = _take_in_any_order(arena, qp, packet, payload)
    else:
        answer = _take_in_order(arena, qp, packet, payload)
    if answer == f.ACK and arena[f.COALESCED_BYTES] != 0:
        answer = _hold_back(arena, qp, packet)
    if answer == f.DATA:  # none
        release_packet(arena, packet)
        return tells
    arena[f.SENT_PACKETS] += 1
    arena[packet + f.P_TYPE] = answer
    arena[packet + f.P_SEQ] = arena[qp + f.Q_EXPECTED]
    arena[packet + f.P_BYTES] = count * arena[f.ACK_BYTES]
    arena[packet + f.P_HOP] = arena[qp + f.Q_BACK]
    put(arena, arena[qp + f.Q_RECEIVER] + f.PORT_FIRST, packet)
    return True


@kernel
def _take_in_order(arena: Ints, qp: int, packet: int, payload: int) -> int:
    """Take a packet if it is the one expected; the kind of the answer, DATA for none."""
    first, expected = arena[packet + f.P_SEQ], arena[qp + f.Q_EXPECTED]
    if arena[f.ANY_ORDER] != 0:  # nothing comes twice: bytes are counted, wherever they belong
        first = expected
    if first + payload == arena[qp + f.Q_SIZE] and arena[qp + f.Q_LAST_BYTE_NS] < 0:
        arena[qp + f.Q_LAST_BYTE_NS] = arena[f.NOW_NS]
    if first == expected:
        expected += payload
        arena[qp + f.Q_EXPECTED] = expected
        if arena[f.ENDS_AT_RECEIVER] != 0 and expected >= arena[qp + f.Q_SIZE]:
            list_ended(arena, qp)
        if expected >= arena[f.ACK_INTERVAL] or expected % arena[f.CHUNK] == 0:
            return f.ACK
    elif first > expected:
        late = arena[f.NOW_NS] >= arena[qp + f.Q_NACK_AFTER_NS]
        if late or arena[qp + f.Q_NACKED] != expected:
            arena[qp + f.Q_NACK_AFTER_NS] = arena[f.NOW_NS] + f.NACK_INTERVAL_NS
            arena[qp + f.Q_NACKED] = expected
            if arena[f.BACK_TO_ZERO] != 0:
                arena[qp + f.Q_EXPECTED] = expected - expected % arena[f.CHUNK]
            return f.NACK
    elif arena[f.RETRY_NS] != 0:  # sent again since its ACK was lost
        return f.ACK
    return f.DATA


@kernel
def _take_in_any_order(arena: Ints, qp: int, packet: int, payload: int) -> int:
    """Take a packet and keep it if an earlier one is missing; the kind of the answer."""
    first, expected, size = arena[packet + f.P_SEQ], arena[qp + f.Q_EXPECTED], arena[qp + f.Q_SIZE]
    arena[packet + f.P_TAKEN] = first
    if first < expected:
        return f.ACK
    number, bits = first // arena[f.PAYLOAD], arena[qp + f.Q_CAME]
    if first > expected:
        if not has_bit(arena, bits, number):
            flip_bit(arena, bits, number)
        return (
            f.ACK if arena[f.ANY_ORDER] != 0 else f.NACK
        )  # where ways differ, it need not be lost
    expected += payload
    number += 1
    while expected < size and has_bit(arena, bits, number):
        flip_bit(arena, bits, number)
        expected = min(size, expected + arena[f.PAYLOAD])
        number += 1
    arena[qp + f.Q_EXPECTED] = expected
    if expected >= size:
        arena[qp + f.Q_LAST_BYTE_NS] = arena[f.NOW_NS]
        if arena[f.ENDS_AT_RECEIVER] != 0:
            list_ended(arena, qp)
    return f.ACK


@kernel
def _hold_back(arena: Ints, qp: int, packet: int) -> int:
    """Let one ACK answer for many bytes; its mark counts the marks of all of them."""
    arena[qp + f.Q_MARKS_HELD] += arena[packet + f.P_MARK]
    expected = arena[qp + f.Q_EXPECTED]
    come = expected - arena[qp + f.Q_TOLD]
    if 0 < come < arena[f.COALESCED_BYTES] and expected < arena[qp + f.Q_SIZE]:
        return f.DATA
    arena[qp + f.Q_TOLD] = expected
    arena[packet + f.P_MARK] = arena[qp + f.Q_MARKS_HELD]
    arena[qp + f.Q_MARKS_HELD] = 0
    return f.ACK


@kernel
def _tell_mark(arena: Ints, qp: int) -> bool:
    """Tell a flow's sender of a mark by a packet (CNP), unless one was sent a short time ago."""
    if arena[f.NOW_NS] < arena[qp + f.Q_CNP_AFTER_NS]:
        return False
    arena[qp + f.Q_CNP_AFTER_NS] = arena[f.NOW_NS] + arena[f.CNP_NS]
    told = new_packet(arena, f.CNP, qp, arena[f.ACK_BYTES])
    arena[told + f.P_SEQ] = 0
    arena[told + f.P_MARK] = 1
    arena[told + f.P_HOP] = arena[qp + f.Q_BACK]
    put(arena, arena[qp + f.Q_RECEIVER] + f.PORT_FIRST, told)
    return True


@kernel
def list_ended(arena: Ints, qp: int) -> None:
    """Append a flow to the list of those that have ended and nobody has asked about."""
    arena[qp + f.Q_ENDED_NEXT], arena[qp + f.Q_ENDED_CAUSE] = 0, arena[f.CAUSE]
    if arena[f.ENDED_FIRST] == 0:
        arena[f.ENDED_FIRST] = qp
    else:
        arena[arena[f.ENDED_LAST] + f.Q_ENDED_NEXT] = qp
    arena[f.ENDED_LAST] = qp
