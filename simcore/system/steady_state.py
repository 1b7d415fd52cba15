"""Finds the moment from which an executed iteration repeats itself, period after period.

A run with few micro-batches then tells the run with many, exactly: what happens from one moment on
is decided by the state at that moment (which nodes have run, which are running and until when), so
once the state at the start of one period is that at the start of the next, moved on by one period
of every stage's program, each further period only adds its time.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simcore.kernels import graph_schedule
from simcore.system.engine_input import Ints
from simcore.system.executor import Execution
from simcore.system.lowering import Lowered
from simcore.workload.steady import RepeatingPart

MULTIPLES = (1, 2, 3, 4)
"""Periods of the schedule that one period of the steady state may have."""

_CUTS = 3
"""How many moments are tried, from the latest on."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SteadyState:
    """A period of the steady state.

    Attributes:
        begin_ns, end_ns: One period.
        parts: Per stage, the repeating part of its program, its period that of the steady state.
        schedule_periods: Periods of the schedule in it.
    """

    begin_ns: int
    end_ns: int
    parts: tuple[RepeatingPart, ...]
    schedule_periods: int

    @property
    def period_ns(self) -> int:
        return self.end_ns - self.begin_ns


def find_steady_state(
    lowered: Lowered, execution: Execution, parts: tuple[RepeatingPart, ...]
) -> SteadyState | None:
    """The last period of *execution* that provably repeats the one before, or None."""
    first = parts[0]  # the first stage drains first: its periods lie in those of all others
    kinds = lowered.node[first.begin : first.begin + first.period, graph_schedule.KIND]
    begin = first.begin + int(np.flatnonzero(kinds == graph_schedule.COMPUTE)[0])
    periods = (first.end - first.begin) // first.period
    starts = execution.start_ns[begin + first.period * np.arange(periods)].tolist()
    for multiple in MULTIPLES:
        longer = tuple(replace(part, period=multiple * part.period) for part in parts)
        last = periods - 1 - multiple  # so that the drain has not begun
        for cut in range(last, max(last - _CUTS, multiple - 1), -1):
            steady = SteadyState(
                begin_ns=starts[cut - multiple],
                end_ns=starts[cut],
                parts=longer,
                schedule_periods=multiple,
            )
            if _repeats(lowered, execution, steady):
                return steady
    return None


def _repeats(lowered: Lowered, execution: Execution, steady: SteadyState) -> bool:
    running = []
    for stage, part in enumerate(steady.parts):
        first = int(lowered.stage_start[stage])
        nodes = slice(first, int(lowered.stage_start[stage + 1]))
        program = _Program(
            is_receive=lowered.node[nodes, graph_schedule.KIND] == graph_schedule.RECV,
            start=execution.start_ns[nodes],
            end=execution.end_ns[nodes],
        )
        if not program.repeats(part, steady):
            return False
        running.append(first + program.running_at(steady.begin_ns))
    return _order_is_certain(lowered, execution, np.concatenate(running))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Program:
    """When the nodes of one stage ran; receives wait from the very start and count by their end."""

    is_receive: NDArray[np.bool_]
    start: Ints
    end: Ints

    def begun(self, time: int) -> NDArray[np.bool_]:
        """Whether each node has been started (a receive: has its data) at *time*."""
        return np.where(self.is_receive, self.end, self.start) < time

    def running_at(self, time: int) -> Ints:
        return np.flatnonzero(self.begun(time) & (self.end >= time))

    def repeats(self, part: RepeatingPart, steady: SteadyState) -> bool:
        """Whether the state at the end of the period is that at its begin, one period on."""
        begin, end = steady.begin_ns, steady.end_ns
        if self.begun(end)[part.end - part.period :].any():
            return False  # the drain has begun
        if not (self.end[: part.begin] < begin).all():
            return False  # the warm-up is not over
        if not (self.end[part.begin : part.begin + part.period] < end).all():
            return False
        earlier = slice(part.begin, part.end - part.period)
        later = slice(part.begin + part.period, part.end)
        begun = self.begun(begin)[earlier]
        if not np.array_equal(begun, self.begun(end)[later]):
            return False
        done = self.end[earlier] < begin
        if not np.array_equal(done, self.end[later] < end):
            return False
        under_way = begun & ~done
        same_start = self.start[earlier] - begin == self.start[later] - end
        same_end = self.end[earlier] - begin == self.end[later] - end
        return bool((same_start & same_end)[under_way].all())


def _order_is_certain(lowered: Lowered, execution: Execution, running: Ints) -> bool:
    """Whether no two running nodes of one NPU end at once and were scheduled at once.

    Such a tie is decided by which was scheduled first, which times do not tell.
    """
    node = lowered.node[running]
    end = execution.end_ns[running]
    lead = node[:, graph_schedule.LAST_STEP]
    scheduled = np.where(lead < 0, execution.start_ns[running], end - lead)
    sends = node[:, graph_schedule.KIND] == graph_schedule.SEND
    receiver = lowered.node[node[sends, graph_schedule.MATE], graph_schedule.STAGE]
    stage = np.concatenate([node[:, graph_schedule.STAGE], receiver])
    ends = np.concatenate([end, end[sends]])
    at = np.concatenate([scheduled, scheduled[sends]])
    return int(np.unique(np.stack([stage, ends, at]), axis=1).shape[1]) == stage.size
