"""Words of a phase, of a network dimension and of an NPU, as the kernels of collectives read them.

A phase is a row of int64: who takes part, and ``collectives.base.StateMachine``, with sizes as
parts of the size that the phase starts with. Where PEERS is PEERS_TABLE a ``step_table`` follows.
"""

MEMBERS = 0  # that take part
STRIDE = 1  # between neighbours, in the dimension's coordinate
DIMENSION = 2  # whose links and queue the phase uses
PEERS = 3  # one of the constants below
STEPS = 4  # packets that a member sends
PARALLEL = 5  # packets under way at once
REDUCED = 6  # packets that may be reduced, after each PARALLEL plain ones
DIVISOR = 7  # the first packet's part of the size
DISTANCE = 8  # of the first packet's receiver, in members
SHRINKS = 9  # 1: packets halve as their distance doubles; else the other way round
WAITS = 10  # 1: the second half starts when the first has arrived whole
REDUCE_RULE = 11  # one of the constants below
RESULT_TIMES = 12  # the size after the phase: times this,
RESULT_OVER = 13  # over this
ALIKE = 14  # 1: every member sees the same distances
ROW_WORDS = 15

PEERS_NEIGHBOUR, PEERS_ROTATING, PEERS_HALVING, PEERS_TREE = 0, 1, 2, 3
PEERS_CUSTOM, PEERS_TABLE = 4, 5
REDUCE_NEVER, REDUCE_FIRST_HALF, REDUCE_ALWAYS = 0, 1, 2

# Words of a step in a ``step_table``, of which there may be one behind a row.
STEP_NUMERATOR, STEP_DENOMINATOR = 0, 1  # of the part of the buffer that is sent
STEP_PEER = 2  # one of the constants below
STEP_VALUE = 3  # members ahead; bits that differ; or where in the table the permutation lies:
# the receiver of each member, then the sender to each
STEP_REDUCES = 4  # 1: what a member receives is reduced
STEP_WORDS = 5
PEER_AHEAD, PEER_DIFFERING, PEER_NAMED = 0, 1, 2

TOPOLOGY, NPUS, BYTES_PER_NS, LATENCY_NS = 0, 1, 2, 3
LINK_WORDS = 4
"""Columns of a network, (D, 4) float64; the bandwidth is that of one link."""

DELAY_NS, MEMORY_BYTES_PER_S = 0, 1
LOCAL_WORDS = 2
"""Words of an NPU, (2,) float64: what handling a message costs, and how fast data is reduced."""

LIST_DELAY_NS = 10
"""Cost of handling a message in a group given as a list, whatever the endpoint delay is
(ASTRA-sim 2.0)."""
