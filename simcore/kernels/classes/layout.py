"""Where everything lies in the arrays of the kernels that follow classes of NPUs node by node.

S stages, K classes, T nodes; the NPU of class c at stage s is number s K + c.

    node     (T + 1, NODE_FIELDS + 1) int64, what each node is: the fields of ``node_layout``
             and ITEM; the last row says where the children of the row before it end
    table    flat int64: children, collectives, groups, marks; where they lie is in ``counter``
    waits    (K, W) int32, dependencies that a node waits for, or its state; the nodes of a stage
             that all of its NPUs have behind them have no column (table at SHIFT)
    npu      (S K, SLOT + 4 slots + C + 1) int64, sizes of lists, slots, ns by what the NPU did
    lists    (3, S K, L) int32, ready compute nodes, ready communication nodes, receives to post
    event    (Q, 4) int64, heap of (time, scheduled at, number, NPU and node)
    memo     flat int64: collectives that have been worked out, by when their members began
    counter  (COUNTERS + 2 D,) int64; then NPU and node of the member that begins last, for each of
             at most D collectives of which all members have begun
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.stages.node_layout import NODE_FIELDS

ITEM = NODE_FIELDS
"""Column of ``node``: which collective, -1: none."""

POSITION_BITS = 32
"""An event names ``NPU << POSITION_BITS | node``."""

POSITION = (1 << POSITION_BITS) - 1

# What ``waits`` says of a node beside the number of dependencies that are not met yet; ARRIVED is
# added to the number where the data of a receive is there.
RUNS, ENDED, POSTED, ARRIVED = -1, -2, -3, 1 << 30

# Fields of an NPU: sizes of its three lists, until when its time is booked, which tree comes next
# (a bit per kind of collective and axis); then per slot the node in it (-1: free), its start, its
# end, and the tree that a collective takes first.
COUNT, BOOKED_UNTIL, TURNS, SLOT = 0, 3, 4, 5
IN_SLOT, SLOT_START, SLOT_END, SLOT_TURN, SLOT_FIELDS = range(5)

NEVER = 2**62

# A member of a collective that is about to be decided: the NPU, its node, its start, and the tree
# that it takes first.
MEMBER, AT_NODE, BEGAN, FIRST_TREE, MEMBER_FIELDS = range(5)

# ``memo``: words in use, and addresses in a table by hash that comes next; what lies there: item,
# class of the first member, first tree, members, then how long after the first of them each began
# and ended.
MEMO_USED, MEMO_PLACES, MEMO_TABLE = 0, 1, 2
KEY_WORDS = 4
WORDS_PER_PLACE = 4
"""Of ``memo`` behind its table: the shortest entry has six, so the table never fills up."""

# Counters: how the run stands, sizes, and where things begin in ``table``. The first two are those
# of ``event_heap``.
EVENTS, NUMBERS, ENDED_NODES, NOW = 0, 1, 2, 3
NEW_AXIS, MARKED, NEXT_MARK, FULL, DUE = 4, 5, 6, 7, 8
CLASSES, COMPUTE_SLOTS, SLOTS = 9, 10, 11
CHILD, AXIS_OF, IN_STEP, ORBIT, ORBIT_AT, ORBIT_CLASS, SHARED_AT, SHARED_NODE = range(12, 20)
MARKS, SHIFT, TURN_OF, TAKES_TURN, LEAD, COUNTERS = 20, 21, 22, 23, 24, 25

# Why the kernel is left: nothing is left to happen; a collective's members have all begun; a group
# tells NPUs apart for the first time; a mark was passed; there is too little room.
FINISHED, COLLECTIVE, APART, AT_MARK, NO_ROOM = range(5)

SPARE_EVENTS = 256
"""Room that the heap of events has left whenever the kernel goes on."""

Ints = NDArray[np.int64]
Waits = NDArray[np.int32]
Lists = NDArray[np.int32]
