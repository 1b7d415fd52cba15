"""Lower bounds of iteration times: longest paths with the least time of every collective.

One design after another, a few hundred operations each: no events, no queues. All times are in
ns, as float64; a time of minus infinity means that nothing is known to come before.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Kinds of collectives and, of an all-reduce that scatters and gathers, of its phases.
ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE, ALL_TO_ALL, SUM_SCATTER, SUM_GATHER = range(6)

# Columns of ``phases``: what one phase costs at least. With u = floor(size / DIVISOR):
# HOPS x latency + UNITS x u / bandwidth - MESSAGES + DELAYS x delay + reductions of REDUCED x u.
DIVISOR, HOPS, UNITS, MESSAGES, DELAYS, REDUCED, REDUCTIONS = 0, 1, 2, 3, 4, 5, 6
GROWS, SHRINKS, UNLIKE, PHASE_COLUMNS = 7, 8, 9, 10

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

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class BoundTables(NamedTuple):
    """What designs have in common: P plans, C collectives, G segments, T kinds of stage.

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
        sums: (T x SUMS + 1,) int64, where each sum's terms begin.
        terms: (Z,) int64: collective k of the plan is k; path through segment g of the plan's K
            collectives to its exit is K + 2 g, to its last compute node K + 2 g + 1.
        factors: (Z,) float64.
        constants: (T x SUMS,) float64.
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


@njit(cache=True)
def time_bounds(tables: BoundTables, picks: Ints, rates: Floats, longest: Ints) -> Floats:
    """Lower bound of each design's iteration time.

    Args:
        tables: As above.
        picks: (N, 3 + D) int64: plan, place, system, and per dimension the kind of link; a
            negative plan or place is infeasible.
        rates: (N, 2 D) float64: latencies in ns, then bandwidths in bytes per ns.
        longest: (3,) int64, most collectives and segments, nodes of a segment, stages of a plan.

    Returns:
        (N,) float64, ns; infinite where the design is infeasible.
    """
    designs, dimensions = picks.shape[0], picks.shape[1] - 3
    bound = np.empty(designs)
    time = np.empty(longest[0])
    node = np.empty(longest[1])
    stage = np.empty((longest[2], 4))
    link_ns = np.empty((2, dimensions))
    work = np.empty((3, dimensions))
    for n in range(designs):
        plan, place = picks[n, 0], picks[n, 1]
        if plan < 0 or place < 0:
            bound[n] = np.inf
            continue
        for d in range(dimensions):
            link_ns[0, d] = rates[n, d]
            link_ns[1, d] = tables.links[picks[n, 3 + d], 0] / rates[n, dimensions + d]
        each = tables.systems[picks[n, 2], EACH] > 0
        unlike = _collective_times(tables, picks[n], link_ns, False, work, time)
        weak = (each and unlike) or tables.systems[picks[n, 2], SERIAL] == 0
        if weak:
            _collective_times(tables, picks[n], link_ns, True, work, time)
        _segment_paths(tables, plan, time, node)
        message = _message_ns(tables, picks[n], link_ns)
        bound[n] = _pipeline(tables, plan, time, stage, message, weak)
    return bound


@njit(cache=True)
def _collective_times(
    tables: BoundTables, pick: Ints, link_ns: Floats, weak: bool, work: Floats, time: Floats
) -> bool:
    """Write the least time of each collective of the plan; whether members may end one by one."""
    first, last = tables.plans[pick[0], COLLECTIVES], tables.plans[pick[0] + 1, COLLECTIVES]
    unlike = False
    for k in range(first, last):
        unlike = _collective(tables, pick, k, link_ns, weak, work) or unlike
        time[k - first] = work[0, 0]
    return unlike


@njit(cache=True)
def _phase_ns(
    tables: BoundTables, row: int, size: float, latency: float, per_byte: float, system: int,
    memory: float,
) -> float:  # fmt: skip
    term = tables.phases[row + 1 if tables.systems[system, EACH] > 0 else row]
    unit = np.floor(size / term[DIVISOR])
    time = term[HOPS] * latency + term[UNITS] * unit * per_byte - term[MESSAGES]
    reduced = 3.0 * (term[REDUCED] * unit * memory - term[REDUCTIONS])
    return max(time, 0.0) + term[DELAYS] * tables.systems[system, DELAY] + max(reduced, 0.0)


@njit(cache=True)
def _collective(
    tables: BoundTables, pick: Ints, k: int, link_ns: Floats, weak: bool, work: Floats
) -> bool:
    """Least time of one collective, left in ``work[0, 0]``; whether a phase ends one by one.

    Each chunk passes its phases one after another, and each dimension works on a few chunks at
    once: no schedule is shorter than one chunk's way, nor than a dimension's work after the first
    chunk has come there and before the last one has gone on from there.
    """
    kind, axis, size = tables.collectives[k, 0], tables.collectives[k, 1], tables.collectives[k, 2]
    dimensions = link_ns.shape[1]
    extents = tables.places[pick[1], axis]
    involved, last = 0, -1
    for d in range(dimensions):
        work[:, d] = 0.0
        if extents[d] > 0:
            involved += 1
            last = d
    if involved == 0:
        return False
    system, memory = pick[2], tables.memory_ns_per_byte[pick[0]]
    wanted = tables.systems[system, CHUNKS]
    chunk, whole = np.floor(size / wanted), float(size)
    members = tables.members[pick[1], axis]
    if kind == ALL_GATHER:
        chunk, whole = max(chunk, 1.0), max(whole, 1.0)
    elif chunk < members:
        chunk, whole = float(members), wanted * members
    chunks = np.ceil(whole / chunk)
    rounds = np.ceil(chunks / tables.systems[system, ACTIVE])
    split = kind == ALL_REDUCE and tables.systems[system, AWARE] > 0
    if tables.systems[system, REORDERED] > 0 and involved > 1:
        return _any_order(tables, pick, axis, kind, chunk, link_ns, work, rounds, weak)
    unlike = False
    passes = 2 * dimensions if split else dimensions
    path, opening = 0.0, 0.0
    for step in range(passes):
        back = kind == ALL_GATHER or step >= dimensions
        d = (passes - 1 - step) % dimensions if back else step
        if extents[d] == 0 or (back and split and d == last):
            continue
        what = kind
        if split and d != last:
            what = SUM_GATHER if back else SUM_SCATTER
        row = tables.extents[extents[d], pick[3 + d], what]
        spent = _phase_ns(tables, row, chunk, link_ns[0, d], link_ns[1, d], system, memory)
        unlike = unlike or tables.phases[row, UNLIKE] > 0
        chunk = np.floor(chunk * tables.phases[row, GROWS] / tables.phases[row, SHRINKS])
        if work[0, d] == 0.0:
            work[1, d] = path
        if path == 0.0:
            opening = spent
        path += spent
        work[0, d] += spent
        work[2, d] = path
    least = path + (rounds - 1) * opening if weak else path
    if not weak:
        for d in range(dimensions):
            if extents[d] > 0:
                busy = work[0, d] * max(chunks / tables.systems[system, ACTIVE], 1.0)
                least = max(least, work[1, d] + busy + path - work[2, d])
    work[0, 0] = least
    return unlike


@njit(cache=True)
def _any_order(
    tables: BoundTables, pick: Ints, axis: int, kind: int, chunk: float, link_ns: Floats,
    work: Floats, rounds: float, weak: bool,
) -> bool:  # fmt: skip
    """As ``_collective`` where chunks may pass the dimensions in any order: each as the last."""
    extents, system = tables.places[pick[1], axis], pick[2]
    memory = tables.memory_ns_per_byte[pick[0]]
    unlike, path, busiest = False, 0.0, 0.0
    split = kind == ALL_REDUCE and tables.systems[system, AWARE] > 0
    what = SUM_SCATTER if split else kind
    whole = tables.members[pick[1], axis]
    for d in range(link_ns.shape[1]):
        if extents[d] == 0:
            continue
        row = tables.extents[extents[d], pick[3 + d], what]
        size = chunk
        if split or kind == REDUCE_SCATTER:
            size = np.floor(chunk / whole) * tables.phases[row, SHRINKS]
        spent = _phase_ns(tables, row, size, link_ns[0, d], link_ns[1, d], system, memory)
        unlike = unlike or tables.phases[row, UNLIKE] > 0
        path += spent
        busiest = max(busiest, spent)
    work[0, 0] = path if weak else max(path, rounds * busiest)
    return unlike


@njit(cache=True)
def _message_ns(tables: BoundTables, pick: Ints, link_ns: Floats) -> float:
    """Time of a message between neighbouring stages."""
    d, apart = tables.messages[pick[1], 0], tables.messages[pick[1], 1]
    if d < 0:
        return 0.0
    npus, hops = tables.links[pick[3 + d], 1], tables.links[pick[3 + d], 2]
    if hops == 0:
        hops = min(apart, npus - apart)
    size = tables.plans[pick[0], MESSAGE_BYTES]
    time = hops * link_ns[0, d] + size * link_ns[1, d]
    return np.floor(time * (1.0 - 1e-14))  # so that no rounding lifts it to the next ns


@njit(cache=True)
def _segment_paths(tables: BoundTables, plan: int, time: Floats, node: Floats) -> None:
    """Write the longest path through each segment of the plan, to its exit and last compute."""
    at = tables.plans[plan + 1, COLLECTIVES] - tables.plans[plan, COLLECTIVES]
    for g in range(tables.plans[plan, SEGMENTS], tables.plans[plan + 1, SEGMENTS]):
        begin = tables.segments[g]
        leaves, last = -np.inf, -np.inf
        for i in range(begin, tables.segments[g + 1]):
            place = tables.nodes[i, PLACE]
            end = 0.0 if place & ENTRY else -np.inf
            for e in range(tables.nodes[i, DEP_FROM], tables.nodes[i, DEP_TO]):
                end = max(end, node[tables.deps[e]])
            collective = tables.nodes[i, COLLECTIVE]
            end += tables.node_ns[i] if collective < 0 else time[collective]
            node[i - begin] = end
            if place & EXIT:
                leaves = max(leaves, end)
            if place & LAST:
                last = end
        time[at] = max(leaves, 0.0)
        time[at + 1] = max(last, 0.0)
        at += 2


@njit(cache=True)
def _sum(tables: BoundTables, stage_kind: int, which: int, time: Floats) -> float:
    at = stage_kind * SUMS + which
    total = tables.constants[at]
    for z in range(tables.sums[at], tables.sums[at + 1]):
        total += tables.factors[z] * time[tables.terms[z]]
    return total


@njit(cache=True)
def _pipeline(
    tables: BoundTables, plan: int, time: Floats, stage: Floats, message: float, weak: bool
) -> float:
    """Longest of several paths through the pipeline, its drain and the optimizer step.

    ``stage`` holds per stage the forward and backward time to the next stage, the time until the
    first micro-batch arrives, and that until a micro-batch is back after it has gone on.
    """
    begin = tables.plans[plan, STAGES]
    stages = tables.plans[plan + 1, STAGES] - begin
    batches = tables.plans[plan, MICROBATCHES]
    arrival = 0.0
    for s in range(stages):
        kind = tables.stages[begin + s, 0]
        stage[s, 0] = _sum(tables, kind, FORWARD_EXIT, time)
        stage[s, 1] = _sum(tables, kind, BACKWARD_EXIT, time)
        stage[s, 2] = arrival
        arrival += stage[s, 0] + message
    ready, after, slots = 0.0, 0.0, 0.0
    turn = 0.0  # from the exit of a stage's forward pass until its gradient is back
    came_back = -np.inf  # when the last micro-batch's gradient arrives
    for s in range(stages - 1, -1, -1):
        kind = tables.stages[begin + s, 0]
        last = _sum(tables, kind, BACKWARD_LAST, time)
        forwards, backwards = _sum(tables, kind, FORWARDS, time), _sum(tables, kind, BACKWARDS, time)
        done = stage[s, 2] + batches * (forwards + backwards)
        if tables.plans[plan, INTERLEAVE] == 1:
            held = tables.stages[begin + s, 1]
            around = stage[s, 0] + turn
            more = around + batches * backwards + (batches - held) * forwards
            trips = (batches + held - 1) // held
            loops = (batches - 1) % held * forwards + trips * (around + last)
            done = max(done, stage[s, 2] + max(more, loops))
        entry = max(done - last, came_back)
        came_back = entry + stage[s, 1] + message
        turn += stage[s, 0] + stage[s, 1] + 2 * message
        step = entry + last + _sum(tables, kind, TO_SYNC, time)
        if not weak:
            drained = entry + _sum(tables, kind, DRAIN, time)
            step = max(step, drained + _sum(tables, kind, STEP_TO_SYNC, time))
            sends = _sum(tables, kind, SENDS, time) * message
            busy = batches * (_sum(tables, kind, SLOT, time) + sends)
            slots = max(slots, busy + _sum(tables, kind, TAIL_SLOT, time))
        ready = max(ready, step)
        after = max(after, _sum(tables, kind, AFTER_SYNC, time))
    return max(ready + after, slots)
