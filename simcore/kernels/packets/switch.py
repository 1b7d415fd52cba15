"""Shared-buffer switches: admission, PFC, marking, and the records of hops for HPCC.

Rules of the switch that the HPCC authors published with their simulator, as the reference
simulator of the golden cases has them.
"""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.credits import next_queue, queue_of, return_credit
from simcore.kernels.packets.layout import Floats, Ints
from simcore.kernels.packets.links import put, take, transmit
from simcore.kernels.packets.randoms import first_of_next_stream
from simcore.kernels.packets.records import new_packet, release_packet
from simcore.kernels.packets.ways.paths import next_port


@kernel
def arrive_at_switch(arena: Ints, reals: Floats, port: int, packet: int) -> None:
    """Take *packet* in at *port* and queue it for the next port of its path."""
    out = next_port(arena, arena[port + f.PORT_NODE], packet)
    size = arena[packet + f.P_BYTES]
    if out == 0:  # no way is left
        arena[f.LOST_PACKETS] += 1
        if arena[f.CREDITS] != 0:
            return_credit(arena, port, arena[packet + f.P_QP], size)
        release_packet(arena, packet)
        return
    arena[packet + f.P_IN] = port
    if arena[f.CREDITS] != 0:  # there is room
        _queue(arena, reals, out, packet, size)
        return
    if arena[f.PAUSES_PEERS] == 0:
        _take_or_drop(arena, reals, port, out, packet)
        return
    threshold = _threshold(arena, port)
    fits_headroom = size + arena[port + f.PORT_OVER] <= arena[port + f.PORT_HEADROOM]
    if not fits_headroom and size + _shared(arena, port) > threshold:
        arena[f.DROPS] += 1
        arena[port + f.PORT_DROPS] += 1
        release_packet(arena, packet)
        return
    _admit(arena, port, size, threshold)
    if arena[port + f.PORT_HAS_PAUSED] == 0:
        over = arena[port + f.PORT_OVER] > 0
        if over or _shared(arena, port) >= _threshold(arena, port):
            arena[port + f.PORT_HAS_PAUSED] = 1
            _send_pfc(arena, port, f.PAUSE_FIELD)
    _queue(arena, reals, out, packet, size)


@kernel
def _take_or_drop(arena: Ints, reals: Floats, port: int, out: int, packet: int) -> None:
    """Queue a packet where pauses are off, unless its queue would exceed the buffer that is free.

    Threshold: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet
    switches", IEEE/ACM Transactions on Networking 6(2), 1998, with a factor of 1.
    """
    node, size = arena[port + f.PORT_NODE], arena[packet + f.P_BYTES]
    free = arena[node + f.NODE_BUFFER] - arena[node + f.NODE_SHARED]
    if arena[out + f.PORT_EGRESS] + size > free:
        arena[f.DROPS] += 1
        arena[port + f.PORT_DROPS] += 1
        release_packet(arena, packet)
        return
    arena[node + f.NODE_SHARED] += size
    _queue(arena, reals, out, packet, size)


@kernel
def _queue(arena: Ints, reals: Floats, out: int, packet: int, size: int) -> None:
    """Queue a packet for port *out*."""
    egress = arena[out + f.PORT_EGRESS] + size
    arena[out + f.PORT_EGRESS] = egress
    arena[out + f.PORT_QUEUED] += size
    if egress > arena[out + f.PORT_MOST]:
        arena[out + f.PORT_MOST] = egress
        if egress > arena[out + f.PORT_NEAR]:
            arena[f.NEARS_DRAW] = 1
    put(arena, queue_of(arena, out, arena[packet + f.P_QP]), packet)
    if arena[out + f.PORT_BUSY] == 0:
        send_from_switch(arena, reals, out)


@kernel
def _threshold(arena: Ints, port: int) -> int:
    """Bytes of the shared buffer that packets from *port* may take; 32 bits, unsigned."""
    node = arena[port + f.PORT_NODE]
    free = arena[node + f.NODE_BUFFER] - arena[node + f.NODE_SHARED]
    return (free & 0xFFFFFFFF) >> arena[port + f.PORT_SHIFT]


@kernel
def _shared(arena: Ints, port: int) -> int:
    """Bytes from *port* beyond its reserve."""
    return max(0, arena[port + f.PORT_INGRESS] - f.RESERVE_BYTES)


@kernel
def _admit(arena: Ints, port: int, size: int, threshold: int) -> None:
    ingress = arena[port + f.PORT_INGRESS] + size
    if ingress - f.RESERVE_BYTES > threshold and ingress > f.RESERVE_BYTES:
        arena[port + f.PORT_OVER] += size
        return
    arena[port + f.PORT_INGRESS] = ingress
    if ingress > f.RESERVE_BYTES:
        node = arena[port + f.PORT_NODE]
        arena[node + f.NODE_SHARED] += min(size, ingress - f.RESERVE_BYTES)
        if arena[node + f.NODE_SHARED] > arena[node + f.NODE_NEAR]:
            arena[f.NEARS_DRAW] = 1


@kernel
def _send_pfc(arena: Ints, port: int, field: int) -> None:
    """Tell the peer of *port* to pause, or with *field* 0 to go on."""
    frame = new_packet(arena, f.PFC, 0, f.PFC_BYTES)
    first_of_next_stream(arena, f.MARK_STREAM)  # the reference draws a number for its IP header
    arena[frame + f.P_SEQ] = field
    if arena[port + f.PORT_BUSY] == 0:
        arena[port + f.PORT_SENT] += f.PFC_BYTES
        transmit(arena, port, frame)
    else:
        put(arena, port + f.PORT_CONTROL_FIRST, frame)
        arena[port + f.PORT_QUEUED] += f.PFC_BYTES


@kernel
def send_from_switch(arena: Ints, reals: Floats, port: int) -> None:
    """Start the next packet of an idle port: frames of PFC first, then data unless paused."""
    if arena[port + f.PORT_CONTROL_FIRST] != 0:
        frame = take(arena, port + f.PORT_CONTROL_FIRST)
        arena[port + f.PORT_QUEUED] -= f.PFC_BYTES
        arena[port + f.PORT_SENT] += f.PFC_BYTES
        transmit(arena, port, frame)
        return
    if arena[port + f.PORT_PAUSED] != 0:
        return
    queue = next_queue(arena, port)
    if queue == 0:
        return
    size = arena[arena[queue] + f.P_BYTES]
    packet = take(arena, queue)
    arena[port + f.PORT_QUEUED] -= size
    arena[port + f.PORT_EGRESS] -= size
    source = arena[packet + f.P_IN]
    _leave(arena, source, packet, size)
    # the mark of an ACK is what it echoes: one of its own has no effect, but a number is drawn
    if arena[f.MARKS] != 0 and _is_marked(arena, reals, port):
        arena[packet + f.P_MARK] |= arena[packet + f.P_TYPE] == f.DATA
    if arena[source + f.PORT_HAS_PAUSED] != 0 and _may_resume(arena, source):
        arena[source + f.PORT_HAS_PAUSED] = 0
        _send_pfc(arena, source, 0)
    if arena[f.STAMPS_HOPS] != 0 and arena[packet + f.P_TYPE] == f.DATA:
        _stamp(arena, port, packet)
    arena[port + f.PORT_SENT] += size
    transmit(arena, port, packet)


@kernel
def _leave(arena: Ints, port: int, packet: int, size: int) -> None:
    """Free the buffer of a packet that came in at *port*."""
    if arena[f.CREDITS] != 0:
        return_credit(arena, port, arena[packet + f.P_QP], size)
        return
    if arena[f.PAUSES_PEERS] == 0:
        arena[arena[port + f.PORT_NODE] + f.NODE_SHARED] -= size
        return
    over = min(arena[port + f.PORT_OVER], size)
    shared = min(size - over, _shared(arena, port))
    arena[port + f.PORT_OVER] -= over
    arena[port + f.PORT_INGRESS] -= size - over
    node = arena[port + f.PORT_NODE]
    arena[node + f.NODE_SHARED] -= shared


@kernel
def _may_resume(arena: Ints, port: int) -> bool:
    if arena[port + f.PORT_OVER] != 0:
        return False
    shared = _shared(arena, port)
    return shared == 0 or shared + f.RESUME_BYTES <= _threshold(arena, port)


@kernel
def _is_marked(arena: Ints, reals: Floats, port: int) -> bool:
    """True if what is left in the queue of *port* marks the packet that leaves it."""
    queued = arena[port + f.PORT_EGRESS]
    kmin, kmax = arena[port + f.PORT_KMIN], arena[port + f.PORT_KMAX]
    if queued > kmax:
        return True
    if queued <= kmin:
        return False
    chance = reals[port + f.PORT_PMAX] * (queued - kmin) / (kmax - kmin)
    return first_of_next_stream(arena, f.MARK_STREAM) < chance


@kernel
def _stamp(arena: Ints, port: int, packet: int) -> None:
    """Write the 64 bits of a hop: rate 3, time 24, bytes sent 20, bytes queued 17."""
    unit = arena[f.HOP_UNIT]
    sent = (arena[port + f.PORT_SENT] // (128 * unit)) & 0xFFFFF
    queued = (arena[port + f.PORT_QUEUED] // (80 * unit)) & 0x1FFFF
    time = arena[f.NOW_NS] & 0xFFFFFF
    hop = arena[packet + f.P_STAMP] % f.MOST_HOPS
    word = arena[port + f.PORT_RATE_CODE] | time << 3 | sent << 27 | queued << 47
    arena[packet + f.P_HOPS + hop] = word
    arena[packet + f.P_STAMP] += 1
