"""DCTCP as rates: the share of marked packets says how far the rate falls.

Source: Alizadeh et al., "Data center TCP (DCTCP)", SIGCOMM 2010, in the form in which the reference
simulator paces queue pairs by it.
"""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.layout import Floats, Ints
from simcore.kernels.packets.pacing import set_rate, whole_rate

CODE = 8

# Parameters.
GAIN = f.PARAMETERS  # real
ADDITIVE, LEAST = f.PARAMETERS + 1, f.PARAMETERS + 2

# State of a flow.
_UPDATED = f.Q_CONTROL  # byte after those sent at the latest update
_ALPHA = f.Q_CONTROL + 1  # real
_MARKS = f.Q_CONTROL + 2
_BATCH = f.Q_CONTROL + 3  # packets
_IS_REDUCED = f.Q_CONTROL + 4
_REDUCED_UNTIL = f.Q_CONTROL + 5  # byte


@kernel
def on_start(arena: Ints, reals: Floats, qp: int) -> None:
    """Begin with an alpha of 1."""
    reals[qp + _ALPHA] = 1.0


@kernel
def on_ack(arena: Ints, reals: Floats, qp: int, packet: int) -> None:
    """Count marks; once per round trip, learn from them and rise; fall at the first mark."""
    acked, sent = arena[packet + f.P_SEQ], arena[qp + f.Q_NEXT]
    is_marked = arena[packet + f.P_MARK] != 0
    arena[qp + _MARKS] += arena[packet + f.P_MARK]  # of a train, of each of its packets
    is_new = acked > arena[qp + _UPDATED]
    if is_new:
        if arena[qp + _UPDATED] == 0:
            arena[qp + _BATCH] = sent // arena[f.PAYLOAD] + 1
        else:
            share = min(1.0, arena[qp + _MARKS] / arena[qp + _BATCH])
            gain = reals[GAIN]
            reals[qp + _ALPHA] = (1.0 - gain) * reals[qp + _ALPHA] + gain * share
            arena[qp + _MARKS] = 0
            arena[qp + _BATCH] = (sent - acked) // arena[f.PAYLOAD] + 1
        arena[qp + _UPDATED] = sent
    if arena[qp + _IS_REDUCED] != 0 and acked > arena[qp + _REDUCED_UNTIL]:
        arena[qp + _IS_REDUCED] = 0
    rate = arena[qp + f.Q_RATE]
    if is_marked and arena[qp + _IS_REDUCED] == 0:
        rate = max(arena[LEAST], whole_rate(rate * (1.0 - reals[qp + _ALPHA] / 2.0), rate))
        set_rate(arena, qp, rate)
        arena[qp + _IS_REDUCED] = 1
        arena[qp + _REDUCED_UNTIL] = sent
    if is_new and arena[qp + _IS_REDUCED] == 0:
        set_rate(arena, qp, min(arena[qp + f.Q_LINE_RATE], rate + arena[ADDITIVE]))
