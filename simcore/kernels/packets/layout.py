"""Words of the packet engine's arena: the globals at its start, then records of the kinds below.

A record is the offset of its first word; ``arena[record + FIELD]`` is a field. Offset 0 holds a
global, so 0 serves as "no record". ``reals`` is the same memory, read as numbers of double
precision; fields kept there are marked *real*. Times are in ns, sizes in bytes, rates in bit/s.
"""

from typing import cast

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def _constants(first: int, end: int) -> tuple[int, ...]:
    """Numpy's integers, of which numba compiles a kernel only once; see ``events.layout``."""
    return cast("tuple[int, ...]", tuple(np.arange(first, end, dtype=np.int64)))


# Globals.
NOW_NS = 1
EVENTS = 2  # carried out so far
NEXT_WORD = 3  # first word never used so far
RESERVE_WORDS = 4  # what one event may take at most
NEEDED_WORDS = 5
WHEEL = 6  # first and last event of each ns near the present; see ``event_wheel``
WHEEL_BITS = 7
HEAP = 8  # later events
HEAP_SIZE = 9
HEAP_CAPACITY = 10
ORDER = 11  # events put into the heap so far
LIVE = 12  # events to come that may set a packet in motion
FREE_PACKETS = 13
FREE_EVENTS = 14
PACKET_WORDS = 15
CONTROL = 16  # congestion control; see ``controls``
PAYLOAD = 17  # of a full packet
HEADERS = 18  # of a data packet
ACK_BYTES = 19
STAMPS_HOPS = 20  # switches write a record into each data packet
ACK_PAUSES = 21  # a host's ACKs stop with its class of data
QPS = 22
QP_COUNT = 23
FLOWS_LEFT = 24
PAUSES = 25
DROPS = 26
NEXT_NS = 27  # next event that can move a packet, after a run up to a time; -1: none
LOSS = 28  # real: share of packets that a link loses
PACES_AT_RATE = 29  # else at the line's rate
ACK_INTERVAL = 30
CHUNK = 31
BACK_TO_ZERO = 32
SCALES_WINDOW = 33
MARKS = 34  # switches mark packets
TRACING = 35
TRACE_ROWS = 36
SENT_PACKETS = 37  # of every kind, by hosts and switches that make them
TAKEN_PACKETS = 38  # by whom they are for
LOST_PACKETS = 39  # on links
HOP_UNIT = 40  # INT_MULTI
NEXT_HOPS = 41  # per host and node where its next hops begin; then these, ports
MARK_STREAM = 42  # six words; see ``randoms``
LOSS_STREAMS = 48  # one for each link
ENDED_FIRST, ENDED_LAST = 49, 50  # flows that have ended and nobody has asked about
ROUTING = 51  # see below
ANY_ORDER = 52  # receivers take packets in any order
WAYS_TOLD = 53  # pairs tell the ways of their flows
ENDS_AT_RECEIVER = 54  # a flow is listed as ended when its last byte has come, not its last ACK
CREDITS = 55  # links have credits in place of pauses
TRAIN = 56  # packets that are moved as one at most; 1: each by itself
RETRY_NS = 57  # without progress, after which bytes are sent again; 0: never
MOST_RETRIES = 58  # without progress, after which a flow gives up
BACKS_OFF = 59  # each retry waits twice as long as the one before
CNP_NS = 60  # least time between packets that tell a flow's sender of marks; 0: ACKs tell it
COALESCED_BYTES = 61  # for which one ACK answers; 0: see ``ACK_INTERVAL``
REORDER_PACKETS = 62  # that may come before an earlier one; 0: none, the sender goes back
PAUSES_PEERS = 63  # a switch that fills up; else it drops packets
FLOWLET_NS = 64  # pause of a flow after which a switch may choose another way for it
DETOUR_BIAS = 65  # bytes, times links, by which a detour must be better
HOSTS, HOST_COUNT = 66, 67  # their nodes
LINKS_FAIL = 68  # some link fails at some time
LANES = 69  # virtual lanes of links with credits
LANE_WEIGHTS = 70  # packets that each may send in a row
CAUSE = 71  # what is scheduled now is told apart by; see ``E_KIND``
GROUP = 72  # of events with one past, by number; see ``event_wheel``
GROUP_CAUSE, GROUP_NS = 73, 74  # group that caused the present one, and its time
STANDS_FOR_OTHERS = 75  # some part of the network is simulated for others that are alike
NEARS_DRAW = 76  # of such a part: a queue has become so long that a mark may soon be drawn
PARAMETERS = 80  # of the congestion control
PARAMETER_WORDS = 24
FIRST_RECORD = PARAMETERS + PARAMETER_WORDS

# Who chooses among equally near next ports: a hash per flow; each packet takes them in turn, or the
# one with the shortest queue.
# With flowlets a switch chooses, by queue, after a pause. The source chooses a detour over the
# switch of a host drawn at random: always, or where the queues are shorter (UGAL).
BY_HASH, IN_TURN, SHORTEST_QUEUE, BY_FLOWLET, BY_DETOUR, BY_QUEUED_DETOUR = _constants(0, 6)

# Anything that is scheduled starts with these words. The word of its kind holds, above the kind,
# the number of the flow whose start it goes back to, and the group of the event that caused it.
E_NEXT, E_KIND, E_A, E_B = 0, 1, 2, 3
KIND_MASK, ROOT_SHIFT, GROUP_SHIFT = 31, 5, 33
ROOT_MASK = (1 << GROUP_SHIFT) - 1 - KIND_MASK
GROUP_MASK = (1 << (63 - GROUP_SHIFT)) - 1
EVENT_WORDS = 4
ARRIVAL, PORT_FREE, WAKE, FLOW_CALLED, FLOW_CREATED, FLOW_STARTED, SAMPLE = _constants(0, 7)
CREDIT, RETRY, LINK_CHANGE, REROUTE, TIMER = _constants(7, 12)
# TIMER plus a number: a timer of the congestion control

# A packet. While it flies, its arrival is an event.
P_PORT = 2  # at which it arrives
P_TYPE = 3
P_QP = 4
P_SEQ = 5
P_BYTES = 6  # on the wire
P_IN = 7  # port at which it came into this switch
P_MARK = 8  # congestion experienced, or its echo
P_HOP = 9  # where in the path's list the next port stands
P_STAMP = 10  # time at which it was sent, or number of records of hops
P_TAIL_NS = 11  # of a train: its last packet has come, or comes, to where it goes
P_TAKEN = P_TAIL_NS  # of an answer, where packets may come in any order: the byte it answers
P_HOPS = 12  # the records
SHORT_PACKET_WORDS = 12
MOST_HOPS = 5
LONG_PACKET_WORDS = P_HOPS + MOST_HOPS
DATA, ACK, NACK, PFC, CNP = _constants(0, 5)

# A port: one end of a link, and its own event PORT_FREE.
PORT_PEER = 2
PORT_RATE = 3
PORT_DELAY = 4
PORT_BUSY = 5
PORT_PAUSED = 6  # class of data and ACKs may not send
PORT_CONTROL_FIRST, PORT_CONTROL_LAST = 7, 8  # PFC frames
PORT_FIRST, PORT_LAST = 9, 10  # data of a switch; ACKs of a host
PORT_SIZE, PORT_SIZE_NS = 11, 12  # latest size, and how long it takes
PORT_NODE = 13
PORT_QUEUED = 14  # bytes of all classes
PORT_EGRESS = 15  # bytes of data and ACKs
PORT_MOST = 16  # largest of these
PORT_INGRESS = 17  # bytes that came in here and are still in this switch
PORT_OVER = 18  # bytes of them in the headroom
PORT_HEADROOM = 19
PORT_SHIFT = 20  # its share of the free buffer, as a power of two
PORT_HAS_PAUSED = 21  # told its peer to pause
PORT_SENT = 22  # bytes
PORT_KMIN, PORT_KMAX, PORT_PMAX = 23, 24, 25  # real
PORT_RATE_CODE = 26
PORT_QPS, PORT_QP_COUNT, PORT_LAST_QP = 27, 28, 29  # list of a host, index served last
PORT_WAKE_NS, PORT_WAKE = 30, 31  # time of a wake-up, -1: none; number of the valid one
PORT_PAUSES, PORT_RESUMES = 32, 33  # frames received
PORT_DROPS = 34
PORT_LOSS = 35  # stream of random numbers of its link
PORT_CREDIT = 36  # blocks of the peer's buffer that are free for it, where links have credits
PORT_DOWN = 37  # its link carries nothing: what it is given is lost
PORT_LANES = 38  # table of its lanes, where there are several
PORT_LANE, PORT_LANE_LEFT = 39, 40  # served last, and packets that it may send on
PORT_NEAR = 41  # bytes of its queue above which NEARS_DRAW is noted
PORT_WORDS = 42

# A virtual lane of a port: packets that wait, and blocks that are free for it at the peer.
LANE_FIRST, LANE_LAST, LANE_CREDIT = 0, 1, 2
LANE_WORDS = 3

# A node.
NODE_ID, NODE_IS_SWITCH = 0, 1
NODE_BUFFER = 2  # less headrooms and reserves
NODE_SHARED = 3  # bytes in the shared part
NODE_ROOT = 4  # of a host, where its row of next hops begins
NODE_TURN = 5  # counts packets that its ports took in turn
NODE_NEAR = 6  # bytes in the shared part above which NEARS_DRAW is noted
NODE_WORDS = 7

# A queue pair: one flow, and the event that starts it.
Q_PORT = 2
Q_SIZE = 3
Q_NEXT, Q_ACKED = 4, 5  # first byte not sent, not acknowledged
Q_READY_NS = 6  # next packet may not start before
Q_RATE, Q_LINE_RATE = 7, 8
Q_WINDOW = 9  # 0: none
Q_WINDOW_NOW = 10
Q_BASE_RTT_NS = 11
Q_LAST_BYTES = 12  # latest packet, on the wire
Q_FORTH, Q_BACK = 13, 14  # lists of the ports along its path
Q_EXPECTED = 15  # receiver: next byte
Q_NACK_AFTER_NS, Q_NACKED = 16, 17
Q_START_NS, Q_FINISH_NS, Q_LAST_BYTE_NS = 18, 19, 20  # -1: not yet; last byte in any order
Q_TAKEN, Q_MARKED = 21, 22  # data packets received
Q_WAITS_FOR = 23  # flows before it
Q_DELAY_NS = 24
Q_FOLLOWERS, Q_FOLLOWER_COUNT = 25, 26
Q_NUMBER = 27
Q_RECEIVER = 28  # port from which its ACKs are sent
Q_SENT = 29  # data packets
Q_SOURCE, Q_TARGET = 30, 31  # nodes
Q_PAIR = 32  # word that counts the flows between its hosts so far, or their pair
Q_ENDED_NEXT = 33
Q_SPORT = 34  # source port of its packets of data
Q_CAME_NS = 35  # receiver: latest packet of data
Q_CONTROL = 36  # words of the congestion control, up to
Q_LINKS = 60  # of its way
Q_RETRY_PLANNED = 61  # an event is to come
Q_PROGRESS_NS = 62  # latest time at which a byte was acknowledged, or a first one sent
Q_RETRIES = 63  # since then
Q_CNP_AFTER_NS = 64  # receiver
Q_TOLD, Q_MARKS_HELD = 65, 66  # receiver: bytes of the latest ACK, marks since then
Q_CAME = 67  # receiver: bits of the packets that came before an earlier one
Q_ANSWERED = 68  # sender: bits of the packets that were answered likewise
Q_ANSWERED_END = 69  # packet after the last of them
Q_RECOVERS_TO = 70  # packet that ends the recovery from a loss
Q_RESEND = 71  # packet from which on those lost are looked for
Q_LANE = 72
Q_ENDED_CAUSE = 73  # cause of what the event that ended it schedules
Q_WORDS = 80  # whole lines of a cache

# What the flows between two hosts have in common, where they come as the run goes.
PAIR_COUNT = 0  # flows so far
PAIR_SOURCE, PAIR_TARGET = 1, 2  # nodes
PAIR_WINDOW = 3
PAIR_BASE_RTT_NS = 4
PAIR_LINKS = 5  # one way
PAIR_FORTH, PAIR_BACK = 6, 7  # ports of the ways, the first at the host, then 0; where told
PAIR_WORDS = 8

# Columns of the trace.
T_NS, T_NODE, T_TYPE, T_FLOW, T_SEQ, T_BYTES, T_MARK, T_RATE = 0, 1, 2, 3, 4, 5, 6, 7
TRACE_WORDS = 8

# Why the kernel stops.
ENDED, STUCK, FULL, TRACE_FULL, PAUSED, SAMPLED, REROUTES, UNFOLDS = 0, 1, 2, 3, 4, 5, 6, 7
STRETCH = 1 << 24  # events after which the kernel comes back for a moment

NO_WINDOW = 1 << 62  # bytes, in place of none
NEVER = 1 << 62  # bytes, of a queue that need not be watched
RESERVE_BYTES = 4096
RESUME_BYTES = 3072
PFC_BYTES = 31
BLOCK_BYTES = 64  # of which a credit is one
NACK_INTERVAL_NS = 500_000
TRAINS_IN_WINDOW = 32  # of a flow at least, so that ACKs come as evenly as those of packets
DATA_CLASS = 3
PAUSE_FIELD = 5  # time field of a pause frame, which nobody reads
