"""Programs, codes and counts of a workload under a plan, whatever the machine."""

from collections import deque
from collections.abc import Iterator
from dataclasses import fields
from math import lcm
from weakref import proxy

import numpy as np

from simcore.compute import COMPUTE_MODELS, ComputeModel
from simcore.engines.events.input import Ints
from simcore.engines.stages.code import (
    CodeParts,
    KeyedProgram,
    PipelineCode,
    code_parts,
    pipeline_code,
)
from simcore.engines.stages.counts import NodeCounts, counts_of_program
from simcore.engines.stages.times import OperatorTimes
from simcore.kernels.stages.pipeline_period import KEPT
from simcore.machine import Npu
from simcore.memo import Memo, key_of
from simcore.workload import ParallelPlan, Workload, microbatches
from simcore.workload.graph import TrainingGraph
from simcore.workload.program.write import ProgramWriter, TrainingProgram, expand_program
from simcore.workload.schedules import SCHEDULES

_NPUS = 4
"""Accelerators whose operator times one plan keeps."""

_FAR_LONGER = 32
"""A shorter run is tried only where the iteration has so many times its micro-batches; below that
to write the whole program costs less than the shorter runs that show no steady state."""


class _Kept:
    """A graph, and what it takes in memory."""

    def __init__(self, graph: TrainingGraph) -> None:
        self.graph = graph
        values = [getattr(stage, one.name) for stage in graph.stages for one in fields(stage)]
        self.size_bytes = sum([one.nbytes for one in values if isinstance(one, np.ndarray)])


class PlanCode:
    """Programs and counts of one workload under one plan.

    Attributes:
        batches: Micro-batches of the iteration.
        runs: Numbers of micro-batches to be tried, the last one is that of the iteration. A run
            leaps over its steady state, so that a longer one costs next to nothing, while one in
            which none shows is in vain: a shorter one is tried where the iteration is far longer.
        short_runs: The same, where all nodes are followed, so that every longer run costs more, and
            a run is left as soon as it is seen to show no steady state.
        program: The program of the shortest run.
        counts: Nodes of the whole iteration.
    """

    def __init__(self, workload: Workload, plan: ParallelPlan, memo: Memo) -> None:
        self._workload, self.plan, self._memo = workload, plan, memo
        self.batches = microbatches(workload, plan)
        far_fewer, most = self.batches // _FAR_LONGER, 3 * self.batches // 4
        self.runs = (*_short_runs(plan, self.batches, 2 * plan.pp, 1, far_fewer), self.batches)
        self.short_runs = (
            *_short_runs(plan, self.batches, plan.pp, 1, most),
            *_short_runs(plan, self.batches, 2 * plan.pp, 2, most),
            self.batches,
        )
        self._writer = ProgramWriter(workload, plan, memo)
        self._shortest = KeyedProgram.of(self._writer.program(self.runs[0]))
        self.counts: NodeCounts = counts_of_program(self.program, self.batches, memo)
        self._operator_ns: deque[tuple[Npu, type[ComputeModel], Ints]] = deque(maxlen=_NPUS)

    @property
    def program(self) -> TrainingProgram:
        return self._shortest.program

    @property
    def place(self) -> int:
        """Place among other plans by the structure of the shortest program."""
        return self._shortest.place

    def code(self, batches: int) -> PipelineCode | None:
        """The program of a run with *batches* micro-batches, one of ``runs``."""
        return pipeline_code(self.keyed(batches), self._memo)

    def parts(self, batches: int) -> CodeParts | None:
        """All that ``code`` is put together of."""
        return code_parts(self.keyed(batches), self._memo)

    def graph(self, batches: int) -> TrainingGraph:
        """Graph, node by node; that of a short run is kept."""
        program = self.keyed(batches).program
        if batches == self.batches:
            return expand_program(program)
        key = self._workload, self.plan, batches
        return self._memo.of("short graphs", key, lambda: _Kept(expand_program(program))).graph

    def operator_ns(self, npu: Npu, compute: ComputeModel) -> Ints:
        """(O,) int64: time of each operator."""
        for known_npu, known_compute, known in self._operator_ns:
            if known_compute is type(compute) and (known_npu is npu or known_npu == npu):
                return known
        every = self._memo.of("operator times", None, OperatorTimes)
        times = every.of(self.program.operators, npu, self._workload.precision, compute)
        self._operator_ns.append((npu, type(compute), times))
        return times

    def operator_ns_of(self, npu: Npu, compute: str) -> Ints:
        """``operator_ns`` by the name of the compute model."""
        return self.operator_ns(npu, COMPUTE_MODELS[compute]())

    def keep(self, memo: Memo) -> None:
        """Put this code back where ``plan_code`` finds it, if *memo* has let it go."""
        memo.of("programs", key_of(self._workload, self.plan), lambda: self)

    @property
    def size_bytes(self) -> int:
        """Memory taken by the shortest program; longer ones and codes are kept by themselves."""
        return self._shortest.size_bytes

    def keyed(self, batches: int) -> KeyedProgram:
        """The program of a run with *batches* micro-batches, one of ``runs``, and its structure."""
        if batches == self.runs[0]:
            return self._shortest
        key = key_of(self._workload, self.plan), batches
        return self._memo.of(
            "longer programs", key, lambda: KeyedProgram.of(self._writer.program(batches))
        )


def plan_code(workload: Workload, plan: ParallelPlan, memo: Memo) -> PlanCode:
    """Code of *workload* under *plan*.

    Raises:
        InfeasibleError: The plan does not fit the workload.
    """
    # which keeps the code: held weakly, the memory of runs ends with them, not at a collection
    held = proxy(memo)
    return memo.of("programs", key_of(workload, plan), lambda: PlanCode(workload, plan, held))


def _short_runs(
    plan: ParallelPlan, batches: int, filling: int, count: int, most: int
) -> Iterator[int]:
    """Numbers of micro-batches, well below *batches*, with which a steady state may show.

    Args:
        plan: The plan.
        batches: Micro-batches of the iteration.
        filling: Micro-batches after which all stages may be in step.
        count: So many numbers.
        most: None above this one.
    """
    period = SCHEDULES[plan.schedule]().period(plan.pp, plan.interleave, plan.chunk_group)
    if period is None:
        return
    fewer = filling + KEPT
    for _ in range(count):
        fewer += (batches - fewer) % (lcm(*range(1, KEPT + 1)) * period)
        if fewer > most:
            return
        yield fewer
        fewer *= 4
