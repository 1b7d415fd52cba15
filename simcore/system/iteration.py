"""One training iteration on one machine: graphs, times of their nodes, execution, accounts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import lcm

import numpy as np
from numpy.typing import NDArray

from simcore.compute import ComputeModel
from simcore.hardware import Dimension, Platform
from simcore.system.accounts import Work, book, count_work
from simcore.system.collective_time import CollectiveTime
from simcore.system.collective_timer import CollectiveTimer
from simcore.system.each_npu import check_nodes, execute_each
from simcore.system.engine_input import Ints
from simcore.system.executor import Execution, Executor, is_shared
from simcore.system.expand import expand
from simcore.system.lowering import Lowered, lower
from simcore.system.phases import runnable
from simcore.system.placement import Placement, place_group
from simcore.system.spec import System
from simcore.system.steady_state import MULTIPLES, find_steady_state
from simcore.workload import ParallelPlan, TrainingWorkload, build_graph, microbatches
from simcore.workload.graph import Axis, GroupLayout, TrainingGraph
from simcore.workload.schedules import SCHEDULES
from simcore.workload.steady import repeating_parts

_SHORT_RUNS = 2
"""How many short runs are tried before every micro-batch is executed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Iteration:
    """An executed iteration with everything its accounts are made of.

    Attributes:
        graph: What was executed, node by node.
        lowered: Its nodes with their times on this machine.
        execution: When they ran.
        repeated: How many further periods of the steady state the iteration has, which were not
            executed one by one.
        finish_ns: (S,) int64, end of each stage, further periods included.
        booked_ns: (S, C + 1) int64, time by category up to the iteration's end, likewise.
        work: Nodes and traffic of the whole iteration.
        notes: What the reader should know.
    """

    graph: TrainingGraph
    lowered: Lowered
    execution: Execution
    repeated: int
    finish_ns: Ints
    booked_ns: Ints
    work: Work
    notes: tuple[str, ...]


def place_groups(
    groups: Mapping[Axis, GroupLayout], dimensions: Sequence[Dimension]
) -> dict[Axis, Placement]:
    """Where the groups of each axis lie; those of one NPU, and between two stages, are left out.

    Raises:
        InfeasibleError: A group does not tile the dimensions.
    """
    sizes = tuple(dimension.npus for dimension in dimensions)
    return {
        axis: place_group(str(axis), group.stride, group.size, sizes)
        for axis, group in groups.items()
        if group.size > 1 and axis is not Axis.EMBEDDING
    }


class IterationRunner:
    """Executes iterations of one plan on one machine."""

    def __init__(self, platform: Platform, system: System, compute: ComputeModel) -> None:
        self._platform, self._system, self._compute = platform, system, compute
        self._memory_rate = platform.npu.memory_bandwidth_bytes_per_s
        self._timer = CollectiveTimer(platform.dimensions, system, self._memory_rate)

    def run(self, workload: TrainingWorkload, plan: ParallelPlan) -> Iteration:
        """One iteration; where the schedule reaches a steady state, only until it does.

        Raises:
            InfeasibleError: The plan does not fit the workload, or a parallel group does not tile
                the network's dimensions.
            SimulationError: The stages wait for each other for ever.
        """
        batches = microbatches(workload, plan)
        for fewer in short_runs(plan, batches):
            short = workload.model_copy(
                update={"global_batch": workload.global_batch // batches * fewer}
            )
            graph = build_graph(short, plan)
            iteration = self._prolonged(graph, batches - fewer)
            if iteration is not None:
                return iteration
        return self.run_graph(build_graph(workload, plan))

    def run_graph(self, graph: TrainingGraph) -> Iteration:
        """Every node of *graph*, one by one."""
        times = self._collective_times(graph)
        lowered, execution = self._execute(graph, times)
        work = count_work(graph, self._platform.dimensions, times)
        return Iteration(
            graph=graph,
            lowered=lowered,
            execution=execution,
            repeated=0,
            finish_ns=execution.finish_ns,
            booked_ns=execution.booked_ns,
            work=work,
            notes=self._notes(graph, work, execution.finish_ns),
        )

    def _prolonged(self, graph: TrainingGraph, further: int) -> Iteration | None:
        """*graph* with *further* micro-batches, if it reaches a steady state."""
        parts = repeating_parts(graph)
        times = self._collective_times(graph)
        if parts is None or self._each_by_itself(times):
            return None
        lowered, execution = self._execute(graph, times)
        steady = find_steady_state(lowered, execution, parts)
        if steady is None:
            return None
        repeated = further // (steady.schedule_periods * microbatches_per_period(graph.plan))
        in_period = book(lowered, execution, steady.begin_ns, steady.end_ns)
        dimensions = self._platform.dimensions
        finish_ns = execution.finish_ns + repeated * steady.period_ns
        work = count_work(graph, dimensions, times).plus(
            repeated, count_work(graph, dimensions, times, steady.parts)
        )
        return Iteration(
            graph=graph,
            lowered=lowered,
            execution=execution,
            repeated=repeated,
            finish_ns=finish_ns,
            booked_ns=execution.booked_ns + repeated * in_period,
            work=work,
            notes=self._notes(graph, work, finish_ns),
        )

    def _collective_times(self, graph: TrainingGraph) -> list[CollectiveTime | None]:
        placements = place_groups(graph.groups, self._platform.dimensions)
        return [
            None
            if is_shared(graph, c.axis)
            else self._timer.time(c.kind, placements[c.axis], c.size_bytes)
            for c in graph.collectives
        ]

    def _each_by_itself(self, times: Sequence[CollectiveTime | None]) -> bool:
        """Whether members of a collective end one by one, and each goes on at once."""
        one_by_one = any(time and time.held_ns for time in times)
        return self._system.phase_end == "each" and one_by_one

    def _execute(
        self, graph: TrainingGraph, times: Sequence[CollectiveTime | None]
    ) -> tuple[Lowered, Execution]:
        platform, system = self._platform, self._system
        operator_ns = operator_times_ns(graph, platform, self._compute)
        lowered = lower(graph, platform.dimensions, operator_ns, times)
        if self._each_by_itself(times):
            placements = place_groups(graph.groups, platform.dimensions)
            shared = [axis for axis in graph.groups if is_shared(graph, axis)]
            check_nodes(graph, lowered)
            inputs = expand(graph, platform, system, operator_ns, placements, shared)
            return lowered, execute_each(graph, lowered, inputs)
        executor = Executor(graph, platform.dimensions, system, self._memory_rate)
        return lowered, executor.execute(lowered)

    def _notes(self, graph: TrainingGraph, work: Work, finish_ns: Ints) -> tuple[str, ...]:
        notes = _stand_ins(graph, self._system, self._platform.dimensions)
        held = int(work.held_ns.max())
        if held and self._system.phase_end == "together":
            notes.append(
                "collectives held members until the last one was done with a phase (phase_end: "
                f"together); if every phase ended with its first member they would be "
                f"{held * 1e-9:.3g} s shorter, {held / int(finish_ns.max()):.1%} of the iteration"
            )
        return tuple(notes)


def short_runs(plan: ParallelPlan, batches: int) -> Iterator[int]:
    """Numbers of micro-batches, well below *batches*, with which a steady state may show."""
    period = SCHEDULES[plan.schedule]().period(plan.pp, plan.interleave)
    if period is None:
        return
    fewer = 2 * plan.pp + 4
    for _ in range(_SHORT_RUNS):
        fewer += (batches - fewer) % (lcm(*MULTIPLES) * period)
        if 4 * fewer > 3 * batches:
            return
        yield fewer
        fewer *= 4


def microbatches_per_period(plan: ParallelPlan) -> int:
    """Micro-batches in one period of the plan's schedule."""
    return SCHEDULES[plan.schedule]().period(plan.pp, plan.interleave) or 1


def operator_times_ns(
    graph: TrainingGraph, platform: Platform, compute: ComputeModel
) -> NDArray[np.int64]:
    """(O,) int64: how long one NPU works on each operator, kernel after kernel."""
    precision, npu = graph.workload.precision, platform.npu
    known: dict[object, int] = {}
    total = []
    for operator in graph.operators:
        time = 0
        for kernel in operator.kernels:
            shape = (kernel.kind, kernel.flop, kernel.bytes, kernel.m, kernel.n, kernel.k)
            if shape not in known:
                known[shape] = compute.kernel_time_ns(kernel, npu, precision)
            time += known[shape]
        total.append(time)
    return np.array(total, np.int64)


def _stand_ins(graph: TrainingGraph, system: System, dimensions: Sequence[Dimension]) -> list[str]:
    """Which algorithms stood in for chosen ones that cannot run."""
    placements = place_groups(graph.groups, dimensions)
    topologies = [dimension.topology for dimension in dimensions]
    notes = []
    for operation in graph.collectives:
        if is_shared(graph, operation.axis):
            continue
        extents = placements[operation.axis].extent
        names = system.algorithms(operation.kind, topologies)
        for dimension, (name, members) in enumerate(zip(names, extents, strict=True)):
            stand_in = runnable(name, operation.kind, members) if members > 1 else name
            if stand_in != name:
                notes.append(
                    f"{stand_in} stood in for {name} in {operation.kind.name.lower()} among "
                    f"{members} NPUs of dimension {dimension}"
                )
    return list(dict.fromkeys(notes))
