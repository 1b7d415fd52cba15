"""Recognises that a run of classes has come back to where it was some periods of its schedule ago.

Each time the first NPU begins a period, everything that decides what happens next is written down,
with times relative to now and nodes relative to the period: which nodes have ended, run or are
ready, what is in the slots, and the events to come. From an equal situation on all goes as it went
before, for as long as all stages are in the part of their program that repeats.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcore.engines.events.input import Ints
from simcore.kernels.classes import layout as f
from simcore.kernels.npu.layout import BOOKED_UNTIL, END, NEVER, POSITION
from simcore.terms import NodeKind
from simcore.workload.graph import TrainingGraph

if TYPE_CHECKING:
    from simcore.engines.classes.sends import Sends
    from simcore.engines.classes.state import ClassState

_WAITS, _HAS_DATA = 1, 2
_KEPT = 16
"""Situations with which the present one is compared."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Period:
    """Gain of a steady state: S stages, C categories.

    Attributes:
        periods: Periods of the schedule in one of the steady state.
        ns: How long it takes.
        booked_ns: (S, C + 1) int64, time by category of the NPU that each stage is told by.
        spare: Periods that the run could be shorter by and still show it.
    """

    periods: int
    ns: int
    booked_ns: Ints
    spare: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Situation:
    now_ns: int
    content: bytes
    booked_ns: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Repeats:
    """Repetitions in the programs of S stages.

    Attributes:
        between: (S, 2) int64, units between which each stage's program repeats.
        units: Units in one period, at least 1.
        left: Periods that the iteration has beyond those of these programs.
    """

    between: Ints
    units: int
    left: int


class PeriodWatch:
    """Looks for a steady state.

    Args:
        graph: The iteration.
        first: (S + 1,) int64, where the nodes of each stage begin.
        repeats: Where programs repeat; None: no steady state is looked for.
        sends: Carries messages; None: they take the time that their nodes have.

    Attributes:
        marks: Nodes of the first stage with which a period begins.
        is_settled: What is left of the run tells nothing: there is no steady state, or a run with
            another number of periods is to be made, of which whole steady states are left.
    """

    def __init__(
        self,
        graph: TrainingGraph,
        first: Ints,
        repeats: Repeats | None,
        sends: "Sends | None" = None,
    ) -> None:
        self._sends = sends
        self._seen: dict[int, _Situation] = {}
        self._found: tuple[int, int, int] | None = None
        self._left = 0 if repeats is None else repeats.left
        self._booked = np.empty((0, 0), np.int64)
        self.marks = np.empty(0, np.int64)
        self.is_settled = False
        if repeats is None:
            return
        between, units = repeats.between, repeats.units
        periods = np.arange(int(((between[:, 1] - between[:, 0]) // units).min()))
        starts = [
            start + stage.unit_start for start, stage in zip(first, graph.stages, strict=False)
        ]
        rows = list(zip(starts, between.tolist(), strict=True))
        self._base = np.stack([start[begin + units * periods] for start, (begin, _) in rows])
        self._low = self._base[:, 0]
        self._high = np.array([start[end] for start, (_, end) in rows])
        compute = np.flatnonzero(graph.stages[0].kind == NodeKind.COMPUTE)
        self.marks = compute[np.searchsorted(compute, self._base[0])]

    def look(self, state: "ClassState") -> None:
        """Compare the situation with those of the last periods."""
        begun = int(state.counter[f.NEXT_MARK]) - 1
        if self._found is not None:
            return
        self.is_settled = begun + 1 == len(self.marks)
        content = self._content(state, begun)
        if content is None:
            return
        now = _Situation(now_ns=int(state.counter[f.NOW]), content=content, booked_ns=state.booked)
        for back in range(1, _KEPT + 1):
            before = self._seen.get(begun - back)
            if before is not None and before.content == content:
                spare = len(self.marks) - 1 - begun
                self._found = back, now.now_ns - before.now_ns, spare
                self.is_settled = self._left % back != 0
                self._booked = now.booked_ns - before.booked_ns
                state.counter[f.NEXT_MARK] = len(self.marks)  # the kernel need not stop again
                return
        self._seen[begun] = now
        self._seen.pop(begun - _KEPT, None)

    def tell_apart(self, old: Ints) -> None:
        """The NPUs are others from now on: (S K,) *old*, what each of them was before."""
        self._seen.clear()
        if self._found is not None:
            self._booked = self._booked[old]

    def found(self, last: Ints) -> Period | None:
        """The steady state, told by one NPU of each stage: *last*, (S,) int64."""
        if self._found is None:
            return None
        periods, ns, spare = self._found
        return Period(periods=periods, ns=ns, booked_ns=self._booked[last], spare=spare)

    def _content(self, state: "ClassState", begun: int) -> bytes | None:
        """All that decides what happens next; None: some stage is outside what repeats."""
        now, base = state.counter[f.NOW], self._base[:, begun]
        parts = list[NDArray[np.generic]]()
        for stage in range(state.shift.size):
            own = state.columns(stage)
            waits, at = state.waits[:, own], int(state.shift[stage]) + own.start
            # receives that wait for nothing but their data are posted at the start, all of them
            active = ((waits <= 0) & (waits != f.POSTED)) | (waits >= f.ARRIVED)
            low = int(np.flatnonzero((waits != f.ENDED).any(axis=0))[0])
            high = int(np.flatnonzero(active.any(axis=0))[-1])
            if low + at < self._low[stage] or high + at >= self._high[stage]:
                return None
            here = waits[:, low : high + 1].astype(np.int64)
            here = np.where(here > 0, np.where(here >= f.ARRIVED, _HAS_DATA, _WAITS), here)
            parts += [np.array([low, high]) + at - base[stage], here.ravel()]
        parts += [state.npu[:, BOOKED_UNTIL] - now, state.npu[:, f.TURNS]]
        coming, classes = state.coming, state.histories.count
        who, position = coming[:, 3] >> f.POSITION_BITS, coming[:, 3] & f.POSITION_MASK
        parts += [coming[:, 0] - now, coming[:, 1] - now, who, position - base[who // classes]]
        parts.append(self._slots(state, base))
        if self._sends is not None:
            outbox, source = int(state.counter[f.OUTBOX]), self._sends.sent.source
            handed = state.counter[outbox : outbox + int(state.counter[f.SENT])]
            parts.append(handed - base[state.node[handed, f.STAGE]])
            parts += self._sends.situation(int(now), base[source])
        sizes = np.array([part.size for part in parts], np.int64)
        return b"".join([sizes.tobytes(), *[part.tobytes() for part in parts]])

    def _slots(self, state: "ClassState", base: Ints) -> Ints:
        """Content of the slots: nodes, ends, starts where an end is not known yet, losses."""
        now, at = state.counter[f.NOW], state.at
        table = state.npu[:, at.slot : at.booked].reshape(-1, at.slots, at.slot_fields)
        taken = table[:, :, POSITION] >= 0
        waiting = taken & (table[:, :, END] == NEVER)
        node = table[:, :, POSITION] - np.repeat(base, state.histories.count)[:, None]
        end = np.where(waiting, table[:, :, f.START], table[:, :, END]) - now
        lost = table[:, :, f.START] - now + table[:, :, f.LOST] if state.counter[f.TAKES] else end
        rest = table[:, :, f.REST]
        parts = [np.where(taken, part, 0) for part in (end, lost, rest)]
        return np.stack([np.where(taken, node, NEVER), *parts, waiting]).ravel()
