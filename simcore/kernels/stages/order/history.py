"""Records of where the stages of a pipeline have been, one for each transition of a stage.

Records of a stage are a chain from its last one backwards. Nothing of them is read before the order
of two events at one time has to be told.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.stage_layout import Layout
from simcore.kernels.stages.stage_memo import ARRIVAL

HISTORY_WORDS, TRACE_WORDS = 2**20, 2**20
"""Room for some 100,000 transitions, and for 100,000 nodes of them."""

# A record: the one before (0: none), how it went on, the state in which it began, by what and with
# which value (as of a transition), when, number of the unit that is the current one of that state,
# its last entry in the trace (0: none), how far it is traced, and whether the order of two events
# was left open in it.
PREVIOUS, GOES, SOURCE, BY, WITH, SINCE, UNIT, ENTRY, TRACED, IS_OPEN, RECORD_FIELDS = range(11)

TRANSITION, FINALE_AT_END, FINALE_AT_MESSAGE = range(3)
"""Ways to go on: to another state, or node by node to the end of the iteration, from the end of a
unit or from its message on."""

UNTRACED, BEGUN, WHOLE, LOST = range(4)
"""States of the tracing of a record; LOST: further on something happens that cannot be traced."""

MOST_DECISIONS = 2**15
"""Room for so many orders: 256 micro-batches on 16 stages of 4 chunks each ask for some 5,000."""

# An order that was decided: the one before of the same message (-1: none), the message, unit and
# place of the node of its receiver, and -1: the message is first, 1: the node's end is.
LAST_DECISION, MESSAGE, AT_UNIT, AT_PLACE, ORDER, DECISION_FIELDS = range(6)

Ints = NDArray[np.int64]


@njit(cache=True)
def note(
    live: Ints, at: Layout, number: int, goes: int, source: int, by: int, value: int, since: int
) -> None:
    """Add a record to the history of a stage."""
    stage = at.stage + number * f.STAGE_FIELDS
    record = live[f.HISTORY_END]
    if record + RECORD_FIELDS > at.traced:
        live[stage + f.HISTORY] = -1
        return
    before = live[stage + f.HISTORY]
    if before < 0:
        return
    live[f.HISTORY_END] = record + RECORD_FIELDS
    live[record + PREVIOUS] = before
    live[record + GOES] = goes
    live[record + SOURCE] = source
    live[record + BY] = by
    live[record + WITH] = value
    live[record + SINCE] = since
    live[record + UNIT] = live[stage + f.AT_UNIT]
    live[record + ENTRY] = live[record + TRACED] = 0
    live[record + IS_OPEN] = live[stage + f.LEFT_OPEN]
    if by == ARRIVAL or goes == FINALE_AT_MESSAGE:
        live[stage + f.LEFT_OPEN] = 0
    live[stage + f.HISTORY] = record


@njit(cache=True)
def make_room(live: Ints, at: Layout) -> None:
    """Forget all traces if there is little room left for more."""
    if live[f.TRACE_END] + TRACE_WORDS // 4 < at.decision:
        return
    live[f.TRACE_END] = at.traced
    for number in range(at.stages):
        record = live[at.stage + number * f.STAGE_FIELDS + f.HISTORY]
        while record > 0:
            live[record + ENTRY] = live[record + TRACED] = 0
            record = live[record + PREVIOUS]


@njit(cache=True)
def since_of(live: Ints, record: int) -> int:
    """Time at which a record begins, as if no period had been leapt over."""
    since = live[record + SINCE]
    return int(since + live[f.LEAPT_NS] if record < live[f.LEAPT_AT] else since)


@njit(cache=True)
def unit_of(live: Ints, record: int) -> int:
    """The unit from which a record counts, as if no period had been leapt over."""
    unit = live[record + UNIT]
    return int(unit + live[f.LEAPT_UNITS] if record < live[f.LEAPT_AT] else unit)


@njit(cache=True)
def decided(live: Ints, at: Layout, message: int, unit: int, place: int) -> int:
    """Order of a message and the end of a node of its receiver as it was decided; 0: it was not."""
    number = live[at.decision_of + message]
    while 0 <= number < live[f.DECISIONS]:
        decision = at.decision + number * DECISION_FIELDS
        if live[decision + MESSAGE] != message:
            return 0  # of an earlier run
        if live[decision + AT_UNIT] == unit and live[decision + AT_PLACE] == place:
            return int(live[decision + ORDER])
        number = live[decision + LAST_DECISION]
    return 0


@njit(cache=True)
def remember(live: Ints, at: Layout, message: int, unit: int, place: int, order: int) -> bool:
    """Keep an order that was decided; False: there is no room."""
    number = live[f.DECISIONS]
    if number == MOST_DECISIONS:
        return False
    live[f.DECISIONS] += 1
    before, decision = live[at.decision_of + message], at.decision + number * DECISION_FIELDS
    is_own = 0 <= before < number
    is_own = is_own and live[at.decision + before * DECISION_FIELDS + MESSAGE] == message
    live[decision + LAST_DECISION] = before if is_own else -1
    live[decision + MESSAGE] = message
    live[decision + AT_UNIT] = unit
    live[decision + AT_PLACE] = place
    live[decision + ORDER] = order
    live[at.decision_of + message] = number
    return True
