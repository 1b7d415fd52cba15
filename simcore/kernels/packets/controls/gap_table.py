"""Congestion control of InfiniBand: marks move a flow along a table of gaps between packets.

Source: InfiniBand Architecture Specification, volume 1, annex A10: a switch marks packets forward
(FECN), the target tells the source (BECN), whose index into a table rises by a step, and falls by
one whenever a timer goes off. The table here is linear: entry i lets i packets' time pass.
"""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.layout import Floats, Ints
from simcore.kernels.packets.pacing import set_rate, start_timer

CODE = 108

# Parameters.
STEP, MOST_INDEX = f.PARAMETERS, f.PARAMETERS + 1
TIMER_NS = f.PARAMETERS + 2
GAP = f.PARAMETERS + 3  # real; packets' times per entry

# State of a flow.
_INDEX = f.Q_CONTROL
_IS_ON = f.Q_CONTROL + 1


@kernel
def on_ack(arena: Ints, reals: Floats, qp: int, packet: int) -> None:
    """Move up the table for a mark that was told."""
    if arena[packet + f.P_MARK] == 0 or arena[qp + f.Q_FINISH_NS] >= 0:
        return
    _move(arena, reals, qp, min(arena[qp + _INDEX] + arena[STEP], arena[MOST_INDEX]))
    if arena[qp + _IS_ON] == 0:
        arena[qp + _IS_ON] = 1
        start_timer(arena, qp, 0, arena[TIMER_NS], 0)


@kernel
def on_timer(arena: Ints, reals: Floats, qp: int) -> None:
    """Move one entry down; at the first, the timer rests."""
    _move(arena, reals, qp, arena[qp + _INDEX] - 1)
    if arena[qp + _INDEX] > 0:
        start_timer(arena, qp, 0, arena[TIMER_NS], 0)
    else:
        arena[qp + _IS_ON] = 0


@kernel
def _move(arena: Ints, reals: Floats, qp: int, index: int) -> None:
    arena[qp + _INDEX] = index
    rate = arena[qp + f.Q_LINE_RATE] / (1.0 + reals[GAP] * index)
    set_rate(arena, qp, max(1, int(rate)))
