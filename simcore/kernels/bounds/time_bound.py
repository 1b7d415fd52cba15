"""Lower bounds of iteration times: longest paths with the least time of every collective.

One design after another, a few hundred operations each: no events, no queues. All times are in
ns, as float64; a time of minus infinity means that nothing is known to come before.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit

# Kinds of collectives and, of an all-reduce that scatters and gathers, of its phases.
ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE, ALL_TO_ALL, SUM_SCATTER, SUM_GATHER = range(6)

# Columns of ``phases``: what one phase costs at least. With u = floor(size / DIVISOR):
# HOPS x latency + UNITS x u / bandwidth - MESSAGES + DELAYS x delay + reductions of REDUCED x u.
DIVISOR, HOPS, UNITS, MESSAGES, DELAYS, REDUCED, REDUCTIONS = 0, 1, 2, 3, 4, 5, 6
GROWS, SHRINKS, UNLIKE, SENT, PHASE_COLUMNS = 7, 8, 9, 10, 11

# Columns of ``systems``.
CHUNKS, ACTIVE, DELAY, AWARE, REORDERED, EACH, SERIAL, SYSTEM_COLUMNS = 0, 1, 2, 3, 4, 5, 6, 7

# Columns of ``plans``.
COLLECTIVES, SEGMENTS, STAGES, MICROBATCHES, MESSAGE_BYTES, INTERLEAVE, PLAN_COLUMNS = range(7)

# Columns of ``nodes``: collective (-1: its own time), dependencies from and to, place in segment.
COLLECTIVE, DEP_FROM, DEP_TO, PLACE, NODE_COLUMNS = 0, 1, 2, 3, 4
ENTRY, EXIT, LAST = 1, 2, 4  # bits of PLACE

# Times of one kind of stage, each a sum over collectives and segments.
FORWARD_EXIT, BACKWARD_EXIT, BACKWARD_LAST, FORWARDS, BACKWARDS = 0, 1, 2, 3, 4
SLOT, SENDS, DRAIN, TO_SYNC, STEP_TO_SYNC, AFTER_SYNC, TAIL_SLOT, SUMS = 5, 6, 7, 8, 9, 10, 11, 12

# Facts about the collective at hand.
_CHUNK, _CHUNKS, _ACTIVE, _DELAY, _MEMORY, _FIRST = 0, 1, 2, 3, 4, 5

_AT_ONCE = 256  # designs whose times of collectives fit into the cache of a core

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class BoundTables(NamedTuple):
    """Common data of designs: P plans, C collectives, G segments, T kinds of stage.

    Attributes:
        plans: (P + 1, PLAN_COLUMNS) int64; the first three columns are where the plan's
            collectives, segments and stages begin.
        memory_ns_per_byte: (P,) float64.
        collectives: (C, 3) int64, kind, axis, bytes.
        segments: (G + 1,) int64, where each one's nodes begin.
        nodes: (M, NODE_COLUMNS) int64.
        node_ns: (M,) float64, of nodes that are no collectives.
        deps: (E,) int64, nodes relative to their segment.
        stages: (sum of stages, 2) int64, kind of each stage, micro-batches that it may hold.
        sums: (T + 1,) int64, where the terms of each kind of stage begin.
        sum_of_term: (Z,) int64, the sum of its stage that each belongs to.
        terms: (Z,) int64: collective k of the plan is k; path through segment g of the plan's K
            collectives to its exit is K + 2 g, to its last compute node K + 2 g + 1.
        factors: (Z,) float64.
        constants: (T, SUMS) float64.
        places: (L, axes, dimensions) int64: row of ``extents``, 0 where the axis is not there.
        members: (L, axes) int64.
        messages: (L, 2) int64, dimension of the messages between stages, distance there.
        extents: (Q, kinds of link, kinds of phase) int64, row of ``phases``.
        phases: (R, PHASE_COLUMNS) float64, pairs of rows: for the member that ends last, first.
        links: (kinds of link, 3) int64: links per NPU, NPUs, and hops at distance: 0 by the
            shorter way round, else that number.
        systems: (S, SYSTEM_COLUMNS) float64.
    """

    plans: Ints
    memory_ns_per_byte: Floats
    collectives: Ints
    segments: Ints
    nodes: Ints
    node_ns: Floats
    deps: Ints
    stages: Ints
    sums: Ints
    sum_of_term: Ints
    terms: Ints
    factors: Floats
    constants: Floats
    places: Ints
    members: Ints
    messages: Ints
    extents: Ints
    phases: Floats
    links: Ints
    systems: Floats


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
    facts = np.empty(6)
    for n in range(picks.shape[0]):
        plan, place, system = picks[n, 0], picks[n, 1], picks[n, 2]
        if plan < 0 or place < 0:
            continue
        for d in range(dimensions):
            link_ns[0, d] = rates[n, d]
            link_ns[1, d] = links[picks[n, 3 + d], 0] * rates[n, dimensions + d]
        facts[_DELAY], facts[_MEMORY] = systems[system, DELAY], memory[plan]
        facts[_ACTIVE], facts[_FIRST] = systems[system, ACTIVE], systems[system, EACH]
        weak[n] = systems[system, SERIAL] == 0
        again = True
        while again:
            again = False
            first = plans[plan, COLLECTIVES]
            for k in range(first, plans[plan + 1, COLLECTIVES]):
                kind, axis = collectives[k, 0], collectives[k, 1]
                reordered = systems[system, REORDERED] > 0
                split = kind == ALL_REDUCE and systems[system, AWARE] > 0
                count = 0
                for d in range(dimensions):
                    if places[place, axis, d] > 0:
                        step[0, count] = d
                        count += 1
                count = order_of_phases(kind, split, reordered, count, step)
                for j in range(count):
                    d = step[0, j]
                    step[1, j] = extents[places[place, axis, d], picks[n, 3 + d], step[1, j]]
                    if systems[system, EACH] > 0 and not weak[n] and phases[step[1, j], UNLIKE] > 0:
                        weak[n] = again = True
                group, whole = members[place, axis], float(collectives[k, 2])
                wanted = systems[system, CHUNKS]
                facts[_CHUNK], facts[_CHUNKS] = cut_into_chunks(kind, whole, wanted, group)
                if reordered and count > 1:
                    scatters = group if split or kind == REDUCE_SCATTER else 1
                    time = _any_order(phases, step, count, scatters, link_ns, facts, weak[n])
                else:
                    time = _in_order(phases, step, count, link_ns, facts, work, weak[n])
                times[n, k - first] = time


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
def _phase_ns(
    phases: Floats, row: int, size: float, latency: float, per_byte: float, facts: Floats
) -> float:
    unit = size if phases[row, DIVISOR] == 1.0 else np.floor(size / phases[row, DIVISOR])
    time = phases[row, HOPS] * latency + phases[row, UNITS] * unit * per_byte
    time = max(time - phases[row, MESSAGES], 0.0) + phases[row, DELAYS] * facts[_DELAY]
    reduced = phases[row, REDUCED] * unit * facts[_MEMORY] - phases[row, REDUCTIONS]
    return time + max(3.0 * reduced, 0.0)


@njit(cache=True, error_model="numpy")
def _in_order(
    phases: Floats, step: Ints, count: int, link_ns: Floats, facts: Floats, work: Floats,
    weak: bool,
) -> float:  # fmt: skip
    """Least time of chunks that pass *count* phases one after another.

    Each dimension works on a few chunks at once: no schedule is shorter than one chunk's way, nor
    than a dimension's work after the first chunk has come there and before the last one has gone
    on from there.
    """
    size, path, opening = facts[_CHUNK], 0.0, 0.0
    first = 1 if facts[_FIRST] > 0 else 0
    for j in range(count):
        work[0, step[0, j]] = 0.0
    for j in range(count):
        d, row = step[0, j], step[1, j]
        spent = _phase_ns(phases, row + first, size, link_ns[0, d], link_ns[1, d], facts)
        if phases[row, GROWS] != phases[row, SHRINKS]:
            size = np.floor(size * phases[row, GROWS] / phases[row, SHRINKS])
        if work[0, d] == 0.0:
            work[1, d] = path
        if j == 0:
            opening = spent
        path += spent
        work[0, d] += spent
        work[2, d] = path
    if weak:
        return path + (np.ceil(facts[_CHUNKS] / facts[_ACTIVE]) - 1) * opening
    least, rounds = path, max(facts[_CHUNKS] / facts[_ACTIVE], 1.0)
    for j in range(count):
        d = step[0, j]
        least = max(least, work[1, d] + work[0, d] * rounds + path - work[2, d])
    return least


@njit(cache=True, error_model="numpy")
def _any_order(
    phases: Floats, step: Ints, count: int, scatters: int, link_ns: Floats, facts: Floats,
    weak: bool,
) -> float:  # fmt: skip
    """``_in_order`` where each dimension may be the last one, with the smallest chunks."""
    path, busiest = 0.0, 0.0
    first = 1 if facts[_FIRST] > 0 else 0
    for j in range(count):
        d, row = step[0, j], step[1, j]
        size = facts[_CHUNK]
        if scatters > 1:
            size = np.floor(size / scatters) * phases[row, SHRINKS]
        spent = _phase_ns(phases, row + first, size, link_ns[0, d], link_ns[1, d], facts)
        path += spent
        busiest = max(busiest, spent)
    return path if weak else max(path, busiest * facts[_CHUNKS] / facts[_ACTIVE])


@njit(cache=True, error_model="numpy")
def _segment_paths(tables: BoundTables, picks: Ints, times: Floats, longest: Ints) -> None:
    """Write the longest path through each segment, to its exit and to its last compute node."""
    plans, segments, nodes = tables.plans, tables.segments, tables.nodes
    node_ns, deps = tables.node_ns, tables.deps
    node = np.empty(longest[1])
    for n in range(picks.shape[0]):
        plan = picks[n, 0]
        if plan < 0 or picks[n, 1] < 0:
            continue
        at = plans[plan + 1, COLLECTIVES] - plans[plan, COLLECTIVES]
        for g in range(plans[plan, SEGMENTS], plans[plan + 1, SEGMENTS]):
            begin = segments[g]
            leaves, last = 0.0, 0.0
            for i in range(begin, segments[g + 1]):
                end = 0.0 if nodes[i, PLACE] & ENTRY else -np.inf
                for e in range(nodes[i, DEP_FROM], nodes[i, DEP_TO]):
                    end = max(end, node[deps[e]])
                collective = nodes[i, COLLECTIVE]
                end += node_ns[i] if collective < 0 else times[n, collective]
                node[i - begin] = end
                if nodes[i, PLACE] & EXIT:
                    leaves = max(leaves, end)
                if nodes[i, PLACE] & LAST:
                    last = max(last, end)
            times[n, at], times[n, at + 1] = leaves, last
            at += 2


@njit(cache=True, error_model="numpy")
def _message_ns(
    places: Ints, links: Ints, picks: Ints, rates: Floats, n: int, size_bytes: int
) -> float:
    """Least time of a message between neighbouring stages of design *n*; 0 where none is sent."""
    d, distance = places[picks[n, 1], 0], places[picks[n, 1], 1]
    if d < 0:
        return 0.0
    link = picks[n, 3 + d]
    npus, hops = links[link, 1], links[link, 2]
    if hops == 0:
        hops = min(distance, npus - distance)
    per_byte = links[link, 0] * rates[n, picks.shape[1] - 3 + d]
    message = hops * rates[n, d] + size_bytes * per_byte
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
    places, links = tables.messages, tables.links
    sums, sum_of_term, terms = tables.sums, tables.sum_of_term, tables.terms
    factors, constants = tables.factors, tables.constants
    total = np.empty((longest[2], SUMS))
    row = np.empty(longest[2], np.int64)  # of ``total``, the same for stages of one kind
    arrival = np.empty(longest[2])  # of the first micro-batch
    for n in range(picks.shape[0]):
        plan = picks[n, 0]
        if plan < 0 or picks[n, 1] < 0:
            continue
        message = _message_ns(places, links, picks, rates, n, plans[plan, MESSAGE_BYTES])
        begin, batches = plans[plan, STAGES], plans[plan, MICROBATCHES]
        count = plans[plan + 1, STAGES] - begin
        at = 0.0
        for s in range(count):
            kind = stages[begin + s, 0]
            row[s] = row[s - 1] if s > 0 and kind == stages[begin + s - 1, 0] else s
            if row[s] == s:
                for which in range(SUMS):
                    total[s, which] = constants[kind, which]
                for z in range(sums[kind], sums[kind + 1]):
                    total[s, sum_of_term[z]] += factors[z] * times[n, terms[z]]
            arrival[s] = at
            at += total[row[s], FORWARD_EXIT] + message
        ready, after, slots = 0.0, 0.0, 0.0
        turn = 0.0  # from the exit of a stage's forward pass until its gradient is back
        came_back = -np.inf  # when the last micro-batch's gradient arrives
        for s in range(count - 1, -1, -1):
            own = total[row[s]]
            last, forwards, backwards = own[BACKWARD_LAST], own[FORWARDS], own[BACKWARDS]
            done = arrival[s] + batches * (forwards + backwards)
            if plans[plan, INTERLEAVE] == 1:
                held = stages[begin + s, 1]
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
