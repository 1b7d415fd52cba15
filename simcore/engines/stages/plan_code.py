"""What a workload and a plan come to, whatever the machine; kept for the plans met last."""

from collections import deque
from collections.abc import Iterator
from math import lcm

from simcore.compute import ComputeModel
from simcore.engines.events.input import Ints
from simcore.engines.stages.code import PipelineCode, PipelineCodes, Structured
from simcore.engines.stages.counts import NodeCounts, counts_of_program
from simcore.engines.stages.times import operator_times_ns
from simcore.engines.stages.workspace import Workspace
from simcore.kernels.stages.pipeline_period import KEPT
from simcore.machine import Npu
from simcore.recent import Recent, in_bytes
from simcore.workload import ParallelPlan, Workload, microbatches
from simcore.workload.graph import TrainingGraph
from simcore.workload.program.build import expand_program
from simcore.workload.program.units.orders import UnitOrders
from simcore.workload.program.units.writers import UnitWriters
from simcore.workload.program.write import ProgramWriter
from simcore.workload.schedules import SCHEDULES

_SHORT_RUNS = 2
"""How many short runs are tried before every micro-batch is executed."""

_Key = tuple[Workload, ParallelPlan]

_NPUS = 4
"""Accelerators whose operator times one plan keeps."""


class PlanParts:
    """What plans have in common, for those met last."""

    def __init__(self) -> None:
        self.orders, self.writers, self.codes = UnitOrders(), UnitWriters(), PipelineCodes()


class PlanCode:
    """Programs and counts of one workload under one plan.

    Attributes:
        batches: Micro-batches of the iteration.
        runs: Numbers of micro-batches to be tried, the last one is that of the iteration.
        program: The program of the shortest run.
        counts: Nodes of the whole iteration.
    """

    def __init__(
        self,
        workload: Workload,
        plan: ParallelPlan,
        shared: PlanParts | None = None,
    ) -> None:
        self._workload, self.plan = workload, plan
        self._shared = shared or PlanParts()
        self.batches = microbatches(workload, plan)
        self.runs = (*_short_runs(plan, self.batches), self.batches)
        self._writer = ProgramWriter(workload, plan, self._shared.orders, self._shared.writers)
        self.program = self._writer.program(self.runs[0])
        self._programs = {self.runs[0]: Structured.of(self.program)}
        self.counts: NodeCounts = counts_of_program(self.program, self.batches)
        self._operator_ns: deque[tuple[Npu, type[ComputeModel], Ints]] = deque(maxlen=_NPUS)

    def code(self, batches: int) -> PipelineCode | None:
        """The program of a run with *batches* micro-batches, one of ``runs``."""
        if batches not in self._programs:
            self._programs[batches] = Structured.of(self._writer.program(batches))
        return self._shared.codes.of(self._programs[batches])

    def graph(self, batches: int) -> TrainingGraph:
        """The same, node by node."""
        return expand_program(self._writer.program(batches))

    def operator_ns(self, npu: Npu, compute: ComputeModel) -> Ints:
        """(O,) int64: time of each operator."""
        for known_npu, known_compute, known in self._operator_ns:
            if known_compute is type(compute) and (known_npu is npu or known_npu == npu):
                return known
        precision = self._workload.precision
        times = operator_times_ns(self.program.operators, npu, precision, compute)
        self._operator_ns.append((npu, type(compute), times))
        return times

    @property
    def size_bytes(self) -> int:
        """Memory taken by its arrays; codes are counted where they are shared."""
        return sum([each.size_bytes for each in self._programs.values()])


class PlanCache:
    """The plans met last.

    Args:
        limit_bytes: Memory that they may take without their codes; the last one is always kept.

    Attributes:
        workspace: Memory for their runs.
    """

    def __init__(self, limit_bytes: int = 2**26) -> None:
        self._known: Recent[_Key, PlanCode] = Recent(limit_bytes, in_bytes)
        self._last: tuple[_Key, PlanCode] | None = None
        self._shared = PlanParts()
        self.workspace = Workspace()

    def code(self, workload: Workload, plan: ParallelPlan) -> PlanCode:
        """What *workload* comes to under *plan*.

        Raises:
            InfeasibleError: The plan does not fit the workload.
        """
        if self._last is not None:
            self._known.put(*self._last)  # it has grown since it was handed out
        key = (workload, plan)
        found = self._known.of(key, lambda: PlanCode(workload, plan, self._shared))
        self._last = key, found
        return found


def _short_runs(plan: ParallelPlan, batches: int) -> Iterator[int]:
    """Numbers of micro-batches, well below *batches*, with which a steady state may show."""
    period = SCHEDULES[plan.schedule]().period(plan.pp, plan.interleave, plan.chunk_group)
    if period is None:
        return
    fewer = 2 * plan.pp + KEPT
    for _ in range(_SHORT_RUNS):
        fewer += (batches - fewer) % (lcm(*range(1, KEPT + 1)) * period)
        if 4 * fewer > 3 * batches:
            return
        yield fewer
        fewer *= 4
