"""Words of the arena: the globals at its start, then records of the kinds below.

A record is the offset of its first word; ``arena[record + FIELD]`` is a field. Offset 0 holds a
global, so 0 serves as "no record". Constants that are passed to kernels are numpy's: numba compiles
a kernel anew for every Python constant that it is called with.
"""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.collectives.records import PhaseRow

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def _constants(first: int, end: int) -> tuple[int, ...]:
    """Numpy's integers from *first* to *end* - 1; for the type checker they are plain ones."""
    return cast("tuple[int, ...]", tuple(np.arange(first, end, dtype=np.int64)))


def _constant(value: int) -> int:
    return _constants(value, value + 1)[0]


# Globals.
NOW_NS = 1
EVENTS = 2
NEXT_WORD = 3  # first word never used so far
RESERVE_WORDS = 4  # what one event may take at most
BURST = 5  # distinct times that one event may add at most
CURRENT_TABLE = 6  # event table that is being run
CURRENT_BUCKET = 7  # bucket of the present time
LATEST_BUCKET = 8  # bucket that was found last
HEAP = 9
HEAP_CAPACITY = 10
HEAP_SIZE = 11
FIFOS = 12  # hash table of keyed FIFOs
FIFO_CAPACITY = 13
FIFO_COUNT = 14
MATCHES = 15  # hash table of matches
MATCH_CAPACITY = 16
MATCH_COUNT = 17
NPUS = 18
DIMENSIONS = 19
DIMENSION_TABLE = 20
BACKEND = 21
RENDEZVOUS = 22
SENT_MESSAGES = 23
SENT_BYTES = 24
RECEIVED_MESSAGES = 25
RECEIVED_BYTES = 26
CHUNKS = 27
SCHEDULING = 28
ACTIVE_LIMIT = 29  # streams that one queue runs at once
QUEUES = 30  # per dimension
NPU_TABLE = 31
NPU_STRIDE = 32
OUTBOX_HEAD = 33  # messages for a network outside the kernel
OUTBOX_TAIL = 34
HORIZON_NS = 35  # events after this time wait for the network outside
RECORD_NODES = 36
ENDPOINT_DELAY_NS = 37
MEMORY_LATENCY_NS = 38
MEMORY_BYTES_PER_NS = 39
MEMORY_SERVERS = 40  # table of serialised memory servers, 0: no contention
NPUS_PER_SERVER = 41  # or, where each NPU has several ports, their number
BUS_LATENCY_NS = 42
BUS_OVERHEAD_NS = 43
BUS_GAP_NS = 44
BUS_REDUCTION_NS = 45
TREES = 46  # counters of logical tree topologies
NEEDED_WORDS = 47
PAUSE_AT = 49  # events after which the kernel comes back for a moment
EMPTY_GATHERS_WAIT = 48  # an all-gather of 0 bytes never ends
SLOT_LIMITS = 50  # nodes that an NPU runs at once, one word per slot class
GATHERED = 54  # queues choose among all chunks that come at one time, the first chunk first
PLACES = 55  # per NPU id the record of the NPU that stands for it; 0: each stands for itself
MARK = 56  # tie and strand of what happens now; see ``ties``
TIES = 57  # ties so far
TIE_NS = 58  # time of the present tie
TIE_BORN = 59  # tie in which its events were scheduled
UNSAFE = 60  # an order that may differ among NPUs of one class has mattered
EMPTY_MESSAGES = 61  # whether a message of 0 bytes was sent
COUNTS_BYTES = 62  # receives take bytes, of however many messages
NPUS_INSIDE = 63  # in a row, whose messages to each other stay in the kernel; 0: none do
FREE_LISTS = 64
LARGEST_RECORD = 128
FIRST_RECORD = FREE_LISTS + LARGEST_RECORD + 1

# Floats beside the arena.
MEMORY_BYTES_PER_S = 0
BUS_GAP_NS_PER_BYTE = 1
FIRST_DIMENSION = 2  # then bytes per ns and latency of each dimension

# One dimension of the network.
DIM_TOPOLOGY, DIM_NPUS = 0, 1
DIM_NODES = 2  # NPUs and switches, where the topology is TABLE
DIM_HOPS = 3  # where the table of distances between its NPUs starts
DIM_ROUTES = 4  # and that of routes: per node and receiver, the node that follows
DIM_WORDS = 5

# Anything that is scheduled starts with these three words; what waits in a FIFO with the first one.
EVENT_NEXT, EVENT_KIND, EVENT_BORN, EVENT_A, EVENT_B = 0, 1, 2, 3, 4
EVENT_WORDS = _constant(5)

# A FIFO found by a key: the bucket of one time, the event table of one NPU at one time, or a
# busy link with the messages that wait for it.
FIFO_CHAIN, FIFO_KEY, FIFO_OWNER, FIFO_HEAD, FIFO_TAIL, FIFO_MARK = 3, 4, 5, 6, 7, 8
FIFO_WORDS = _constant(9)
GLOBAL_OWNER = _constant(-1)
LINK_OWNER = _constant(-2)  # minus the port

# A message in flight.
MSG_TAG, MSG_SRC, MSG_DST, MSG_BYTES = 3, 4, 5, 6
MSG_CALL, MSG_CALL_A, MSG_CALL_B = 7, 8, 9
MSG_AT, MSG_IN_SWITCH = 10, 11
MSG_TRAVEL_NS = 12  # without congestion; -1: not yet worked out
MSG_VIA = 12  # with congestion: where it comes from, as its next link sees it; -1: on no link yet
MSG_SENDER = 13  # where it comes from, as its receiver sees it
MSG_WORDS = _constant(14)

# Receives posted or messages arrived of one key.
MATCH_CHAIN, MATCH_TAG, MATCH_SRC, MATCH_DST, MATCH_BYTES = 0, 1, 2, 3, 4
MATCH_ARRIVED, MATCH_HEAD, MATCH_TAIL, MATCH_MARK = 5, 6, 7, 8
MATCH_WORDS = _constant(9)
ANY_SIZE = _constant(-1)  # in place of bytes, where bytes are counted
EVENT_AWAITED = EVENT_BORN  # of a receive that waits there: its bytes

# A receive that rendezvous holds back.
HELD_TAG, HELD_SRC, HELD_DST, HELD_BYTES, HELD_CALL = 0, 1, 2, 3, 4
HELD_WORDS = _constant(5)

# An NPU. The counters of its queues, trees and groups follow.
NPU_ID, NPU_PROGRAM, NPU_STATE, NPU_START, NPU_END, NPU_READY = 0, 1, 2, 3, 4, 5
NPU_READY_COUNT = 6  # one word per slot class
NPU_BUSY = 10  # likewise
NPU_IN_FLIGHT, NPU_FINISH_NS, NPU_WALKING, NPU_FREED, NPU_LATEST_TABLE = 14, 15, 16, 17, 18
NPU_PRIORITY, NPU_BUS, NPU_GROUP_COUNTS, NPU_CUSTOM = 19, 20, 21, 22
NPU_LAST_END_NS, NPU_ACCOUNTS = 23, 24
# How long nodes of one account ran, two at once counted once: how many run, since when, and the
# time before; -1: none ever ran.
ACCOUNT_RUNNING, ACCOUNT_SINCE_NS, ACCOUNT_BUSY_NS = 0, 1, 2
ACCOUNT_WORDS = 3
ACCOUNT_GPU, ACCOUNT_COMM, ACCOUNT_CPU, ACCOUNT_MEMORY, ACCOUNT_INVALID, ACCOUNT_NONE = (
    0, 1, 2, 3, 4, 5,
)  # fmt: skip
ACCOUNTS = 6
NPU_WORDS = NPU_ACCOUNTS + ACCOUNTS * ACCOUNT_WORDS
# Before the record, where NPUs stand for others: for how many, itself among them, and see ``ties``.
NPU_ALIKE, NPU_FEEDER_MARK, NPU_BUS_MARK = -1, -2, -3
NPU_TIE, NPU_STRANDS, NPU_FIRST_THREAD, NPU_LATEST_THREAD = -4, -5, -6, -7
NPU_TABLE_TIE = -8
NPU_WORDS_BEFORE = 8

# State words of a node beside the number of open dependencies.
NODE_READY, NODE_ISSUED, NODE_DONE = 0, -1, -2

# Slot classes.
SLOT_CPU, SLOT_COMPUTE, SLOT_COMM, SLOT_NONE = 0, 1, 2, 3
SLOTS = 4

# A program: its nodes, which programs may share; what its communication is about, and how many
# dependencies each node has, where it is custom.
PROGRAM_NODES, PROGRAM_TABLE, PROGRAM_DETAILS = 0, 1, 2
PROGRAM_HEAPS = 4  # heap offset per slot class
# Of a custom collective, which has no slots: per node how many others it waits for and its id, the
# nodes as they are looked at, and where the children of each start among the children of all.
PROGRAM_OPEN, PROGRAM_KEYS, PROGRAM_ORDER, PROGRAM_CHILD_START, PROGRAM_CHILDREN = 3, 4, 5, 6, 7
PROGRAM_WORDS = 8
# A node: action, slot, account and its children; then how long it lasts, or which of its program's
# details it is about. An only child is named where others have the place of their list: how many
# they are, then who. 0: none.
NODE_HEAD, NODE_VALUE = 0, 1
NODE_WORDS = 2
ACTION_MASK, SLOT_SHIFT, SLOT_MASK, ACCOUNT_SHIFT, ACCOUNT_MASK = 7, 3, 3, 5, 7
ONLY_CHILD = 1 << 8
CHILDREN_SHIFT = 9
# A collective, send, receive or access to memory.
DETAIL_BYTES, DETAIL_PRIORITY, DETAIL_PLAN, DETAIL_PEER, DETAIL_TAG, DETAIL_GROUP_COUNT = (
    0, 1, 2, 3, 4, 5,
)  # fmt: skip
DETAIL_SEEN_TAG, DETAIL_SEEN_SRC = 6, 7  # of a send, as who stands for the receiver awaits it
DETAIL_WORDS = 8
ACTION_FIXED, ACTION_SEND, ACTION_RECV, ACTION_COLLECTIVE, ACTION_MEMORY, ACTION_SKIP = (
    0, 1, 2, 3, 4, 5,
)  # fmt: skip
ACTION_PORT = 6  # an access to memory that takes DETAIL_BYTES ns of the port DETAIL_PEER

# What a collective node runs: its phases.
PLAN_PHASES, PLAN_ORDERS, PLAN_SMALLEST_CHUNK, PLAN_GROUP, PLAN_GATHERS, PLAN_CUSTOM = (
    0, 1, 2, 3, 4, 5,
)  # fmt: skip
PLAN_ORDER_COUNT = 6  # chunk i takes its phases from the table that order i mod count names
PLAN_WORDS = 7
# A phase: first the fields of ``PhaseRow``; here the stride is that of NPU ids.
_at, _own = PhaseRow._fields.index, len(PhaseRow._fields)
PHASE_MEMBERS, PHASE_STRIDE, PHASE_DIMENSION = _at("members"), _at("stride"), _at("dimension")
PHASE_PEERS, PHASE_STEPS, PHASE_PARALLEL = _at("peers"), _at("steps"), _at("parallel")
PHASE_REDUCED, PHASE_DIVISOR, PHASE_DISTANCE = _at("reduced"), _at("divisor"), _at("distance")
PHASE_SHRINKS, PHASE_WAITS, PHASE_REDUCE_RULE = _at("shrinks"), _at("waits"), _at("reduce_rule")
PHASE_RESULT_TIMES, PHASE_RESULT_OVER = _at("result_times"), _at("result_over")
PHASE_TABLE, PHASE_TAKES, PHASE_WAIT = _at("table"), _at("takes_ns"), _at("wait_ns")
PHASE_LIST, PHASE_LOCAL, PHASE_PASS, PHASE_TREE = _own, _own + 1, _own + 2, _own + 3
PHASE_CUSTOM, PHASE_LINE = _own + 4, _own + 5
PHASE_LEADS = _own + 6  # where it is told who takes part: how many pairs, then stride and members
PHASE_WORDS = _own + 7
PASS_PLAIN, PASS_FIRST, PASS_LAST, PASS_FIXED = 0, 1, 2, 3

# A queue of one NPU.
QUEUE_HEAD, QUEUE_TAIL, QUEUE_RUNNING, QUEUE_MARK = 0, 1, 2, 3
QUEUE_WORDS = 4
# Round-robin counters of one NPU in one dimension: plain, first pass, last pass.
ROUND_WORDS = 3

# A stream (chunk); one word per phase follows: queue, direction and tree.
STREAM_NEXT, STREAM_NPU, STREAM_TAG, STREAM_BYTES, STREAM_PRIORITY, STREAM_PLAN = 0, 1, 2, 3, 4, 5
STREAM_PHASE, STREAM_TABLE, STREAM_COLLECTIVE = 6, 7, 8
STREAM_WORDS = 9
CHOICE_BACKWARDS = 1 << 20
CHOICE_MAX_TREE = 1 << 21

# Streams that one group may have before its tags meet the next group's.
TAGS_PER_GROUP = 1 << 36

# The state machine of a running phase: first what every step touches.
WALK_PHASE, WALK_NPU, WALK_ID, WALK_TAG, WALK_PEERS, WALK_PARALLEL = 0, 1, 2, 3, 4, 5
WALK_LEFT, WALK_FREE, WALK_PLAIN, WALK_REDUCED, WALK_TOGGLE = 6, 7, 8, 9, 10
WALK_INSERTED, WALK_TAKEN, WALK_RECEIVED = 11, 12, 13
WALK_BYTES, WALK_TO, WALK_FROM, WALK_TRAVEL_NS = 14, 15, 16, 17
WALK_DELAY_NS, WALK_REDUCE_NS = 18, 19
WALK_STREAM, WALK_INDEX, WALK_BACKWARDS = 20, 21, 22
WALK_DISTANCE, WALK_SHRINKS = 23, 24  # of the next packet, as is WALK_BYTES
WALK_OUT_BYTES, WALK_OUT_DISTANCE = 25, 26  # of the packet in line
WALK_PARENT, WALK_FIRST_CHILD, WALK_SECOND_CHILD, WALK_STAGE = 27, 28, 29, 30  # in a tree
WALK_AHEAD = 27  # elsewhere: how many members ahead the present partner is; below 0: behind
WALK_MARK, WALK_JOINED = 31, 32
WALK_WORDS = _constant(33)

# A collective at work: the position of its node, and its streams that have not ended.
COLLECTIVE_NODE, COLLECTIVE_STREAMS_LEFT = 0, 1
COLLECTIVE_WORDS = _constant(2)

# A custom algorithm at work: then one state word per node, then the set of its free nodes.
CUSTOM_STREAM, CUSTOM_PROGRAM, CUSTOM_LIST, CUSTOM_IN_FLIGHT, CUSTOM_FREE = 0, 1, 2, 3, 4
CUSTOM_WORDS = 5

# A memory server, with the head and tail of its line where a FIFO has them.
SERVER_BUSY, SERVER_LINE = 0, -5
SERVER_WORDS = 3

# A list group: members in order, then the ids sorted, then the position of each sorted id. Where
# NPUs stand for others, there follows per member in order the group in which its stand-in does the
# same: where that list lies, the stand-in's position in it, and the number of the group.
LIST_COUNT, LIST_MEMBERS = 0, 1
SEEN_LIST, SEEN_INDEX, SEEN_GROUP = 0, 1, 2
SEEN_WORDS = 3

# An endpoint of the local bus. Its three lists lie so that head and tail fall where a FIFO has
# them.
END_STATE, END_PREVIOUS, END_LAST_NS, END_IN_ROW, END_ROLE = 0, 1, 2, 3, 4
END_NPU, END_RECEIVES_COUNT, END_REDUCING = 5, 12, 13
END_WORDS = 14
TRANSFER_WORDS = _constant(7)

# What an event does.
DO_NOTHING, DO_TABLE, DO_ARRIVAL, DO_LINK_FREE, DO_START = _constants(0, 5)
DO_STEP_RECEIVED, DO_NODE_DONE, DO_BUNDLE, DO_GENERAL, DO_CUSTOM_DONE = _constants(5, 10)
DO_POST_HELD, DO_LAUNCH, DO_SERVER_NEXT = _constants(10, 13)
DO_BUS_SENT, DO_BUS_RECEIVED, DO_BUS_REDUCED = _constants(13, 16)
DO_QUEUE = _constant(16)

# Arguments without meaning, and a bundle that nothing is reduced for.
NOTHING, NOT_REDUCED = _constant(0), _constant(-1)
YES, NO = np.bool_(True), np.bool_(False)

# Nothing happens later. The longest delay is longer by 1, so times stay within 64 bits.
LAST_NS = (1 << 61) - 1

# Backends.
UNAWARE, AWARE, OUTSIDE = 0, 1, 2

# Why the kernel came back.
ENDED, FULL, AT_HORIZON, OUTBOX_FILLED, PAUSED = 0, 1, 2, 3, 4
