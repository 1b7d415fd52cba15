"""Layout of the arrays of the kernels that follow classes of NPUs node by node.

S stages, K classes, T nodes; the NPU of class c at stage s is number s K + c.

    node     (T + 1, NODE_FIELDS) int64, what each node is, one stage after another; the last row
             says where the children of the row before it end
    table    flat int64: children, collectives, groups, marks; where they lie is in ``counter``
    waits    (K, W) int32, dependencies that a node waits for, or its state; the nodes of a stage
             that all of its NPUs have behind them have no column (table at SHIFT)
    npu      (S K, W) int64: fields of an NPU, slots, ns by what it did, heaps of L ready nodes, at
             most L receives to be posted; where they lie is in ``at``, an ``NpuLayout``
    event    (Q, 4) int64, heap of (time, scheduled at, number, NPU and node)
    memo     flat int64: collectives that have been worked out, by when their members began
    counter  (COUNTERS + 3 D,) int64; then NPU and node of the member that begins last, for each of
             at most D collectives of which all members have begun; then nodes of at most D sends
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.npu.layout import HEADER, NpuLayout

# A node: what the feeder knows (``npu.layout``; the MATE of a send is its receive), its stage, when
# it started and ended on the NPU that is told of its stage (-1: not yet), which collective of those
# that depend on when their members begin (-1: none), and parts in 1 / WHOLE: of the cores and of
# the memory bandwidth that communication takes, or of its rate that a compute loses with them.
STAGE, STARTED, HAS_ENDED, ITEM, CORES, MEMORY, NODE_FIELDS = range(7, 14)

WHOLE_BITS = 16
WHOLE = 1 << WHOLE_BITS
"""All of the cores, of the memory bandwidth, or of a rate."""

MOST_LOST = WHOLE - WHOLE // 16
"""Part of its rate that a compute loses at most, whatever communication takes: it goes on."""

POSITION_BITS = 32
"""An event names ``NPU << POSITION_BITS | node``."""

POSITION_MASK = (1 << POSITION_BITS) - 1

# What ``waits`` says of a node beside the number of dependencies that are not met yet; ARRIVED is
# added to the number where the data of a receive is there.
RUNS, ENDED, POSTED, ARRIVED = -1, -2, -3, 1 << 30

# An NPU: what the feeder knows, receives to be posted, which tree comes next (a bit per kind of
# collective and axis). A slot: what the feeder knows, start of its node, the tree that a collective
# takes first, and the time that a compute has lost to communication: ns, and the rest in
# ns / WHOLE.
TO_POST, TURNS, SLOT = range(HEADER, HEADER + 3)
START, TURN, LOST, REST, SLOT_FIELDS = range(3, 8)

# A member of a collective that is about to be decided: the NPU, its node, its start, and the tree
# that it takes first.
MEMBER, AT_NODE, BEGAN, FIRST_TREE, MEMBER_FIELDS = range(5)

# ``memo``: words in use, and addresses in a table by hash that comes next; what lies there: item,
# class of the first member, first tree, members, then how long after the first of them each began
# and ended.
MEMO_USED, MEMO_PLACES, MEMO_TABLE = 0, 1, 2
KEY_WORDS = 4
WORDS_PER_PLACE = 4
"""Words of ``memo`` behind its table: the shortest entry has six, so it never fills up."""

# Counters: how the run stands, sizes, and where things begin in ``table``. The first two are those
# of ``heaps``.
EVENTS, NUMBERS, ENDED_NODES, NOW = 0, 1, 2, 3
NEW_AXIS, MARKED, NEXT_MARK, FULL, DUE = 4, 5, 6, 7, 8
CLASSES = 9
CHILD, AXIS_OF, IN_STEP, ORBIT, ORBIT_AT, ORBIT_CLASS, SHARED_AT, SHARED_NODE = range(10, 18)
MARKS, SHIFT, TURN_OF, TAKES_TURN, LEAD = 18, 19, 20, 21, 22
# Where sends are carried by a network outside the kernel: nothing later than a time happens, where
# in ``counter`` the sends that have begun since are told (0: sends take their own time), how many.
HORIZON, OUTBOX, SENT = 23, 24, 25
# Whether communication takes cores or memory bandwidth from computes (0: it takes nothing), and
# per stage the class whose nodes are told.
TAKES, TOLD = 26, 27
# Where an orbit is several groups that differ: where each of its parts begins, and what these are;
# NPU and node by which one of the parts has begun as a whole and others have not (-1: none).
PARTS, PART_AT, PART_CLASS, PARTED, PARTED_NODE = 28, 29, 30, 31, 32
# The first of the collectives of the same kind, axis and size as each.
SAME_AS, COUNTERS = 33, 34

# Why the kernel is left: nothing is left to happen; a collective's members have all begun; a group
# tells NPUs apart for the first time; a mark was passed; there is too little room; sends have begun
# that are carried outside; what follows lies beyond the horizon.
FINISHED, COLLECTIVE, APART, AT_MARK, NO_ROOM, SENDING, AT_HORIZON, IN_PARTS = range(8)

SPARE_EVENTS = 256
"""Room that the heap of events has left whenever the kernel goes on."""

Ints = NDArray[np.int64]
Waits = NDArray[np.int32]


def npu_layout(compute_slots: int, slots: int, ports: int, categories: int, room: int) -> NpuLayout:
    """Layout of an NPU, given how much it has, and *room* for that many ready nodes."""
    slots += ports
    booked = SLOT + slots * SLOT_FIELDS
    ready = booked + categories + 1
    return NpuLayout(
        slot=SLOT,
        slot_fields=SLOT_FIELDS,
        compute_slots=compute_slots,
        slots=slots,
        lanes=2 + ports,
        booked=booked,
        categories=categories,
        ready=ready,
        room=room,
        npu_size=ready + (3 + ports) * room,
    )
