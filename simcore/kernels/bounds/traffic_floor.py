"""The least time in which the links of a network carry what collectives send over them.

A simulated time can be shorter where messages never meet; that of a machine cannot.
"""

import numpy as np

from simcore.kernels.bounds.collective_times import cut_into_chunks, order_of_phases
from simcore.kernels.bounds.tables import (
    ALL_REDUCE,
    REDUCE_SCATTER,
    SLOT,
    TAIL_SLOT,
    BoundTables,
    Floats,
    Ints,
)
from simcore.kernels.jit import njit


@njit(cache=True, error_model="numpy")
def traffic_floors(tables: BoundTables, picks: Ints, rates: Floats, longest: int) -> Floats:
    """Bytes of collectives over bandwidth, per design, over all stages and dimensions.

    Args:
        tables: As for ``time_bounds``.
        picks: As for ``time_bounds``.
        rates: As for ``time_bounds``.
        longest: Most collectives of a plan.

    Returns:
        (N,) float64, ns; 0 where the design is infeasible or nothing is known.
    """
    designs, dimensions = picks.shape[0], picks.shape[1] - 3
    floors = np.zeros(designs)
    sent = np.empty((longest, dimensions))
    carried = np.empty(dimensions)
    plans, stages, sums = tables.plans, tables.stages, tables.sums
    sum_of_term, terms, factors = tables.sum_of_term, tables.terms, tables.factors
    for n in range(designs):
        plan = picks[n, 0]
        if plan < 0 or picks[n, 1] < 0:
            continue
        _sent_bytes(tables, picks[n], sent)
        for s in range(plans[plan]["stages"], plans[plan + 1]["stages"]):
            kind = stages[s]["kind"]
            if s > plans[plan]["stages"] and kind == stages[s - 1]["kind"]:
                continue
            carried[:] = 0.0
            for z in range(sums[kind], sums[kind + 1]):
                if sum_of_term[z] == SLOT or sum_of_term[z] == TAIL_SLOT:
                    times = plans[plan]["microbatches"] if sum_of_term[z] == SLOT else 1
                    for d in range(dimensions):
                        carried[d] += factors[z] * times * sent[terms[z], d]
            for d in range(dimensions):
                floors[n] = max(floors[n], carried[d] * rates[n, dimensions + d])
    return floors


@njit(cache=True, error_model="numpy")
def _sent_bytes(tables: BoundTables, pick: Ints, sent: Floats) -> None:
    """Write what one member at least sends over each dimension in each collective of the plan."""
    plan, place, system = pick[0], pick[1], tables.systems[pick[2]]
    plans, collectives, places = tables.plans, tables.collectives, tables.places
    members, extents, phases = tables.members, tables.extents, tables.phases
    reordered = system["reordered"] > 0
    dimensions = pick.size - 3
    step = np.empty((2, 2 * dimensions), np.int64)
    first = plans[plan]["collectives"]
    for k in range(first, plans[plan + 1]["collectives"]):
        kind, axis = collectives[k]["kind"], collectives[k]["axis"]
        sent[k - first] = 0.0
        count = 0
        for d in range(dimensions):
            if places[place, axis, d] > 0:
                step[0, count] = d
                count += 1
        split = kind == ALL_REDUCE and system["aware"] > 0
        count = order_of_phases(kind, split, reordered, count, step)
        group = members[place, axis]
        whole = float(collectives[k]["bytes"])
        size, chunks = cut_into_chunks(kind, whole, system["chunks"], group)
        if reordered and count > 1 and (split or kind == REDUCE_SCATTER):
            size = np.floor(size / group)  # whichever dimension is the last one
        for j in range(count):
            d = step[0, j]
            cost = phases[extents[places[place, axis, d], pick[3 + d], step[1, j]]]
            at = size
            if reordered and count > 1:
                at *= cost["shrinks"]
            sent[k - first, d] += chunks * cost["sent"] * np.floor(at / cost["divisor"])
            if not reordered and cost["grows"] != cost["shrinks"]:
                size = np.floor(size * cost["grows"] / cost["shrinks"])
