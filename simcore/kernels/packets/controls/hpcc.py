"""HPCC: rates from what every hop says of its queue and its throughput.

Source: Li et al., "HPCC: high precision congestion control", SIGCOMM 2019, in the form of rates
and with the 64-bit records of hops of its authors' simulator.
"""

import numpy as np

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.layout import Floats, Ints
from simcore.kernels.packets.pacing import change_rate, whole_rate

CODE = 3

# Parameters.
TARGET = f.PARAMETERS  # real
ADDITIVE, LEAST = f.PARAMETERS + 1, f.PARAMETERS + 2
STAGES = f.PARAMETERS + 3
REACTS_FAST = f.PARAMETERS + 4
PER_HOP = f.PARAMETERS + 5
SAMPLES = f.PARAMETERS + 6  # between updates, hops without a queue are left out

# State of a flow.
_UPDATED = f.Q_CONTROL  # byte after those sent at the latest update
_LOAD = f.Q_CONTROL + 1  # real; smoothed utilisation
_STAGE = f.Q_CONTROL + 2
_RATE = f.Q_CONTROL + 3  # as of the latest update
_HOPS = f.Q_CONTROL + 4  # latest records
_HOP_LOAD = f.Q_CONTROL + 9  # real; of each hop
_HOP_RATE = f.Q_CONTROL + 14
_HOP_STAGE = f.Q_CONTROL + 19

RATE_CODES = (
    25_000_000_000, 50_000_000_000, 100_000_000_000, 200_000_000_000, 400_000_000_000,
    1_200_000_000_000, 2_400_000_000_000,
)  # fmt: skip
"""Rates of lines that a record can name; any other one is taken for the first."""
_RATE_OF = np.array((*RATE_CODES, RATE_CODES[0]), np.int64)


@kernel
def on_start(arena: Ints, reals: Floats, qp: int) -> None:
    """Begin at the line rate, every hop taken to be fully used."""
    reals[qp + _LOAD] = 1.0
    arena[qp + _RATE] = arena[qp + f.Q_RATE]
    for hop in range(f.MOST_HOPS):
        reals[qp + _HOP_LOAD + hop] = 1.0
        arena[qp + _HOP_RATE + hop] = arena[qp + f.Q_RATE]


@kernel
def on_ack(arena: Ints, reals: Floats, qp: int, packet: int) -> None:
    """Move the rate; what it is moved from changes once per round trip."""
    updates = arena[packet + f.P_SEQ] > arena[qp + _UPDATED]
    if not updates and arena[REACTS_FAST] == 0:
        return
    sent, hops = arena[qp + f.Q_NEXT], arena[packet + f.P_STAMP]
    if arena[qp + _UPDATED] == 0:
        arena[qp + _UPDATED] = sent
        for hop in range(min(hops, f.MOST_HOPS)):
            arena[qp + _HOPS + hop] = arena[packet + f.P_HOPS + hop]
        return
    if hops <= f.MOST_HOPS:
        if arena[PER_HOP] != 0:
            _move_by_hop(arena, reals, qp, packet, updates)
        else:
            _move(arena, reals, qp, packet, updates)
    if updates and sent > arena[qp + _UPDATED]:
        arena[qp + _UPDATED] = sent


@kernel
def _is_left_out(arena: Ints, record: int, updates: bool) -> bool:
    return arena[SAMPLES] != 0 and not updates and _queue(arena, record) == 0


@kernel
def _queue(arena: Ints, record: int) -> int:
    return ((record >> 47) & 0x1FFFF) * 80 * arena[f.HOP_UNIT]


@kernel
def elapsed_ns(record: int, old: int) -> int:
    """Time between two records of a hop."""
    return ((record >> 3) - (old >> 3)) & 0xFFFFFF


@kernel
def load_between(arena: Ints, qp: int, record: int, old: int) -> float:
    """Utilisation of a hop between two records: throughput, and queue against the window."""
    line = _RATE_OF[record & 7]
    sent = (((record >> 27) - (old >> 27)) & 0xFFFFF) * 128 * arena[f.HOP_UNIT]
    rate = (sent * 8) / (elapsed_ns(record, old) * 1e-9)
    queue = np.float64(min(_queue(arena, record), _queue(arena, old)))
    return rate / line + queue * arena[qp + f.Q_LINE_RATE] / line / arena[qp + f.Q_WINDOW]


@kernel
def _move(arena: Ints, reals: Floats, qp: int, packet: int, updates: bool) -> None:
    """One rate, by the hop that is used most."""
    most, of_ns, is_known = 0.0, 0, False
    for hop in range(arena[packet + f.P_STAMP]):
        record, old = arena[packet + f.P_HOPS + hop], arena[qp + _HOPS + hop]
        if _is_left_out(arena, record, updates):
            continue
        is_known = True
        load = load_between(arena, qp, record, old)
        if load > most:
            most, of_ns = load, elapsed_ns(record, old)
        arena[qp + _HOPS + hop] = record
    if not is_known:
        return
    base_ns = arena[qp + f.Q_BASE_RTT_NS]
    of_ns = min(of_ns, base_ns)
    reals[qp + _LOAD] = (reals[qp + _LOAD] * (base_ns - of_ns) + most * of_ns) / np.float64(base_ns)
    factor = reals[qp + _LOAD] / reals[TARGET]
    divides = factor >= 1.0 or arena[qp + _STAGE] >= arena[STAGES]
    rate = _moved(arena, qp, arena[qp + _RATE], factor, divides)
    change_rate(arena, qp, rate)
    if updates:
        arena[qp + _RATE] = rate
        arena[qp + _STAGE] = 0 if divides else arena[qp + _STAGE] + 1


@kernel
def _moved(arena: Ints, qp: int, rate: int, factor: float, divides: bool) -> int:
    line = arena[qp + f.Q_LINE_RATE]
    if divides:
        rate = whole_rate(rate / factor, line)
    return min(max(rate + arena[ADDITIVE], arena[LEAST]), line)


@kernel
def _move_by_hop(arena: Ints, reals: Floats, qp: int, packet: int, updates: bool) -> None:
    """A rate for each hop; the lowest one counts."""
    hops, lowest, is_known = arena[packet + f.P_STAMP], arena[qp + f.Q_LINE_RATE], False
    base_ns = arena[qp + f.Q_BASE_RTT_NS]
    for hop in range(hops):
        record, old = arena[packet + f.P_HOPS + hop], arena[qp + _HOPS + hop]
        rate, stage = arena[qp + _HOP_RATE + hop], arena[qp + _HOP_STAGE + hop]
        if not _is_left_out(arena, record, updates):
            is_known = True
            load, of_ns = (
                load_between(arena, qp, record, old),
                min(elapsed_ns(record, old), base_ns),
            )
            arena[qp + _HOPS + hop] = record
            kept = reals[qp + _HOP_LOAD + hop] * (base_ns - of_ns)
            reals[qp + _HOP_LOAD + hop] = (kept + load * of_ns) / np.float64(base_ns)
            factor = reals[qp + _HOP_LOAD + hop] / reals[TARGET]
            divides = factor >= 1.0 or stage >= arena[STAGES]
            rate = _moved(arena, qp, rate, factor, divides)
            if updates:
                arena[qp + _HOP_RATE + hop] = rate
                arena[qp + _HOP_STAGE + hop] = 0 if divides else stage + 1
        lowest = min(lowest, rate)
    if is_known:
        change_rate(arena, qp, lowest)
