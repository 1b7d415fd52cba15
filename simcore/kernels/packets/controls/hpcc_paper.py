"""HPCC as published: a window from what every hop says, and the rate that goes with it.

Source: Li et al., "HPCC: high precision congestion control", SIGCOMM 2019, algorithm 1.
"""

import numpy as np

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.controls.hpcc import elapsed_ns, load_between
from simcore.kernels.packets.layout import Floats, Ints
from simcore.kernels.packets.pacing import change_rate, whole_rate

CODE = 102

# Parameters.
TARGET = f.PARAMETERS  # real
STAGES = f.PARAMETERS + 1
SHARE = f.PARAMETERS + 2  # real: additive increase, as a part of the largest window
LEAST = f.PARAMETERS + 3

# State of a flow.
_UPDATED = f.Q_CONTROL  # byte after those sent at the latest update
_LOAD = f.Q_CONTROL + 1  # real; smoothed utilisation
_STAGE = f.Q_CONTROL + 2
_WINDOW = f.Q_CONTROL + 3  # real; bytes, as of the latest update
_HOPS = f.Q_CONTROL + 4  # latest records


@kernel
def on_start(arena: Ints, reals: Floats, qp: int) -> None:
    """Begin with a window of one bandwidth-delay product."""
    reals[qp + _LOAD] = 1.0
    reals[qp + _WINDOW] = _most_bytes(arena, qp)
    arena[qp + f.Q_WINDOW_NOW] = max(1, int(_most_bytes(arena, qp)))


@kernel
def _most_bytes(arena: Ints, qp: int) -> float:
    return arena[qp + f.Q_LINE_RATE] * 1e-9 / 8.0 * arena[qp + f.Q_BASE_RTT_NS]


@kernel
def on_ack(arena: Ints, reals: Floats, qp: int, packet: int) -> None:
    """Measure what is in flight, and set the window; its base moves once per round trip."""
    hops = arena[packet + f.P_STAMP]
    if hops == 0 or hops > f.MOST_HOPS or arena[packet + f.P_TYPE] == f.CNP:
        return
    updates = arena[packet + f.P_SEQ] > arena[qp + _UPDATED]
    if arena[qp + _UPDATED] != 0:
        _measure(arena, reals, qp, packet)
        _move(arena, reals, qp, updates)
    for hop in range(hops):
        arena[qp + _HOPS + hop] = arena[packet + f.P_HOPS + hop]
    if updates:
        arena[qp + _UPDATED] = arena[qp + f.Q_NEXT]


@kernel
def _measure(arena: Ints, reals: Floats, qp: int, packet: int) -> None:
    """Smooth the utilisation of the hop that is used most."""
    most, of_ns = 0.0, 0
    for hop in range(arena[packet + f.P_STAMP]):
        record, old = arena[packet + f.P_HOPS + hop], arena[qp + _HOPS + hop]
        passed_ns = elapsed_ns(record, old)
        if passed_ns == 0:  # of the same packet: answered twice
            continue
        load = load_between(arena, qp, record, old)
        if load > most:
            most, of_ns = load, passed_ns
    base_ns = arena[qp + f.Q_BASE_RTT_NS]
    of_ns = min(of_ns, base_ns)
    kept = reals[qp + _LOAD] * (base_ns - of_ns)
    reals[qp + _LOAD] = (kept + most * of_ns) / np.float64(base_ns)


@kernel
def _move(arena: Ints, reals: Floats, qp: int, updates: bool) -> None:
    base, load = reals[qp + _WINDOW], reals[qp + _LOAD] / reals[TARGET]
    most = _most_bytes(arena, qp)
    divides = load >= 1.0 or arena[qp + _STAGE] >= arena[STAGES]
    window = (base / load if divides else base) + reals[SHARE] * most
    window = min(window, most)
    if updates:
        reals[qp + _WINDOW] = window
        arena[qp + _STAGE] = 0 if divides else arena[qp + _STAGE] + 1
    arena[qp + f.Q_WINDOW_NOW] = max(1, int(window))
    line = arena[qp + f.Q_LINE_RATE]
    change_rate(arena, qp, max(arena[LEAST], whole_rate(line * window / most, line)))
