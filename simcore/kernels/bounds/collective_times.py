"""Least times of the collectives of many designs."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.bounds.phases_in_turn import Chunks, any_order_ns, in_order_ns
from simcore.kernels.bounds.tables import (
    ALL_GATHER,
    ALL_REDUCE,
    REDUCE_SCATTER,
    SUM_GATHER,
    SUM_SCATTER,
    BoundTables,
    Floats,
    Ints,
)
from simcore.kernels.jit import njit

# Numba counts a reference of every array that it takes out of a tuple: each function below takes
# them once, and loops over all designs.


@njit(cache=True, error_model="numpy")
def collective_times(
    tables: BoundTables, picks: Ints, rates: Floats, times: Floats, weak: NDArray[np.bool_]
) -> None:
    """Write the least time of each collective; *weak* where members may end one by one.

    A member that ends late starts its next collective late, and may find its part of it done: then
    only paths from the earliest start on are certain, and no member's slot is surely busy.
    """
    plans, collectives, places = tables.plans, tables.collectives, tables.places
    members, extents, phases = tables.members, tables.extents, tables.phases
    links, systems, memory = tables.links, tables.systems, tables.memory_ns_per_byte
    dimensions = picks.shape[1] - 3
    link_ns = np.empty((2, dimensions))
    step = np.empty((2, 2 * dimensions), np.int64)
    work = np.empty((3, dimensions))
    for n in range(picks.shape[0]):
        plan, place = picks[n, 0], picks[n, 1]
        if plan < 0 or place < 0:
            continue
        system = systems[picks[n, 2]]
        for d in range(dimensions):
            link_ns[0, d] = latency_ns(rates[n, d], system["meets"])
            link_ns[1, d] = links[picks[n, 3 + d]]["per_npu"] * rates[n, dimensions + d]
        ends_first = 1 if system["each"] > 0 or system["meets"] > 0 else 0
        weak[n] = system["serial"] == 0 or system["meets"] > 0
        again = True
        while again:
            again = False
            first = plans[plan]["collectives"]
            for k in range(first, plans[plan + 1]["collectives"]):
                kind, axis = collectives[k]["kind"], collectives[k]["axis"]
                reordered = system["reordered"] > 0
                split = kind == ALL_REDUCE and system["aware"] > 0
                count = 0
                for d in range(dimensions):
                    if places[place, axis, d] > 0:
                        step[0, count] = d
                        count += 1
                count = order_of_phases(kind, split, reordered, count, step)
                for j in range(count):
                    d = step[0, j]
                    step[1, j] = extents[places[place, axis, d], picks[n, 3 + d], step[1, j]]
                    if ends_first and not weak[n] and phases[step[1, j]]["unlike"] > 0:
                        weak[n] = again = True
                group, whole = members[place, axis], float(collectives[k]["bytes"])
                size, cut = cut_into_chunks(kind, whole, system["chunks"], group)
                active, delay_ns = system["active"], system["delay"]
                chunks = Chunks(size, cut, active, delay_ns, memory[plan], ends_first)
                if reordered and count > 1:
                    scatters = group if split or kind == REDUCE_SCATTER else 1
                    time = any_order_ns(phases, step, count, scatters, link_ns, chunks, weak[n])
                else:
                    time = in_order_ns(phases, step, count, link_ns, chunks, work, weak[n])
                times[n, k - first] = time


@njit(cache=True, error_model="numpy")
def latency_ns(latency: float, meets: float) -> float:
    """Least latency of a hop: where messages meet, each hop's time is rounded by itself."""
    return np.floor(latency) if meets > 0 else latency


@njit(cache=True, error_model="numpy")
def cut_into_chunks(kind: int, whole: float, wanted: float, group: int) -> tuple[float, float]:
    """Size and number of the chunks of a collective of *whole* bytes among *group* members."""
    chunk, least = np.floor(whole / wanted), 1.0 if kind == ALL_GATHER else float(group)
    if chunk < least:
        chunk = least
        whole = max(whole, 1.0) if kind == ALL_GATHER else wanted * group
    return chunk, np.ceil(whole / chunk)


@njit(cache=True, error_model="numpy")
def order_of_phases(kind: int, split: bool, reordered: bool, involved: int, step: Ints) -> int:
    """Order the *involved* dimensions in ``step[0]`` by phases, with their kinds in ``step[1]``.

    All-gathers run outside in, the others inside out; an all-reduce that scatters and gathers does
    so below the outermost dimension. In an unknown order, the gathering is not counted.
    """
    for j in range(involved):
        step[1, j] = kind
    if kind == ALL_GATHER:
        for j in range(involved // 2):
            other = involved - 1 - j
            step[0, j], step[0, other] = step[0, other], step[0, j]
    if not split or involved < 2:
        return involved
    for j in range(involved - 1):
        step[1, j] = SUM_SCATTER
        step[0, 2 * involved - 2 - j], step[1, 2 * involved - 2 - j] = step[0, j], SUM_GATHER
    if reordered:
        step[1, involved - 1] = SUM_SCATTER
        return involved
    return 2 * involved - 1
