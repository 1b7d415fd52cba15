"""Check that alike NPUs do everything in one order, though one stands for all.

Events of one time run in the order in which they were scheduled, so that order is inherited: of two
events, the one whose cause came first comes first. Only where the causes were simultaneous too, and
so on back to the start, the numbers of the NPUs decide, and these differ within a class. Hence:

* A *tie* is a set of simultaneous events whose causes belong to one tie. Ties are in one order
  everywhere.
* Within a tie, the events of an NPU that were caused at one and the same NPU, on one strand there,
  are a *strand*. They are in one order everywhere, as their causes are.
* Arrivals that a network outside the kernel tells of at once are a tie, each a strand of its own.
* Events of one tie on different strands may change places from one NPU to the next. That does no
  harm as long as they touch different things: queues, walks, links, pairs of sends and receives,
  the NPU's program. Each of these bears the mark (tie and strand) of who touched it last; where
  another strand of the same tie touches it, folding is unsafe and the run is given up.
"""

import numpy as np

from simcore.kernels.events import layout as f
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.layout import Ints

_STRAND_BITS = 24
_STRANDS = 1 << _STRAND_BITS

# Where a cause lies, as seen from its effect; names of one place differ at most by caution.
OWN, MIXED = np.int64(1), np.int64(2)
RING_STEP = 3  # plus twice the dimension, plus 1 backwards
LINE_SHIFT = 22  # number of the line of members, then how far ahead the receiver is
PAIRED = 1 << 21
LIST_LINES = 1 << 10  # lines of lists follow those of the machine
SENDER, RECEIVER = 1 << 37, 1 << 38  # plus an NPU id


@kernel
def enter_tie(arena: Ints, event: int) -> None:
    """Find out whether *event*, which comes next, still belongs to the present tie."""
    born = arena[event + f.EVENT_BORN] >> _STRAND_BITS
    if arena[f.TIE_BORN] != born or arena[f.TIE_NS] != arena[f.NOW_NS]:
        arena[f.TIE_BORN] = born
        arena[f.TIE_NS] = arena[f.NOW_NS]
        arena[f.TIES] += 1


@kernel
def act_for(arena: Ints, npu: int, cause: int, born: int) -> None:
    """Assign what follows to *npu*, caused at the place *cause* under the mark *born*."""
    tie = arena[f.TIES]
    thread = cause * _STRANDS + (born & (_STRANDS - 1))
    strand = 0
    if arena[npu + f.NPU_TIE] != tie:
        arena[npu + f.NPU_TIE] = tie
        arena[npu + f.NPU_STRANDS] = 1
        arena[npu + f.NPU_FIRST_THREAD] = thread
        arena[npu + f.NPU_LATEST_THREAD] = -1
    elif arena[npu + f.NPU_LATEST_THREAD] == thread:
        strand = arena[npu + f.NPU_STRANDS] - 1
    elif arena[npu + f.NPU_FIRST_THREAD] != thread:
        strand = _new_strand(arena, npu)
        arena[npu + f.NPU_LATEST_THREAD] = thread
    arena[f.MARK] = tie * _STRANDS + strand


@kernel
def _new_strand(arena: Ints, npu: int) -> int:
    strand = arena[npu + f.NPU_STRANDS]
    arena[npu + f.NPU_STRANDS] = strand + 1
    arena[npu + f.NPU_LATEST_THREAD] = -1
    if strand == _STRANDS - 1:
        _give_up(arena)
    return strand


@kernel
def note_arrival(arena: Ints, number: int) -> None:
    """Assign the *number*-th of the arrivals that are told at once to a strand of its own."""
    if number == 0:
        arena[f.TIES] += 1
    if number >= _STRANDS - 1:
        _give_up(arena)
    arena[f.MARK] = arena[f.TIES] * _STRANDS + number


@kernel
def join_strands(arena: Ints, npu: int, word: int) -> None:
    """Equal events of one tie go on as one strand: which of them is first makes no difference.

    *word* keeps the mark of that strand.
    """
    if arena[word] >> _STRAND_BITS != arena[f.TIES]:
        arena[word] = arena[f.TIES] * _STRANDS + _new_strand(arena, npu)
    arena[f.MARK] = arena[word]


@kernel
def touch(arena: Ints, word: int) -> None:
    """Note at *word* who touches what it belongs to; give up where the order is not certain."""
    if arena[f.PLACES] != 0:
        _touch(arena, word)


@kernel
def _touch(arena: Ints, word: int) -> None:
    if _conflict(arena[word], arena[f.MARK]):
        _give_up(arena)
    arena[word] = arena[f.MARK]


@kernel
def note_entry(arena: Ints, npu: int, table: int, delay_ns: int) -> None:
    """Note that the table of *npu* gets one more entry; -1: from several strands of one tie.

    An entry for the present time comes too late for a table of this tie that has run, and in time
    for one that has not: which it is may not depend on the order within the tie.
    """
    last = arena[table + f.FIFO_MARK]
    if last >= 0:
        arena[table + f.FIFO_MARK] = -1 if _conflict(last, arena[f.MARK]) else arena[f.MARK]
    if delay_ns == 0 and table != arena[f.CURRENT_TABLE]:
        waits = arena[table + f.EVENT_BORN] >> _STRAND_BITS == arena[f.TIE_BORN]
        if waits or arena[npu + f.NPU_TABLE_TIE] == arena[f.TIES]:
            _give_up(arena)


@kernel
def _conflict(one: int, other: int) -> bool:
    """True if two marks are of one tie, but of different strands."""
    return one != other and one >> _STRAND_BITS == other >> _STRAND_BITS


@kernel
def _give_up(arena: Ints) -> None:
    arena[f.UNSAFE] = 1
    arena[f.PAUSE_AT] = arena[f.EVENTS]
