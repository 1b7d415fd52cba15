"""DCQCN as NICs have it: timers, and marks that come back with ACKs.

Source: Zhu et al., "Congestion control for large-scale RDMA deployments", SIGCOMM 2015; timers and
the order of steps are those of the reference simulator's variant "Mellanox".
"""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.layout import Floats, Ints
from simcore.kernels.packets.pacing import set_rate, start_timer, whole_rate

CODE = 1

# Parameters; those of time in ns.
ALPHA_NS, DECREASE_NS, INCREASE_NS = f.PARAMETERS, f.PARAMETERS + 1, f.PARAMETERS + 2
GAIN = f.PARAMETERS + 3  # real
STAGES = f.PARAMETERS + 4  # of fast recovery
ADDITIVE, HYPER, LEAST = f.PARAMETERS + 5, f.PARAMETERS + 6, f.PARAMETERS + 7
CLAMPS_TARGET = f.PARAMETERS + 8

# State of a flow.
_TARGET = f.Q_CONTROL
_ALPHA = f.Q_CONTROL + 1  # real
_IS_ON = f.Q_CONTROL + 2  # a mark has come
_MARK_FOR_ALPHA, _MARK_FOR_RATE = f.Q_CONTROL + 3, f.Q_CONTROL + 4
_STAGE = f.Q_CONTROL + 5
_INCREASE = f.Q_CONTROL + 6  # number of the valid timer

_TO_ALPHA, _TO_DECREASE, _TO_INCREASE = f._constants(0, 3)


@kernel
def on_start(arena: Ints, reals: Floats, qp: int) -> None:
    """Begin with an alpha of 1 and the line rate as the target."""
    reals[qp + _ALPHA] = 1.0
    arena[qp + _TARGET] = arena[qp + f.Q_RATE]


@kernel
def on_ack(arena: Ints, reals: Floats, qp: int, packet: int) -> None:
    """Note a mark; the first one starts the timers."""
    if arena[packet + f.P_MARK] == 0 or arena[qp + f.Q_FINISH_NS] >= 0:
        return
    arena[qp + _MARK_FOR_ALPHA] = 1
    arena[qp + _MARK_FOR_RATE] = 1
    if arena[qp + _IS_ON] == 0:
        arena[qp + _IS_ON] = 1
        arena[qp + _MARK_FOR_ALPHA] = 0
        start_timer(arena, qp, _TO_ALPHA, arena[ALPHA_NS], 0)
        start_timer(arena, qp, _TO_DECREASE, arena[DECREASE_NS] + 1, 0)
        arena[qp + _TARGET] = arena[qp + f.Q_RATE]


@kernel
def on_timer(arena: Ints, reals: Floats, qp: int, number: int, valid: int) -> None:
    """Carry out one of the three timers."""
    if number == _TO_ALPHA:
        gain = reals[GAIN]
        kept = (1.0 - gain) * reals[qp + _ALPHA]
        reals[qp + _ALPHA] = kept + gain if arena[qp + _MARK_FOR_ALPHA] != 0 else kept
        arena[qp + _MARK_FOR_ALPHA] = 0
        start_timer(arena, qp, _TO_ALPHA, arena[ALPHA_NS], 0)
    elif number == _TO_DECREASE:
        start_timer(arena, qp, _TO_DECREASE, arena[DECREASE_NS], 0)
        if arena[qp + _MARK_FOR_RATE] != 0:
            _decrease(arena, reals, qp)
    elif valid == arena[qp + _INCREASE]:
        start_timer(arena, qp, _TO_INCREASE, arena[INCREASE_NS], valid)
        _increase(arena, qp)


@kernel
def _decrease(arena: Ints, reals: Floats, qp: int) -> None:
    rate = arena[qp + f.Q_RATE]
    if arena[CLAMPS_TARGET] != 0 or arena[qp + _STAGE] != 0:
        arena[qp + _TARGET] = rate
    lower = whole_rate(rate * (1.0 - reals[qp + _ALPHA] / 2.0), rate)
    set_rate(arena, qp, max(arena[LEAST], lower))
    arena[qp + _STAGE] = 0
    arena[qp + _MARK_FOR_RATE] = 0
    arena[qp + _INCREASE] += 1
    start_timer(arena, qp, _TO_INCREASE, arena[INCREASE_NS], arena[qp + _INCREASE])


@kernel
def _increase(arena: Ints, qp: int) -> None:
    """Move half-way to the target, which rises once fast recovery is over."""
    stage, line = arena[qp + _STAGE], arena[qp + f.Q_LINE_RATE]
    if stage == arena[STAGES]:
        arena[qp + _TARGET] = min(arena[qp + _TARGET] + arena[ADDITIVE], line)
    elif stage > arena[STAGES]:
        arena[qp + _TARGET] = min(arena[qp + _TARGET] + arena[HYPER], line)
    set_rate(arena, qp, arena[qp + f.Q_RATE] // 2 + arena[qp + _TARGET] // 2)
    arena[qp + _STAGE] = stage + 1
