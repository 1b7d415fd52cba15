"""Credits: a packet starts only where the buffer at the other end of the link has room for it.

Link flow control of InfiniBand (InfiniBand Architecture Specification, volume 1, 7.9): buffers and
credits are counted in blocks of 64 bytes; those of a packet come back when it has left the buffer.
The message that says so takes the link's delay, and none of its rate. Each virtual lane of a link
(7.6) has a buffer, credits and a queue of its own; lanes take turns by weight (7.6.9).
"""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.event_wheel import schedule
from simcore.kernels.packets.layout import Ints
from simcore.kernels.packets.records import new_event

_LANE_BIT = 32  # above the blocks of a credit that comes back


@kernel
def has_credit(arena: Ints, port: int, qp: int, size: int) -> bool:
    """True if the other end of the link at *port* has room for *size* bytes of a flow."""
    return arena[f.CREDITS] == 0 or arena[_credit(arena, port, arena[qp + f.Q_LANE])] >= _blocks(
        size
    )


@kernel
def spend_credit(arena: Ints, port: int, qp: int, size: int) -> None:
    """Count the room that *size* bytes of a flow take at the other end."""
    arena[_credit(arena, port, arena[qp + f.Q_LANE])] -= _blocks(size)


@kernel
def return_credit(arena: Ints, port: int, qp: int, size: int) -> None:
    """Tell the other end of the link at *port* that *size* bytes have left the buffer here."""
    told = _blocks(size) | arena[qp + f.Q_LANE] << _LANE_BIT
    event = new_event(arena, f.CREDIT, arena[port + f.PORT_PEER], told)
    arena[f.LIVE] += 1
    schedule(arena, arena[f.NOW_NS] + arena[port + f.PORT_DELAY], event)


@kernel
def take_credit(arena: Ints, port: int, told: int) -> None:
    """Count what the other end has told to be free."""
    arena[_credit(arena, port, told >> _LANE_BIT)] += told & ((1 << _LANE_BIT) - 1)


@kernel
def queue_of(arena: Ints, port: int, qp: int) -> int:
    """Place of the first packet that waits at a switch's *port* in the lane of a flow."""
    if arena[f.LANES] == 1:
        return port + f.PORT_FIRST
    return _lane(arena, port, arena[qp + f.Q_LANE]) + f.LANE_FIRST


@kernel
def next_queue(arena: Ints, port: int) -> int:
    """Place of the first packet that a switch's *port* may send, by turns of lanes; 0: none."""
    if arena[f.LANES] == 1:
        first = arena[port + f.PORT_FIRST]
        if first != 0 and arena[f.CREDITS] == 0:
            return port + f.PORT_FIRST
        sends = first != 0 and has_credit(
            arena, port, arena[first + f.P_QP], arena[first + f.P_BYTES]
        )
        return port + f.PORT_FIRST if sends else 0
    lane, left = arena[port + f.PORT_LANE], arena[port + f.PORT_LANE_LEFT]
    for _ in range(arena[f.LANES] + 1):
        queue = _lane(arena, port, lane) + f.LANE_FIRST
        first = arena[queue]
        may = left > 0 and first != 0
        if may and has_credit(arena, port, arena[first + f.P_QP], arena[first + f.P_BYTES]):
            arena[port + f.PORT_LANE], arena[port + f.PORT_LANE_LEFT] = lane, left - 1
            return queue
        lane = (lane + 1) % arena[f.LANES]
        left = arena[arena[f.LANE_WEIGHTS] + lane]
    return 0


@kernel
def _lane(arena: Ints, port: int, lane: int) -> int:
    return arena[port + f.PORT_LANES] + f.LANE_WORDS * lane


@kernel
def _credit(arena: Ints, port: int, lane: int) -> int:
    """Place of the credits of a lane."""
    if arena[f.LANES] == 1:
        return port + f.PORT_CREDIT
    return _lane(arena, port, lane) + f.LANE_CREDIT


@kernel
def _blocks(size: int) -> int:
    return (size + f.BLOCK_BYTES - 1) // f.BLOCK_BYTES
