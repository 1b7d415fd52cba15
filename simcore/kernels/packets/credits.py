"""Credits: a packet starts only where the buffer at the other end of the link has room for it.

Link flow control of InfiniBand (InfiniBand Architecture Specification, volume 1, 7.9): buffers and
credits are counted in blocks of 64 bytes; those of a packet come back when it has left the buffer.
The message that says so takes the link's delay, and none of its rate.
"""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.event_wheel import schedule
from simcore.kernels.packets.layout import Ints
from simcore.kernels.packets.records import new_event


@kernel
def has_credit(arena: Ints, port: int, size: int) -> bool:
    """True if the other end of the link at *port* has room for *size* bytes."""
    return arena[f.CREDITS] == 0 or arena[port + f.PORT_CREDIT] >= _blocks(size)


@kernel
def spend_credit(arena: Ints, port: int, size: int) -> None:
    """Count the room that *size* bytes take at the other end."""
    arena[port + f.PORT_CREDIT] -= _blocks(size)


@kernel
def return_credit(arena: Ints, port: int, size: int) -> None:
    """Tell the other end of the link at *port* that *size* bytes have left the buffer here."""
    event = new_event(arena, f.CREDIT, arena[port + f.PORT_PEER], _blocks(size))
    arena[f.LIVE] += 1
    schedule(arena, arena[f.NOW_NS] + arena[port + f.PORT_DELAY], event)


@kernel
def _blocks(size: int) -> int:
    return (size + f.BLOCK_BYTES - 1) // f.BLOCK_BYTES
