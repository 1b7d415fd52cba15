"""Records of phases, machines, collectives and times, by the names of their fields.

Kernels and Python read a field alike, ``phases[p]["members"]``, compiled or not.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.records import Record as Record
from simcore.kernels.records import Records as Records
from simcore.kernels.records import record_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class PhaseRow(NamedTuple):
    """A phase: who takes part, and ``collectives.base.StateMachine``.

    Sizes are parts of the size that the phase starts with.
    """

    members: int  # that take part
    peers: int  # one of the constants below
    steps: int  # packets that a member sends
    parallel: int  # packets under way at once
    reduced: int  # packets that may be reduced, after each ``parallel`` plain ones
    divisor: int  # the first packet's part of the size
    distance: int  # of the first packet's receiver, in members
    shrinks: int  # 1: packets halve as their distance doubles; else the other way round
    waits: int  # 1: the second half starts when the first has arrived whole
    reduce_rule: int  # one of the constants below
    result_times: int  # the size after the phase: times this,
    result_over: int  # over this
    stride: int = 1  # between neighbours, in the dimension's coordinate
    dimension: int = 0  # whose links and queue the phase uses
    alike: int = 0  # 1: every member sees the same distances
    table: int = 0  # where its step table starts, if PEERS_TABLE
    takes_ns: int = 0  # of every message, if above 0; where links are shared: 1 + its schedule
    lines: int = 1  # of so many lines of members, one takes part
    wait_ns: int = 0  # of a member after each message that it has received


Program = tuple[PhaseRow, tuple[int, ...]]
"""A phase, and the words of its step table."""


PHASE = record_of(np.int64, *PhaseRow._fields)

PEERS_NEIGHBOUR, PEERS_ROTATING, PEERS_HALVING, PEERS_TREE = 0, 1, 2, 3
PEERS_CUSTOM, PEERS_TABLE = 4, 5
REDUCE_NEVER, REDUCE_FIRST_HALF, REDUCE_ALWAYS = 0, 1, 2

# Words of a step in a ``step_table``, which the unfolded engine keeps among words of other kinds.
STEP_NUMERATOR, STEP_DENOMINATOR = 0, 1  # of the part of the buffer that is sent
STEP_PEER = 2  # one of the constants below
STEP_VALUE = 3  # members ahead; bits that differ; or where in the table the permutation lies:
# the receiver of each member, then the sender to each
STEP_REDUCES = 4  # 1: what a member receives is reduced
STEP_WORDS = 5
PEER_AHEAD, PEER_DIFFERING, PEER_NAMED = 0, 1, 2
PEER_SPAN = 3  # the value is where three words lie: members ahead, the first sender, how many
NOBODY = -1  # receiver of a member that sends nothing, sender to one that receives nothing

LINK = np.dtype(
    [
        ("topology", np.int64),
        ("npus", np.int64),
        ("bytes_per_ns", np.float64),  # of one link
        ("latency_ns", np.float64),
        ("distances", np.int64),  # where they start, if TABLE
    ],
    align=True,
)
"""A dimension of the network."""


class Machine(NamedTuple):
    """Network and NPUs that members of a collective run on.

    Attributes:
        links: (D,) LINK.
        distances: Of each dimension whose topology is ``TABLE``, n x n links between two NPUs, then
            n x n of those that belong to NPUs.
        delay_ns: What it costs an NPU to handle a message.
        memory_bytes_per_s: How fast it reduces data; 0: at once.
    """

    links: Records
    distances: Ints
    delay_ns: int = 0
    memory_bytes_per_s: float = 0.0


LIST_DELAY_NS = 10
"""Cost of handling a message in a group given as a list, whatever the endpoint delay is
(ASTRA-sim 2.0)."""

TIME = record_of(np.int64, "slowest_ns", "fastest_ns", "last_step_ns")
"""Ends of a phase, of its last and of its first member, and how long before its last step was
scheduled."""

COLLECTIVE = record_of(np.int64, "phase", "chunks", "chunk_bytes")
"""A collective: its first phase, and the number and size of its chunks."""

ANSWER = record_of(np.int64, "missing", "duration_ns", "held_ns", "last_ns", "tied")
"""Values that ``collective_time`` returns."""
