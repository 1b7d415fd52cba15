"""Designs of which it is known what is sooner in the communication slots of last passes."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.bounds.collective_times import cut_into_chunks, order_of_phases
from simcore.kernels.bounds.tables import ALL_REDUCE, BoundTables, Floats, Ints
from simcore.kernels.jit import njit

_SLACK = 1e-9  # far more than the rounding of a few hundred sums


@njit(cache=True, error_model="numpy")
def crowded_designs(
    tables: BoundTables, picks: Ints, rates: Floats, weak: NDArray[np.bool_],
    crowded: NDArray[np.bool_],
) -> None:  # fmt: skip
    """Write for each design whether members end together and all rooms of its plan hold.

    The collectives of a room must end before the compute that they are beside.
    """
    plans, rooms = tables.plans, tables.rooms
    room_ns, room_items = tables.room_ns, tables.room_items
    for n in range(picks.shape[0]):
        plan = picks[n, 0]
        crowded[n] = plan >= 0 and picks[n, 1] >= 0 and not weak[n]
        if not crowded[n]:
            continue
        for room in range(plans[plan]["rooms"], plans[plan + 1]["rooms"]):
            most = 0.0
            for at in range(rooms[room], rooms[room + 1]):
                most += most_ns(tables, picks, rates, n, room_items[at])
            if most * (1.0 + _SLACK) + 1.0 >= room_ns[room]:
                crowded[n] = False
                break


@njit(cache=True, error_model="numpy")
def most_ns(tables: BoundTables, picks: Ints, rates: Floats, n: int, number: int) -> float:
    """Most time of a collective of the plan of design *n*; infinite where nothing is certain.

    At any time one of its chunks is in one of its phases.
    """
    plan, place, system = picks[n, 0], picks[n, 1], tables.systems[picks[n, 2]]
    collective = tables.collectives[tables.plans[plan]["collectives"] + number]
    kind, axis = collective["kind"], collective["axis"]
    dimensions = picks.shape[1] - 3
    step = np.empty((2, 2 * dimensions), np.int64)
    count = 0
    for d in range(dimensions):
        if tables.places[place, axis, d] > 0:
            step[0, count] = d
            count += 1
    if count > 1 and system["reordered"] > 0:
        return np.inf
    count = order_of_phases(kind, kind == ALL_REDUCE and system["aware"] > 0, False, count, step)
    group, memory_ns = tables.members[place, axis], tables.memory_ns_per_byte[plan]
    size, chunks = cut_into_chunks(kind, float(collective["bytes"]), system["chunks"], group)
    most = 0.0
    for j in range(count):
        d = step[0, j]
        link = picks[n, 3 + d]
        cost = tables.phases[tables.extents[tables.places[place, axis, d], link, step[1, j]]]
        if cost["exact"] == 0.0:
            return np.inf
        unit = size / cost["divisor"]
        per_byte = tables.links[link]["per_npu"] * rates[n, dimensions + d]
        most += cost["hops"] * rates[n, d] + cost["units"] * unit * per_byte
        most += cost["delays"] * system["delay"] + 3.0 * cost["reduced"] * unit * memory_ns
        size = size * cost["grows"] / cost["shrinks"]
    return most * chunks
