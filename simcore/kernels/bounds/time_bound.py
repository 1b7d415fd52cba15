"""Lower bounds of iteration times: longest paths with the least time of every collective.

One design after another, a few hundred operations each: no events, no queues. All times are in
ns, as float64; a time of minus infinity means that nothing is known to come before.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.bounds.collective_times import collective_times, latency_ns
from simcore.kernels.bounds.room import crowded_designs
from simcore.kernels.bounds.tables import (
    AFTER_SYNC,
    BACKWARD_EXIT,
    BACKWARD_LAST,
    BACKWARDS,
    DRAIN,
    ENTRY,
    EXIT,
    FINAL_EXIT,
    FINAL_LAST,
    FORWARD_EXIT,
    FORWARDS,
    LAST,
    SENDS,
    SLOT,
    STEP_TO_SYNC,
    SUMS,
    TAIL_SLOT,
    TO_SYNC,
    BoundTables,
    Floats,
    Ints,
)
from simcore.kernels.jit import njit
from simcore.kernels.records import Records

_AT_ONCE = 256  # designs whose times of collectives fit into the cache of a core


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
    crowded = np.zeros(_AT_ONCE, np.bool_)
    bound = np.full(designs, np.inf)
    for begin in range(0, designs, _AT_ONCE):
        part = slice(begin, min(begin + _AT_ONCE, designs))
        collective_times(tables, picks[part], rates[part], times, weak)
        crowded_designs(tables, picks[part], rates[part], weak, crowded)
        _segment_paths(tables, picks[part], times, longest)
        flags = weak, crowded
        _pipelines(tables, picks[part], rates[part], times, longest, flags, bound[part])
    return bound


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
    message = hops * latency_ns(rates[n, d], meets) + size_bytes * per_byte
    return np.floor(message * (1.0 - 1e-14))  # no rounding lifts it to the next ns


@njit(cache=True, error_model="numpy")
def _pipelines(
    tables: BoundTables, picks: Ints, rates: Floats, times: Floats, longest: Ints,
    flags: tuple[NDArray[np.bool_], NDArray[np.bool_]], bound: Floats,
) -> None:  # fmt: skip
    """Write the longest of several paths through the pipeline, its drain and the optimizer step.

    Of a stage: all its passes after the first micro-batch has arrived; the way of that one to the
    last stage and back, and then all that the stage has left to do; as many such ways as follow
    each other because a stage may hold so many micro-batches only; and all its communication.
    """
    (weak, crowded), plans, stages = flags, tables.plans, tables.stages
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
            turn += own[FORWARD_EXIT] + own[BACKWARD_EXIT] + 2 * message
            leaves = max(own[BACKWARD_EXIT], own[FINAL_EXIT] if crowded[n] else 0.0)
            last = max(last, own[FINAL_LAST] if crowded[n] else 0.0)
            came_back = entry + leaves + message
            ready = max(ready, entry + last + own[TO_SYNC])
            after = max(after, own[AFTER_SYNC])
            if not weak[n]:
                ready = max(ready, entry + own[DRAIN] + own[STEP_TO_SYNC])
                busy = batches * (own[SLOT] + own[SENDS] * message) + own[TAIL_SLOT]
                slots = max(slots, busy)
        bound[n] = max(ready + after, slots)
