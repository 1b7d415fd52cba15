"""TIMELY: rates from the gradient of round-trip times.

Source: Mittal et al., "TIMELY: RTT-based congestion control for the datacenter", SIGCOMM 2015; one
update per round trip, as the reference simulator has it.
"""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.layout import Floats, Ints
from simcore.kernels.packets.pacing import set_rate, whole_rate

CODE = 7

# Parameters.
ALPHA, BETA = f.PARAMETERS, f.PARAMETERS + 1  # real
LOW_NS, HIGH_NS, LEAST_RTT_NS = f.PARAMETERS + 2, f.PARAMETERS + 3, f.PARAMETERS + 4
ADDITIVE, HYPER, LEAST = f.PARAMETERS + 5, f.PARAMETERS + 6, f.PARAMETERS + 7

_STEPS = 5  # of additive increase before hyper increase

# State of a flow.
_UPDATED = f.Q_CONTROL  # byte after those sent at the latest update
_RTT_NS = f.Q_CONTROL + 1
_CHANGE = f.Q_CONTROL + 2  # real, smoothed change of the round-trip time in ns
_RISES = f.Q_CONTROL + 3
_RATE = f.Q_CONTROL + 4


@kernel
def on_start(arena: Ints, reals: Floats, qp: int) -> None:
    """Begin at the line rate."""
    arena[qp + _RATE] = arena[qp + f.Q_RATE]


@kernel
def on_ack(arena: Ints, reals: Floats, qp: int, packet: int) -> None:
    """Measure the round trip; once per round trip, move the rate."""
    if arena[packet + f.P_SEQ] <= arena[qp + _UPDATED]:
        return
    rtt_ns = arena[f.NOW_NS] - arena[packet + f.P_STAMP]
    if arena[qp + _UPDATED] != 0:
        change = rtt_ns - arena[qp + _RTT_NS]
        smooth = (1.0 - reals[ALPHA]) * reals[qp + _CHANGE] + reals[ALPHA] * change
        _move(arena, reals, qp, rtt_ns, smooth / arena[LEAST_RTT_NS])
        reals[qp + _CHANGE] = smooth
    arena[qp + _UPDATED] = arena[qp + f.Q_NEXT]
    arena[qp + _RTT_NS] = rtt_ns


@kernel
def _move(arena: Ints, reals: Floats, qp: int, rtt_ns: int, gradient: float) -> None:
    rate, line = arena[qp + _RATE], arena[qp + f.Q_LINE_RATE]
    above = rtt_ns > arena[HIGH_NS]
    if rtt_ns < arena[LOW_NS] or (not above and gradient <= 0.0):
        step = arena[ADDITIVE] if arena[qp + _RISES] < _STEPS else arena[HYPER]
        rate = min(rate + step, line)
        arena[qp + _RISES] += 1
    else:
        if above:
            factor = 1.0 - reals[BETA] * (1.0 - arena[HIGH_NS] / rtt_ns)
        else:
            factor = max(0.0, 1.0 - reals[BETA] * gradient)
        rate = max(arena[LEAST], whole_rate(rate * factor, line))
        arena[qp + _RISES] = 0
    arena[qp + _RATE] = rate
    set_rate(arena, qp, rate)
