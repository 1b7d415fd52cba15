"""TIMELY as published: a rate from the gradient of round-trip times, segment by segment.

Source: Mittal et al., "TIMELY: RTT-based congestion control for the datacenter", SIGCOMM 2015,
algorithm 1: one step for each completed segment; after five steps with a falling round-trip time
the rate rises five times as fast.
"""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.layout import Floats, Ints
from simcore.kernels.packets.pacing import set_rate, whole_rate

CODE = 103

# Parameters.
ALPHA, BETA = f.PARAMETERS, f.PARAMETERS + 1  # real
LOW_NS, HIGH_NS, LEAST_RTT_NS = f.PARAMETERS + 2, f.PARAMETERS + 3, f.PARAMETERS + 4
ADDITIVE, LEAST = f.PARAMETERS + 5, f.PARAMETERS + 6
SEGMENT = f.PARAMETERS + 7  # bytes

_STEPS = 5

# State of a flow.
_SEEN = f.Q_CONTROL  # bytes acknowledged at the latest step
_RTT_NS = f.Q_CONTROL + 1
_CHANGE = f.Q_CONTROL + 2  # real, smoothed change of the round-trip time in ns
_FALLS = f.Q_CONTROL + 3


@kernel
def on_ack(arena: Ints, reals: Floats, qp: int, packet: int) -> None:
    """Take the round trip of the last packet of a segment, and move the rate."""
    acked = arena[qp + f.Q_ACKED]
    if arena[packet + f.P_TYPE] == f.CNP or acked - arena[qp + _SEEN] < arena[SEGMENT]:
        return
    arena[qp + _SEEN] = acked
    rtt_ns = arena[f.NOW_NS] - arena[packet + f.P_STAMP]
    old_ns = arena[qp + _RTT_NS]
    arena[qp + _RTT_NS] = rtt_ns
    if old_ns == 0:
        return
    smooth = (1.0 - reals[ALPHA]) * reals[qp + _CHANGE] + reals[ALPHA] * (rtt_ns - old_ns)
    reals[qp + _CHANGE] = smooth
    _move(arena, reals, qp, rtt_ns, smooth / arena[LEAST_RTT_NS])


@kernel
def _move(arena: Ints, reals: Floats, qp: int, rtt_ns: int, gradient: float) -> None:
    rate, line = arena[qp + f.Q_RATE], arena[qp + f.Q_LINE_RATE]
    falls = arena[qp + _FALLS] + 1 if gradient <= 0.0 else 0
    arena[qp + _FALLS] = falls
    if rtt_ns < arena[LOW_NS]:
        rate += arena[ADDITIVE]
    elif rtt_ns > arena[HIGH_NS]:
        rate = whole_rate(rate * (1.0 - reals[BETA] * (1.0 - arena[HIGH_NS] / rtt_ns)), line)
    elif gradient <= 0.0:
        rate += (_STEPS if falls >= _STEPS else 1) * arena[ADDITIVE]
    else:
        rate = whole_rate(rate * max(0.0, 1.0 - reals[BETA] * gradient), line)
    set_rate(arena, qp, min(line, max(arena[LEAST], rate)))
