"""Layout of the two arrays that the stage kernels share.

``fixed`` holds the program of every stage with its durations, ``live`` what changes during a run;
both are flat int64. Records are told by their *address*, the index of their first field, and a
field by the constants below, so that any function takes two arrays and this table of addresses.
"""

from typing import NamedTuple

from simcore.kernels.npu.layout import HEADER

BEFORE, FORWARD = -(2**30), -(2**30) - 1
"""Dependencies on the unit before, its last compute node, and on the end of the forward pass."""

# A node of a piece: the fields that the feeder knows (``npu.layout``; a receive waits for its
# message, the MATE of a message is the unit of its piece that it belongs to, that of a compute or
# of a collective of one stage is CLOSED where its end may concern more than the NPU's own computes
# and collectives, CHAIN_END where it is the last compute node of a unit, LEADS where only the next
# node waits for it, which is one of these too and waits for nothing else, else 0), and the
# direction of a message (1: to the next stage). In place of times, which are those of a machine,
# stand where they are found and its place in a section that repeats (0: none); how often the
# section does from there on, in place of the direction.
ITEM, SECTION = 1, 2
DIRECTION, REPEATS, NODE_FIELDS = 7, 7, 8
CLOSED, CHAIN_END, LEADS = 1, 2, -1

# The times of an item, DURATION and LAST_STEP as in a node of the feeder, side by side; addresses
# are those of the node that they would be in.
TIMES_FIELDS = 2

# A piece as the stages of one class run it: address of its first node, their number, positions of
# the last compute node (-1: the piece ends the iteration) and of the last exit, address of the
# positions of its receives by unit (-1: none), address of how many others each node waits for,
# address of two further rows, whose children wait for the last compute node of the unit before, and
# for the end of their micro-batch's forward pass, address of where each of its units begins (of one
# that ends the iteration), its first unit, and the time of a message to the next and to the
# previous stage. A piece that ends the iteration may begin at several of its units.
ROWS, NODES, LAST, EXIT, RECEIVES, MISSES, OUTSIDE, STARTS, FIRST_UNIT = range(9)
NEXT_NS, PREVIOUS_NS, PIECE_FIELDS = range(9, 12)

# A unit of a stage: number of its piece, how many units ago its forward pass was (0: it does not
# ask), the messages that it sends and receives (-1: none).
WHICH, FORWARD_AGE, SENDS, RECEIVED = range(4)
UNIT_FIELDS = 4

# A stage's program: address of its units and of its first piece, its first unit of the finale,
# and the units between which its program repeats.
UNITS, PIECES, FINALE_UNIT, REPEATS_FROM, REPEATS_TO = range(5)
PROGRAM_FIELDS = 5

# A message: the stage and the unit that receive it, and those that send it.
TO_STAGE, TO_UNIT, FROM_STAGE, FROM_UNIT = range(4)
MESSAGE_FIELDS = 4

# A stage's NPU while it is followed node by node: what the feeder knows, then numbers given to
# events, its unit, its blocks of nodes (one per unit under way), last compute node of the current
# unit and when it ends, the node that it waits for in place of its forward pass (-1: none), the
# unit to begin next (-1: none), whether its message is there, its FORWARD_AGE, entries of the log,
# when the event under way was scheduled and when that was decided (NEVER: not told); from SLOT on
# its slots, then times by category, log, blocks, ready heaps, and the state of each node.
NUMBERS, UNIT, BLOCKS, LAST_NODE, LAST_ENDS, LOSS_AT, NEXT_PIECE, GATE = range(HEADER, HEADER + 8)
NEXT_AGE, LOGGED, UNDER_WAY, DECIDED, SLOT = range(HEADER + 8, HEADER + 13)

# A slot: what the feeder knows, then when the node's end was scheduled, of a send its cause, two
# times: when the event that started it was scheduled, and when that was decided (NEVER: not told),
# then its number.
SCHEDULED, CAUSE, CAUSE_DECIDED, NUMBER, SLOT_FIELDS = range(3, 8)

# An entry of the log: a send (its unit, start, end, cause), or the start of a member of a
# collective between stages (its number, start, then NEVER).
LOG_UNIT, LOG_START, LOG_END, LOG_CAUSE, LOG_CAUSE_DECIDED = range(5)
LOG_FIELDS = 5

# When a message comes (-1: not known), when it was sent, and its cause.
ARRIVAL_END, ARRIVAL_START, ARRIVAL_CAUSE, ARRIVAL_CAUSE_DECIDED = range(4)
ARRIVAL_FIELDS = 4

# State of a node that has all that it waits for; above: how much is missing.
IS_READY, RUNS, DONE = 0, -1, -2

# An interned state of a stage's NPU: address and length of its record, its hash, its next event
# (as in a slot from END to CAUSE_DECIDED, relative to the state's time), MODE, address of its
# piece, its place in the table, and the transition that led away from it last: by what, with which
# value (NEVER: none has), and its address.
RECORD, LENGTH, HASH, HEAD_END, HEAD_SCHEDULED, HEAD_CAUSE, HEAD_CAUSE_DECIDED = range(7)
STATE_MODE, STATE_PIECE, STATE_PLACE, LAST_WHAT, LAST_VALUE, LAST_EDGE, STATE_FIELDS = range(7, 14)

# Modes: about to end the last compute node of a unit; waiting for the message of a unit; followed
# node by node to the end of the iteration.
CHAIN_ENDS, AWAITS_MESSAGE, FINALE = 0, 1, 2

# A known transition: from which state, by what, with which value; to which state, after how long,
# entries of its log, address of the log, which the times by category follow, place in the table;
# of one that ends a unit and awaits a message the least delay of this after which nothing runs any
# more (0: not known), the passage taken last (see ``passing``): by which delay (-1: none was), and
# its address; and that of the passage to where nothing runs any more (0: there is none yet).
SOURCE, WHAT, VALUE, TARGET, TIME, ENTRIES, LOG, EDGE_PLACE = range(8)
QUIET, PASSED_BY, PASSED, SETTLED, EDGE_FIELDS = range(8, 13)

# Where a stage stands: mode, unit, state and its time, messages that are known and not yet used;
# in the finale when the next of them comes, its address, its unit, the NPU's next slot, and the
# unit with which it began; and the last record of its history (0: it has none, -1: it is lost), and
# whether it is open which of the message of its unit and another event was first.
MODE, AT_UNIT, STATE, SINCE, KNOWN, ARRIVES, ARRIVES_AT, ARRIVES_UNIT, AHEAD = range(9)
BEGAN, HISTORY, LEFT_OPEN, STAGE_FIELDS = range(9, 13)

# Counters of the run, at the start of ``live``: states, transitions, end of the pool, passages, and
# whether transitions are noted; of this attempt the collective that can be resolved (-1: none), why
# it failed, transitions followed, snapshots taken, and of the steady state: nanoseconds and periods
# of the schedule (0: none found); then the node from which on a section is timed (-1: none is),
# since when, whether something else runs beside it, and whether it has one collective at a time;
# and periods of the schedule that the run leapt over.
STATES, EDGES, POOL_END, PASSAGES, NOTED, OF_ATTEMPT = 0, 1, 2, 3, 4, 5
RESOLVABLE, FAILURE, FOLLOWED, SNAPSHOTS, PERIOD_NS, PERIODS = range(5, 11)
TIMED_NODE, TIMED_SINCE, TIMED_BESIDE, TIMED_IN_ROW, LEAPT = range(11, 16)
HISTORY_END, TRACE_END, LEAPT_AT, LEAPT_UNITS, LEAPT_NS, DECISIONS = range(16, 22)
WANTED, WANTED_STAGE, WANTED_UNIT, WANTED_PLACE, WANTED_AT = range(22, 27)
COUNTERS = 27

# How a section goes: its time (0: not known), and whether it has one collective at a time; then its
# times by category.
COURSE_NS, COURSE_IN_ROW, COURSE_FIELDS = range(3)

# Why a run failed: order of two events that nothing here decides; too little room; order of two
# events is to be told, and transitions were not noted.
TIE, FULL, UNNOTED = 1, 2, 3


class Layout(NamedTuple):
    """Addresses and sizes.

    Attributes:
        stages, categories, phases, collectives: How many; idle time is one more category, and those
            of computing are the first.
        instant: Whether some collective takes no time.
        compute_slots, slots, lanes, slot, slot_fields: Of one NPU, see ``NpuLayout``.
        shift: A node's position is ``(block << shift) + place in its piece``.
        blocks: Most units under way on one NPU.
        program, message, members: In ``fixed``: stages, messages, members of each collective.
        section, sections: In ``fixed``: by place in a section that repeats the number of its nodes;
            how many places there are, the first of which is none.
        period: Units per period of the schedule, 0: it has none.
        booked, log, block, ready, room, node: Within an NPU, see above.
        npu, npu_size: Address of the first NPU, and of one to the next.
        scratch: Address of three more, on which transitions are worked out and compared.
        times: Of the machine, by item.
        course: How sections go, by place in one.
        due: Time of each stage's next event, side by side because they are looked through often.
        stage, account, steady: Where stages stand, and their times by category: so far, and in one
            period of the steady state.
        arrival: When each message comes.
        started: Per collective: members that have started, then the start of each stage's.
        state, state_table, edge, edge_table, table_size, states, edges: Memo and its room. What a
            table says counts only if that names its place, so tables need not be cleared.
        passage, passages, passage_size, passage_table: Passages, room for so many, words of each,
            and as many places at which one is looked for.
        buffer, buffer_size: Where a record is written.
        snapshot, snapshot_size: The last moments at which a period began.
        history, traced: Where the stages have been, and what was traced of it, see ``order``.
        decision, decision_of: Orders of events that were decided; the last one of each message.
        shadow: Of each stage an NPU on which its finale is traced.
        pool, pool_end: Records and logs.
    """

    stages: int
    categories: int
    phases: int
    collectives: int
    instant: int
    compute_slots: int
    slots: int
    lanes: int
    slot: int
    slot_fields: int
    shift: int
    blocks: int
    program: int
    message: int
    members: int
    section: int
    sections: int
    period: int
    booked: int
    log: int
    block: int
    ready: int
    room: int
    node: int
    npu: int
    npu_size: int
    scratch: int
    times: int
    course: int
    due: int
    stage: int
    account: int
    steady: int
    arrival: int
    messages: int
    started: int
    state: int
    state_table: int
    edge: int
    edge_table: int
    table_size: int
    states: int
    edges: int
    passage: int
    passages: int
    passage_size: int
    passage_table: int
    buffer: int
    buffer_size: int
    snapshot: int
    snapshot_size: int
    history: int
    traced: int
    decision: int
    decision_of: int
    shadow: int
    pool: int
    pool_end: int
