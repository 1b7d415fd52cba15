"""Tables that kernels work out bounds from."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.records import Records, record_of

# Kinds of collectives and, of an all-reduce that scatters and gathers, of its phases.
ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE, ALL_TO_ALL, SUM_SCATTER, SUM_GATHER = range(6)

PHASE = record_of(
    np.float64, "divisor", "hops", "units", "messages", "delays", "reduced", "reductions",
    "grows", "shrinks", "unlike", "sent", "exact",
)  # fmt: skip
"""Least cost of one phase, see ``bounds.phase_costs.PhaseCost``."""

SYSTEM = record_of(
    np.float64, "chunks", "active", "delay", "aware", "reordered", "each", "serial", "meets"
)

PLAN = record_of(
    np.int64, "collectives", "segments", "stages", "rooms", "microbatches", "message_bytes",
    "interleave", "overlaps",
)  # fmt: skip
"""A plan: where its collectives, segments, stages and rooms begin, and the rest of it."""

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
SLOT, SENDS, DRAIN, TO_SYNC, STEP_TO_SYNC, AFTER_SYNC, TAIL_SLOT = 5, 6, 7, 8, 9, 10, 11
FINAL_EXIT, FINAL_LAST, SUMS = 12, 13, 14  # of the last pass, with what is sooner in the slot

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
        rooms: (sum of rooms + 1,) int64, where the collectives of each begin.
        room_ns: (sum of rooms,) float64, below which their times must stay in all.
        room_items: (I,) int64, collectives of the plan.
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
    rooms: Ints
    room_ns: Floats
    room_items: Ints
    places: Ints
    members: Ints
    messages: Records
    extents: Ints
    phases: Records
    links: Records
    systems: Records
