"""Windows of TCP: Reno, Cubic, and DCTCP, which differ in how far they close and how they open.

Sources: RFC 5681 (slow start, congestion avoidance), RFC 3168 (a mark closes the window as a loss
does), RFC 9438 (Cubic), RFC 8257 (DCTCP). A loss is what the receiver's answers or a timer tell;
the window closes once per window of data.
"""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.layout import Floats, Ints

RENO, CUBIC, DCTCP = f._constants(105, 108)

# Parameters; windows in packets.
FIRST = f.PARAMETERS  # real
GAIN = f.PARAMETERS + 1  # real; of DCTCP's share of marks
BETA, GROWTH = f.PARAMETERS + 2, f.PARAMETERS + 3  # real; what a loss leaves, Cubic's C per s^3

# State of a flow.
_WINDOW, _THRESHOLD = f.Q_CONTROL, f.Q_CONTROL + 1  # real; packets
_CLOSED_AT = f.Q_CONTROL + 2  # byte after those sent when it closed
_ACKED = f.Q_CONTROL + 3  # bytes, at the ACK before
_MOST, _SPAN_S = f.Q_CONTROL + 4, f.Q_CONTROL + 5  # real; Cubic's plateau, and when it is reached
_SINCE_NS, _RTT_NS = f.Q_CONTROL + 6, f.Q_CONTROL + 7
_RENO = f.Q_CONTROL + 8  # real; the window that Reno would have
_ALPHA = f.Q_CONTROL + 9  # real; smoothed share of marks
_MARKS, _ANSWERS, _WINDOW_END = f.Q_CONTROL + 10, f.Q_CONTROL + 11, f.Q_CONTROL + 12

_NEVER = 1e18


@kernel
def on_start(arena: Ints, reals: Floats, qp: int) -> None:
    """Begin in slow start."""
    reals[qp + _THRESHOLD], reals[qp + _ALPHA] = _NEVER, 1.0
    arena[qp + _RTT_NS] = arena[qp + f.Q_BASE_RTT_NS]
    arena[qp + _SINCE_NS] = -1
    _open(arena, reals, qp, reals[FIRST])


@kernel
def on_ack(arena: Ints, reals: Floats, qp: int, packet: int) -> None:
    """Open the window for what was acknowledged; close it at a loss or a mark."""
    kind = arena[packet + f.P_TYPE]
    acked = arena[qp + f.Q_ACKED]
    came = max(0, acked - arena[qp + _ACKED]) / arena[f.PAYLOAD]
    arena[qp + _ACKED] = acked
    if kind != f.CNP:
        delay_ns = arena[f.NOW_NS] - arena[packet + f.P_STAMP]
        arena[qp + _RTT_NS] = (7 * arena[qp + _RTT_NS] + delay_ns) // 8
    is_lost, is_marked = kind == f.NACK, arena[packet + f.P_MARK] != 0
    if arena[f.CONTROL] == DCTCP:
        _count_marks(arena, reals, qp, packet, acked)
    if (is_lost or is_marked) and acked >= arena[qp + _CLOSED_AT]:
        _close(arena, reals, qp, is_lost)
    elif came > 0.0 and not is_lost:
        _grow(arena, reals, qp, came)


@kernel
def on_timeout(arena: Ints, reals: Floats, qp: int) -> None:
    """Begin again with one packet, and slow start up to half of what was in flight."""
    window = reals[qp + _WINDOW]
    reals[qp + _THRESHOLD] = max(2.0, window * 0.5)
    arena[qp + _CLOSED_AT] = arena[qp + f.Q_NEXT]
    arena[qp + _SINCE_NS] = -1
    _open(arena, reals, qp, 1.0)


@kernel
def _count_marks(arena: Ints, reals: Floats, qp: int, packet: int, acked: int) -> None:
    """Smooth the share of packets that were marked, once per window."""
    arena[qp + _MARKS] += arena[packet + f.P_MARK]
    arena[qp + _ANSWERS] += 1
    if acked < arena[qp + _WINDOW_END]:
        return
    share = min(1.0, arena[qp + _MARKS] / arena[qp + _ANSWERS])
    reals[qp + _ALPHA] += reals[GAIN] * (share - reals[qp + _ALPHA])
    arena[qp + _MARKS] = arena[qp + _ANSWERS] = 0
    arena[qp + _WINDOW_END] = arena[qp + f.Q_NEXT]


@kernel
def _close(arena: Ints, reals: Floats, qp: int, is_lost: bool) -> None:
    window, control = reals[qp + _WINDOW], arena[f.CONTROL]
    left = reals[BETA] if control == CUBIC else 0.5
    if control == DCTCP and not is_lost:
        left = 1.0 - reals[qp + _ALPHA] / 2.0
    reals[qp + _MOST] = window * (1.0 + left) / 2.0 if window < reals[qp + _MOST] else window
    window = max(1.0, window * left)
    reals[qp + _THRESHOLD] = max(2.0, window)
    arena[qp + _CLOSED_AT] = arena[qp + f.Q_NEXT]
    arena[qp + _SINCE_NS] = -1
    _open(arena, reals, qp, window)


@kernel
def _grow(arena: Ints, reals: Floats, qp: int, came: float) -> None:
    window = reals[qp + _WINDOW]
    if window < reals[qp + _THRESHOLD]:
        _open(arena, reals, qp, window + came)
    elif arena[f.CONTROL] == CUBIC:
        _grow_as_cubic(arena, reals, qp, came)
    else:
        _open(arena, reals, qp, window + came / window)


@kernel
def _grow_as_cubic(arena: Ints, reals: Floats, qp: int, came: float) -> None:
    """Follow the cube of time around the plateau, or Reno's line where that is higher."""
    window, most = reals[qp + _WINDOW], reals[qp + _MOST]
    if arena[qp + _SINCE_NS] < 0:
        arena[qp + _SINCE_NS] = arena[f.NOW_NS]
        reals[qp + _RENO] = window
        reals[qp + _SPAN_S] = (max(0.0, most - window) / reals[GROWTH]) ** (1.0 / 3.0)
    since_s = 1e-9 * (arena[f.NOW_NS] - arena[qp + _SINCE_NS] + arena[qp + _RTT_NS])
    aim = reals[GROWTH] * (since_s - reals[qp + _SPAN_S]) ** 3 + max(most, window)
    reno_step = 3.0 * (1.0 - reals[BETA]) / (1.0 + reals[BETA])
    reals[qp + _RENO] += reno_step * came / reals[qp + _RENO]
    aim = min(max(aim, window), 1.5 * window)
    grown = window + (aim - window) / window * came
    _open(arena, reals, qp, max(grown, reals[qp + _RENO]))


@kernel
def _open(arena: Ints, reals: Floats, qp: int, window: float) -> None:
    reals[qp + _WINDOW] = window
    arena[qp + f.Q_WINDOW_NOW] = max(1, int(min(window, 1e12) * arena[f.PAYLOAD]))
