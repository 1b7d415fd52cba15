"""Swift: a window that keeps the round trip at a target, below one packet if need be.

Source: Kumar et al., "Swift: delay is simple and effective for congestion control in the
datacenter", SIGCOMM 2020, algorithm 1 and section 3.5: the target grows with the links of a way and
with the inverse square root of the window. Delays of hosts are 0 here, so that the window of the
fabric is the only one.
"""

import numpy as np

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.layout import Floats, Ints
from simcore.kernels.packets.pacing import set_rate, whole_rate

CODE = 104

# Parameters; times in ns, windows in packets.
BASE_NS, LINK_NS, RANGE_NS = f.PARAMETERS, f.PARAMETERS + 1, f.PARAMETERS + 2
RANGE_LEAST, RANGE_MOST = f.PARAMETERS + 3, f.PARAMETERS + 4  # real
ADDITIVE, BETA, MOST_CUT = f.PARAMETERS + 5, f.PARAMETERS + 6, f.PARAMETERS + 7  # real
LEAST, MOST = f.PARAMETERS + 8, f.PARAMETERS + 9  # real
MOST_TIMEOUTS = f.PARAMETERS + 10

# State of a flow.
_WINDOW = f.Q_CONTROL  # real; packets
_CUT_NS = f.Q_CONTROL + 1  # time of the latest decrease
_RTT_NS = f.Q_CONTROL + 2
_ACKED = f.Q_CONTROL + 3  # bytes, at the ACK before
_TIMEOUTS = f.Q_CONTROL + 4  # in a row


@kernel
def on_start(arena: Ints, reals: Floats, qp: int) -> None:
    """Begin with a window of one bandwidth-delay product."""
    product = arena[qp + f.Q_LINE_RATE] * 1e-9 / 8.0 * arena[qp + f.Q_BASE_RTT_NS]
    arena[qp + _RTT_NS] = arena[qp + f.Q_BASE_RTT_NS]
    _open(arena, reals, qp, max(1.0, product / arena[f.PAYLOAD]))


@kernel
def target_ns(arena: Ints, reals: Floats, qp: int) -> float:
    """Delay that a flow aims at, by its way and its window."""
    low, high = 1.0 / np.sqrt(reals[RANGE_LEAST]), 1.0 / np.sqrt(reals[RANGE_MOST])
    slope = arena[RANGE_NS] / (low - high)
    scaled = slope * (1.0 / np.sqrt(reals[qp + _WINDOW]) - high)
    scaled = min(max(scaled, 0.0), float(arena[RANGE_NS]))
    return arena[BASE_NS] + arena[qp + f.Q_LINKS] * arena[LINK_NS] + scaled


@kernel
def on_ack(arena: Ints, reals: Floats, qp: int, packet: int) -> None:
    """Open the window below the target delay; close it above, once per round trip."""
    if arena[packet + f.P_TYPE] == f.CNP:
        return
    delay_ns = arena[f.NOW_NS] - arena[packet + f.P_STAMP]
    arena[qp + _RTT_NS] = (7 * arena[qp + _RTT_NS] + delay_ns) // 8
    arena[qp + _TIMEOUTS] = 0
    came = max(0, arena[qp + f.Q_ACKED] - arena[qp + _ACKED]) / arena[f.PAYLOAD]
    arena[qp + _ACKED] = arena[qp + f.Q_ACKED]
    window, aim_ns = reals[qp + _WINDOW], target_ns(arena, reals, qp)
    if arena[packet + f.P_TYPE] == f.NACK:
        _cut(arena, reals, qp, 1.0 - reals[MOST_CUT])
    elif delay_ns < aim_ns:
        step = reals[ADDITIVE] * came
        _open(arena, reals, qp, window + (step / window if window >= 1.0 else step))
    else:
        factor = 1.0 - reals[BETA] * (delay_ns - aim_ns) / delay_ns
        _cut(arena, reals, qp, max(factor, 1.0 - reals[MOST_CUT]))


@kernel
def on_timeout(arena: Ints, reals: Floats, qp: int) -> None:
    """Close the window: after several timeouts in a row, to the least."""
    arena[qp + _TIMEOUTS] += 1
    if arena[qp + _TIMEOUTS] >= arena[MOST_TIMEOUTS]:
        _open(arena, reals, qp, reals[LEAST])
    else:
        _cut(arena, reals, qp, 1.0 - reals[MOST_CUT])


@kernel
def _cut(arena: Ints, reals: Floats, qp: int, factor: float) -> None:
    if arena[f.NOW_NS] - arena[qp + _CUT_NS] < arena[qp + _RTT_NS]:
        return
    arena[qp + _CUT_NS] = arena[f.NOW_NS]
    _open(arena, reals, qp, reals[qp + _WINDOW] * factor)


@kernel
def _open(arena: Ints, reals: Floats, qp: int, window: float) -> None:
    """Set the window; one of less than a packet sends one in so many round trips."""
    window = min(max(window, reals[LEAST]), reals[MOST])
    reals[qp + _WINDOW] = window
    payload, line = arena[f.PAYLOAD], arena[qp + f.Q_LINE_RATE]
    if window >= 1.0:
        arena[qp + f.Q_WINDOW_NOW] = int(window * payload)
        set_rate(arena, qp, line)
        return
    arena[qp + f.Q_WINDOW_NOW] = 1
    bits = 8e9 * (payload + arena[f.HEADERS])
    set_rate(arena, qp, max(1, whole_rate(window * bits / arena[qp + _RTT_NS], line)))
