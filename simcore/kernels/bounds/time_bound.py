"""Lower bounds of iteration times: longest paths with the least time of every collective.

One design after another, a few hundred operations each: no events, no queues. All times are in
ns, as float64; a time of minus infinity means that nothing is known to come before.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.bounds.phases_in_turn import Chunks, any_order_ns, in_order_ns
from simcore.kernels.jit import njit
from simcore.kernels.records import Records, record_of

# Kinds of collectives and, of an all-reduce that scatters and gathers, of its phases.
ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE, ALL_TO_ALL, SUM_SCATTER, SUM_GATHER = range(6)

PHASE = record_of(
    np.float64, "divisor", "hops", "units", "messages", "delays", "reduced", "reductions",
    "grows", "shrinks", "unlike", "sent",
)  # fmt: skip
"""Least cost of one phase, see ``bounds.phase_costs.PhaseCost``."""

SYSTEM = record_of(
    np.float64, "chunks", "active", "delay", "aware", "reordered", "each", "serial", "meets"
)

PLAN = record_of(
    np.int64, "collectives", "segments", "stages", "microbatches", "message_bytes", "interleave",
    "overlaps",
)  # fmt: skip
"""A plan: where its collectives, segments and stages begin, and the rest of it."""

COLLECTIVE = record_of(np.int64, "kind", "axis", "bytes")
STAGE = record_of(np.int64, "kind", "held")  # micro-batches that it may hold
MESSAGE = record_of(np.int64, "dimension", "distance")  # of those between stages
LINK = record_of(np.int64, "per_npu", "npus", "hops")  # at a distance: 0: by the shorter way round

NODE = record_of(np.int64, "collective", "dep_from", "dep_to", "place")
"""A node: its collective (-1: its own time), dependencies from and to, place in the segment."""

ENTRY, EXIT, LAST = 1, 2, 4
"""Bits of a node's place."""

# Times of one kind of stage, each a sum over collectives and segments.
FORWARD_EXIT, BACKWARD_EXIT, BACKWARD_LAST, FORWARDS, BACKWARDS = 0, 1, 2, 3, 4
SLOT, SENDS, DRAIN, TO_SYNC, STEP_TO_SYNC, AFTER_SYNC, TAIL_SLOT, SUMS = 5, 6, 7, 8, 9, 10, 11, 12

_AT_ONCE = 256  # designs whose times of collectives fit into the cache of a core

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class BoundTables(NamedTuple):
    """Common data of designs: P plans, C collectives, G segments, T kinds of stage.

    Attributes:
        plans: (P + 1,) PLAN; the last one is where everything ends.
        memory_ns_per_byte: (P,) float64.
        collectives: (C,) COLLECTIVE.
        segments: (G + 1,) int64, where each one's nodes begin.
        nodes: (M,) NODE.
        node_ns: (M,) float64, of nodes that are no collectives.
        deps: (E,) int64, nodes relative to their segment.
        stages: (sum of stages,) STAGE.
        sums: (T + 1,) int64, where the terms of each kind of stage begin.
        sum_of_term: (Z,) int64, the sum of its stage that each belongs to.
        terms: (Z,) int64: collective k of the plan is k; path through segment g of the plan's K
            collectives to its exit is K + 2 g, to its last compute node K + 2 g + 1.
        factors: (Z,) float64.
        constants: (T, SUMS) float64.
        places: (L, axes, dimensions) int64: row of ``extents``, 0 where the axis is not there.
        members: (L, axes) int64.
        messages: (L,) MESSAGE.
        extents: (Q, kinds of link, kinds of phase) int64, row of ``phases``.
        phases: (R,) PHASE, pairs: for the member that ends last, first.
        links: (kinds of link,) LINK.
        systems: (S,) SYSTEM.
    """

    plans: Records
    memory_ns_per_byte: Floats
    collectives: Records
    segments: Ints
    nodes: Records
    node_ns: Floats
    deps: Ints
    stages: Records
    sums: Ints
    sum_of_term: Ints
    terms: Ints
    factors: Floats
    constants: Floats
    places: Ints
    members: Ints
    messages: Records
    extents: Ints
    phases: Records
    links: Records
    systems: Records


@njit(cache=True, error_model="numpy")
def time_bounds(tables: BoundTables, picks: Ints, rates: Floats, longest: Ints) -> Floats:
    """Lower bound of each design's iteration time.

    Args:
        tables: As above.
        picks: (N, 3 + D) int64: plan, place, system, and per dimension the kind of link; a
            negative plan or place is infeasible.
        rates: (N, 2 D) float64: latencies in ns, then ns per byte.
        longest: (3,) int64, most collectives and segments, nodes of a segment, stages of a plan.

    Returns:
        (N,) float64, ns; infinite where the design is infeasible.
    """
    designs = picks.shape[0]
    times = np.empty((_AT_ONCE, longest[0]))
    weak = np.zeros(_AT_ONCE, np.bool_)
    bound = np.full(designs, np.inf)
    for begin in range(0, designs, _AT_ONCE):
        part = slice(begin, min(begin + _AT_ONCE, designs))
        _collective_times(tables, picks[part], rates[part], times, weak)
        _segment_paths(tables, picks[part], times, longest)
        _pipelines(tables, picks[part], rates[part], times, longest, weak, bound[part])
    return bound


# Numba counts a reference of every array that it takes out of a tuple: each function below takes
# them once, and loops over all designs.


@njit(cache=True, error_model="numpy")
def _collective_times(
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
            link_ns[0, d] = _latency_ns(rates[n, d], system["meets"])
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
def _latency_ns(latency: float, meets: float) -> float:
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


@njit(cache=True, error_model="numpy")
def _segment_paths(tables: BoundTables, picks: Ints, times: Floats, longest: Ints) -> None:
    """Write the longest path through each segment, to its exit and to its last compute node."""
    plans, segments, nodes = tables.plans, tables.segments, tables.nodes
    node_ns, deps = tables.node_ns, tables.deps
    ends = np.empty(longest[1])
    for n in range(picks.shape[0]):
        plan = picks[n, 0]
        if plan < 0 or picks[n, 1] < 0:
            continue
        at = plans[plan + 1]["collectives"] - plans[plan]["collectives"]
        for g in range(plans[plan]["segments"], plans[plan + 1]["segments"]):
            begin = segments[g]
            leaves, last = 0.0, 0.0
            for i in range(begin, segments[g + 1]):
                node = nodes[i]
                end = 0.0 if node["place"] & ENTRY else -np.inf
                for e in range(node["dep_from"], node["dep_to"]):
                    end = max(end, ends[deps[e]])
                collective = node["collective"]
                end += node_ns[i] if collective < 0 else times[n, collective]
                ends[i - begin] = end
                if node["place"] & EXIT:
                    leaves = max(leaves, end)
                if node["place"] & LAST:
                    last = max(last, end)
            times[n, at], times[n, at + 1] = leaves, last
            at += 2


@njit(cache=True, error_model="numpy")
def _message_ns(
    messages: Records, links: Records, picks: Ints, rates: Floats, n: int, size_bytes: int,
    meets: float,
) -> float:  # fmt: skip
    """Least time of a message between neighbouring stages of design *n*; 0 where none is sent."""
    place = picks[n, 1]
    d, distance = messages[place]["dimension"], messages[place]["distance"]
    if d < 0:
        return 0.0
    link = links[picks[n, 3 + d]]
    hops = link["hops"] or min(distance, link["npus"] - distance)
    per_byte = link["per_npu"] * rates[n, picks.shape[1] - 3 + d]
    message = hops * _latency_ns(rates[n, d], meets) + size_bytes * per_byte
    return np.floor(message * (1.0 - 1e-14))  # no rounding lifts it to the next ns


@njit(cache=True, error_model="numpy")
def _pipelines(
    tables: BoundTables, picks: Ints, rates: Floats, times: Floats, longest: Ints,
    weak: NDArray[np.bool_], bound: Floats,
) -> None:  # fmt: skip
    """Write the longest of several paths through the pipeline, its drain and the optimizer step.

    Of a stage: all its passes after the first micro-batch has arrived; the way of that one to the
    last stage and back, and then all that the stage has left to do; as many such ways as follow
    each other because a stage may hold so many micro-batches only; and all its communication.
    """
    plans, stages = tables.plans, tables.stages
    messages, links, systems = tables.messages, tables.links, tables.systems
    sums, sum_of_term, terms = tables.sums, tables.sum_of_term, tables.terms
    factors, constants = tables.factors, tables.constants
    total = np.empty((longest[2], SUMS))
    row = np.empty(longest[2], np.int64)  # of ``total``, the same for stages of one kind
    arrival = np.empty(longest[2])  # of the first micro-batch
    for n in range(picks.shape[0]):
        plan = picks[n, 0]
        if plan < 0 or picks[n, 1] < 0:
            continue
        system, size_bytes = systems[picks[n, 2]], plans[plan]["message_bytes"]
        message = _message_ns(messages, links, picks, rates, n, size_bytes, system["meets"])
        begin, batches = plans[plan]["stages"], plans[plan]["microbatches"]
        count = plans[plan + 1]["stages"] - begin
        at = 0.0
        for s in range(count):
            kind = stages[begin + s]["kind"]
            row[s] = row[s - 1] if s > 0 and kind == stages[begin + s - 1]["kind"] else s
            if row[s] == s:
                for which in range(SUMS):
                    total[s, which] = constants[kind, which]
                for z in range(sums[kind], sums[kind + 1]):
                    total[s, sum_of_term[z]] += factors[z] * times[n, terms[z]]
            arrival[s] = at
            at += total[row[s], FORWARD_EXIT] + message
        ready, after, slots = 0.0, 0.0, 0.0
        # several slots compute passes at once that run beside each other
        beside = plans[plan]["overlaps"] > 0 and system["serial"] == 0
        turn = 0.0  # from the exit of a stage's forward pass until its gradient is back
        came_back = -np.inf  # when the last micro-batch's gradient arrives
        for s in range(count - 1, -1, -1):
            own = total[row[s]]
            last, forwards, backwards = own[BACKWARD_LAST], own[FORWARDS], own[BACKWARDS]
            if beside:
                forwards = backwards = 0.0
            done = arrival[s] + batches * (forwards + backwards)
            if plans[plan]["interleave"] == 1 and plans[plan]["overlaps"] == 0:
                held = stages[begin + s]["held"]
                around = own[FORWARD_EXIT] + turn
                more = around + batches * backwards + (batches - held) * forwards
                trips = (batches + held - 1) // held
                loops = (batches - 1) % held * forwards + trips * (around + last)
                done = max(done, arrival[s] + max(more, loops))
            entry = max(done - last, came_back)
            came_back = entry + own[BACKWARD_EXIT] + message
            turn += own[FORWARD_EXIT] + own[BACKWARD_EXIT] + 2 * message
            ready = max(ready, entry + last + own[TO_SYNC])
            after = max(after, own[AFTER_SYNC])
            if not weak[n]:
                ready = max(ready, entry + own[DRAIN] + own[STEP_TO_SYNC])
                busy = batches * (own[SLOT] + own[SENDS] * message) + own[TAIL_SLOT]
                slots = max(slots, busy)
        bound[n] = max(ready + after, slots)
