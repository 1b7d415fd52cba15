"""DCQCN as published: each packet that tells of marks lowers the rate, time and bytes raise it.

Source: Zhu et al., "Congestion control for large-scale RDMA deployments", SIGCOMM 2015, section 5
and figure 7. Bytes sent are counted when an ACK comes, so that the byte counter is late by a round
trip at most.
"""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.layout import Floats, Ints
from simcore.kernels.packets.pacing import set_rate, start_timer, whole_rate

CODE = 101

# Parameters; those of time in ns.
ALPHA_NS, INCREASE_NS = f.PARAMETERS, f.PARAMETERS + 1
GAIN = f.PARAMETERS + 2  # real
STAGES = f.PARAMETERS + 3  # of fast recovery
ADDITIVE, HYPER, LEAST = f.PARAMETERS + 4, f.PARAMETERS + 5, f.PARAMETERS + 6
COUNTED_BYTES = f.PARAMETERS + 7

# State of a flow.
_TARGET = f.Q_CONTROL
_ALPHA = f.Q_CONTROL + 1  # real
_IS_ON = f.Q_CONTROL + 2  # a mark has come
_TIMES, _COUNTS = f.Q_CONTROL + 3, f.Q_CONTROL + 4  # increases by time and by bytes since then
_FROM_BYTE = f.Q_CONTROL + 5
_ALPHA_TIMER, _TIMER = f.Q_CONTROL + 6, f.Q_CONTROL + 7  # numbers of the valid timers

_TO_ALPHA, _TO_INCREASE = f._constants(0, 2)


@kernel
def on_start(arena: Ints, reals: Floats, qp: int) -> None:
    """Begin with an alpha of 1 and the line rate as the target."""
    reals[qp + _ALPHA] = 1.0
    arena[qp + _TARGET] = arena[qp + f.Q_RATE]


@kernel
def on_ack(arena: Ints, reals: Floats, qp: int, packet: int) -> None:
    """Lower the rate at a mark; raise it once more bytes have been sent."""
    if arena[qp + f.Q_FINISH_NS] >= 0:
        return
    if arena[packet + f.P_MARK] != 0:
        _decrease(arena, reals, qp)
        return
    counted = arena[qp + f.Q_NEXT] - arena[qp + _FROM_BYTE]
    if arena[qp + _IS_ON] != 0 and counted >= arena[COUNTED_BYTES]:
        arena[qp + _FROM_BYTE] = arena[qp + f.Q_NEXT]
        arena[qp + _COUNTS] += 1
        _increase(arena, qp)


@kernel
def on_timer(arena: Ints, reals: Floats, qp: int, number: int, valid: int) -> None:
    """Let alpha decay, or raise the rate."""
    if number == _TO_ALPHA:
        if valid == arena[qp + _ALPHA_TIMER]:
            reals[qp + _ALPHA] *= 1.0 - reals[GAIN]
            start_timer(arena, qp, _TO_ALPHA, arena[ALPHA_NS], valid)
    elif valid == arena[qp + _TIMER]:
        arena[qp + _TIMES] += 1
        start_timer(arena, qp, _TO_INCREASE, arena[INCREASE_NS], valid)
        _increase(arena, qp)


@kernel
def _decrease(arena: Ints, reals: Floats, qp: int) -> None:
    rate = arena[qp + f.Q_RATE]
    arena[qp + _TARGET], arena[qp + _IS_ON] = rate, 1
    lower = whole_rate(rate * (1.0 - reals[qp + _ALPHA] / 2.0), rate)
    set_rate(arena, qp, max(arena[LEAST], lower))
    reals[qp + _ALPHA] = (1.0 - reals[GAIN]) * reals[qp + _ALPHA] + reals[GAIN]
    arena[qp + _TIMES] = arena[qp + _COUNTS] = 0
    arena[qp + _FROM_BYTE] = arena[qp + f.Q_NEXT]
    arena[qp + _ALPHA_TIMER] += 1
    arena[qp + _TIMER] += 1
    start_timer(arena, qp, _TO_ALPHA, arena[ALPHA_NS], arena[qp + _ALPHA_TIMER])
    start_timer(arena, qp, _TO_INCREASE, arena[INCREASE_NS], arena[qp + _TIMER])


@kernel
def _increase(arena: Ints, qp: int) -> None:
    """Move half-way to the target, which rises once fast recovery is over by time or bytes."""
    times, counts, line = arena[qp + _TIMES], arena[qp + _COUNTS], arena[qp + f.Q_LINE_RATE]
    least, most = min(times, counts), max(times, counts)
    if least > arena[STAGES]:
        step = (least - arena[STAGES]) * arena[HYPER]
        arena[qp + _TARGET] = min(arena[qp + _TARGET] + step, line)
    elif most >= arena[STAGES]:
        arena[qp + _TARGET] = min(arena[qp + _TARGET] + arena[ADDITIVE], line)
    set_rate(arena, qp, (arena[qp + f.Q_RATE] + arena[qp + _TARGET]) // 2)
