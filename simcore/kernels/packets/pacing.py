"""Pace of a queue pair: its rate, its window, and the wake-ups of its port."""

import numpy as np

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.event_wheel import schedule
from simcore.kernels.packets.layout import Ints
from simcore.kernels.packets.links import time_ns
from simcore.kernels.packets.records import new_event


@kernel
def set_rate(arena: Ints, qp: int, rate: int) -> None:
    """Let *qp* send at *rate* from its next packet on."""
    arena[qp + f.Q_RATE] = rate
    if arena[qp + f.Q_WINDOW] != 0 and arena[f.SCALES_WINDOW] != 0:
        bits = np.uint64(arena[qp + f.Q_WINDOW]) * np.uint64(rate)
        window = np.int64(bits // np.uint64(arena[qp + f.Q_LINE_RATE]))
        arena[qp + f.Q_WINDOW_NOW] = max(np.int64(1), window)


@kernel
def change_rate(arena: Ints, qp: int, rate: int) -> None:
    """Let *qp* send at *rate* as if its latest packet had been sent at that rate already."""
    size = arena[qp + f.Q_LAST_BYTES]
    old = arena[qp + f.Q_RATE]
    if rate != old:
        arena[qp + f.Q_READY_NS] += time_ns(size, rate) - time_ns(size, old)
        set_rate(arena, qp, rate)
    port, ready_ns = arena[qp + f.Q_PORT], arena[qp + f.Q_READY_NS]
    if ready_ns < arena[port + f.PORT_WAKE_NS]:
        wake(arena, port, max(arena[f.NOW_NS], ready_ns))


@kernel
def wake(arena: Ints, port: int, at_ns: int) -> None:
    """Let *port* try to send at *at_ns*, and no longer when it was to before."""
    arena[port + f.PORT_WAKE] += 1
    arena[port + f.PORT_WAKE_NS] = at_ns
    arena[f.LIVE] += 1
    schedule(arena, at_ns, new_event(arena, f.WAKE, port, arena[port + f.PORT_WAKE]))


@kernel
def start_timer(arena: Ints, qp: int, number: int, after_ns: int, valid: int) -> None:
    """Let timer *number* of the congestion control of *qp* go off; *valid* tells it apart."""
    schedule(arena, arena[f.NOW_NS] + after_ns, new_event(arena, f.TIMER + number, qp, valid))


@kernel
def whole_rate(rate: float, most: int) -> int:
    """*rate* in whole bit/s, rounded down, and at most *most*."""
    return most if not rate < most else np.int64(rate)
