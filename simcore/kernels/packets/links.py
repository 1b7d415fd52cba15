"""Links: how long a packet takes, and how it gets across.

A train is a record that stands for several packets of one flow, one close behind the other. A node
begins to pass it on when its first packet has come, and its last one leaves no sooner than it has
come; a host takes it when its last packet has come. It is queued, marked, dropped and answered as
one, which no reference does: an approximation, off (``TRAIN`` is 1) unless asked for.
"""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.credits import spend_credit
from simcore.kernels.packets.event_wheel import schedule
from simcore.kernels.packets.layout import Ints


@kernel
def time_ns(size: int, rate: int) -> int:
    """Time of *size* bytes at *rate* bit/s, rounded to the nearest ns, halves down."""
    return (16_000_000_000 * size + rate - 1) // (2 * rate)


@kernel
def port_time_ns(arena: Ints, port: int, size: int) -> int:
    """Time of *size* bytes at the rate of *port*."""
    if arena[port + f.PORT_SIZE] != size:
        arena[port + f.PORT_SIZE] = size
        arena[port + f.PORT_SIZE_NS] = time_ns(size, arena[port + f.PORT_RATE])
    return arena[port + f.PORT_SIZE_NS]


@kernel
def change_link(arena: Ints, port: int, rate: int) -> None:
    """Give the link of *port* another rate from the next packet on; 0: it fails.

    A link that fails forgets pauses. What it is given is lost, one packet after the other, as at
    its last rate.
    """
    arena[port + f.PORT_DOWN] = rate == 0
    if rate != 0:
        arena[port + f.PORT_RATE], arena[port + f.PORT_SIZE] = rate, -1
    else:
        arena[port + f.PORT_PAUSED] = arena[port + f.PORT_HAS_PAUSED] = 0


@kernel
def transmit(arena: Ints, port: int, packet: int) -> None:
    """Start *packet* at an idle port: it is busy for the packet's time, then the packet flies."""
    if arena[f.TRAIN] > 1:
        _transmit_train(arena, port, packet)
        return
    free_ns = arena[f.NOW_NS] + port_time_ns(arena, port, arena[packet + f.P_BYTES])
    arena[port + f.PORT_BUSY] = 1
    if arena[f.CREDITS] != 0:
        spend_credit(arena, port, arena[packet + f.P_QP], arena[packet + f.P_BYTES])
    arena[f.LIVE] += 2
    schedule(arena, free_ns, port)
    arena[packet + f.P_PORT] = arena[port + f.PORT_PEER]
    schedule(arena, free_ns + arena[port + f.PORT_DELAY], packet)


@kernel
def _transmit_train(arena: Ints, port: int, packet: int) -> None:
    size, rate = arena[packet + f.P_BYTES], arena[port + f.PORT_RATE]
    unit = unit_bytes(arena, packet)
    last = (size - 1) % unit + 1
    first_ns = arena[f.NOW_NS] + time_ns(min(size, unit), rate)
    last_ns = time_ns(last, rate)
    free_ns = arena[f.NOW_NS] + train_time_ns(size, unit, rate)
    free_ns = max(free_ns, arena[packet + f.P_TAIL_NS] + last_ns)
    arena[port + f.PORT_BUSY] = 1
    if arena[f.CREDITS] != 0:
        spend_credit(arena, port, arena[packet + f.P_QP], size)
    arena[f.LIVE] += 2
    schedule(arena, free_ns, port)
    arena[packet + f.P_PORT] = arena[port + f.PORT_PEER]
    arena[packet + f.P_TAIL_NS] = free_ns + arena[port + f.PORT_DELAY]
    schedule(arena, first_ns + arena[port + f.PORT_DELAY], packet)


@kernel
def unit_bytes(arena: Ints, packet: int) -> int:
    """Size of each packet of a train of this kind but its last, on the wire."""
    if arena[packet + f.P_TYPE] == f.DATA:
        return arena[f.PAYLOAD] + arena[f.HEADERS]
    return f.PFC_BYTES if arena[packet + f.P_TYPE] == f.PFC else arena[f.ACK_BYTES]


@kernel
def packets_in(size: int, unit: int) -> int:
    """Packets of *unit* bytes, the last one smaller, that make up *size* bytes."""
    return (size + unit - 1) // unit


@kernel
def train_time_ns(size: int, unit: int, rate: int) -> int:
    """Time of packets of *unit* bytes, the last one smaller, each in whole ns."""
    last = (size - 1) % unit + 1
    return (packets_in(size, unit) - 1) * time_ns(unit, rate) + time_ns(last, rate)


@kernel
def put(arena: Ints, first: int, packet: int) -> None:
    """Append *packet* to the queue whose first and last packet stand at *first*."""
    arena[packet + f.E_NEXT] = 0
    if arena[first] == 0:
        arena[first] = packet
    else:
        arena[arena[first + 1] + f.E_NEXT] = packet
    arena[first + 1] = packet


@kernel
def take(arena: Ints, first: int) -> int:
    """Take the first packet of a queue that holds one."""
    packet = arena[first]
    arena[first] = arena[packet + f.E_NEXT]
    return packet
