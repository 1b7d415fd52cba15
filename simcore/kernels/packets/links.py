"""Links: how long a packet takes, and how it gets across."""

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
def transmit(arena: Ints, port: int, packet: int) -> None:
    """Start *packet* at an idle port: it is busy for the packet's time, then the packet flies."""
    free_ns = arena[f.NOW_NS] + port_time_ns(arena, port, arena[packet + f.P_BYTES])
    arena[port + f.PORT_BUSY] = 1
    if arena[f.CREDITS] != 0:
        spend_credit(arena, port, arena[packet + f.P_BYTES])
    arena[f.LIVE] += 2
    schedule(arena, free_ns, port)
    arena[packet + f.P_PORT] = arena[port + f.PORT_PEER]
    schedule(arena, free_ns + arena[port + f.PORT_DELAY], packet)


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
