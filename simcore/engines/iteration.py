"""One training iteration on one machine: programs, times of their nodes, execution, accounts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simcore.compute import ComputeModel
from simcore.engines.classes.period import Repeats
from simcore.engines.classes.places import AlikePlaces
from simcore.engines.classes.run import EndsOfCollectives, Execution, Executor
from simcore.engines.classes.tables import ClassTables
from simcore.engines.collectives.alike import unlike_groups
from simcore.engines.collectives.cache import CollectiveCache
from simcore.engines.collectives.ends import MemberEnds
from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.time import CollectiveTime
from simcore.engines.collectives.timer import CollectiveTimer
from simcore.engines.each_npu import check_nodes, execute_each
from simcore.engines.events.input import Ints
from simcore.engines.expand import expand
from simcore.engines.stages.accounts import Work, count_work
from simcore.engines.stages.code import PipelineCode
from simcore.engines.stages.counts import NodeCounts, counts_of_graph
from simcore.engines.stages.lowering import Lowered, lower
from simcore.engines.stages.plan_code import PlanCache, PlanCode
from simcore.engines.stages.run import PipelineRun, Times, run_pipeline
from simcore.engines.stages.shared_ends import SharedEnds
from simcore.engines.stages.stage_axes import is_shared
from simcore.engines.stages.time_limit import TimeLimit
from simcore.engines.stages.times import (
    MessageTimes,
    collective_times,
    operator_times_ns,
    place_groups,
)
from simcore.errors import SimulationError
from simcore.machine import Platform
from simcore.machine.system import System
from simcore.network import BACKENDS, DEFAULT_BACKEND
from simcore.workload import ParallelPlan, Workload, build_graph
from simcore.workload.graph import Axis, TrainingGraph
from simcore.workload.program.write import TrainingProgram

_Program = TrainingProgram | TrainingGraph


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeTimes:
    """An iteration node by node.

    Attributes:
        graph: What was executed.
        lowered: Its nodes with their times on this machine.
        execution: When they ran.
    """

    graph: TrainingGraph
    lowered: Lowered
    execution: Execution


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Iteration:
    """An executed iteration: S stages, C categories.

    Attributes:
        categories: What time is booked under: phases of compute, axes of communication.
        finish_ns: (S,) int64, end of each stage.
        booked_ns: (S, C + 1) int64, time by category up to the iteration's end; idle time is last.
        work: Nodes and traffic.
        events: Nodes that have ended, or where every NPU was followed, events of all.
        simulated_npus: NPUs that stood for all others.
        held_ns: By how much the iteration would be shorter if every phase of a collective ended
            with its first member; 0: no member was held, the time is exact.
        notes: What the reader should know.
        situations: How many situations of a stage's NPU were worked out node by node, all others
            being equal to one of them; 0: they were not told apart.
        repeated: How many further periods of the steady state the iteration has than were run.
        nodes: When each node ran, where every node was executed one by one.
    """

    categories: tuple[str, ...]
    finish_ns: Ints
    booked_ns: Ints
    work: Work
    events: int
    simulated_npus: int
    notes: tuple[str, ...]
    held_ns: int = 0
    situations: int = 0
    repeated: int = 0
    nodes: NodeTimes | None = None

    def __post_init__(self) -> None:
        least = np.minimum.reduce
        if least(self.finish_ns) < 0 or least(self.booked_ns, axis=None) < 0:
            raise SimulationError(
                "the iteration ended before it began, which is a fault of the simulator: "
                "please report the run file"
            )


class IterationRunner:
    """Executes iterations on one machine.

    Args:
        platform: The machine.
        system: Its collectives.
        compute: Gives the times of kernels.
        plans: What is known about workloads and plans from other machines.
        collectives: What is known about collectives.
        backend: Network backend.
    """

    def __init__(
        self,
        platform: Platform,
        system: System,
        compute: ComputeModel,
        plans: PlanCache | None = None,
        collectives: CollectiveCache | None = None,
        backend: str = DEFAULT_BACKEND,
    ) -> None:
        self._platform, self._system, self._compute = platform, system, compute
        self._plans, self._backend = plans or PlanCache(), backend
        self._memory_rate = platform.npu.memory_bandwidth_bytes_per_s
        self._collectives = collectives or CollectiveCache()
        self._timer = CollectiveTimer(
            platform.dimensions, system, self._memory_rate, self._collectives
        )
        self._limit = TimeLimit(
            platform=platform, system=system, compute=compute, messages_meet=self._messages_meet
        )
        self._member_ends = MemberEnds(platform, system)
        self._placed: tuple[_Program, dict[Axis, Placement]] | None = None

    def run(self, workload: Workload, plan: ParallelPlan) -> Iteration:
        """One iteration, each situation of a stage worked out once where NPUs stay in step.

        Raises:
            InfeasibleError: The plan does not fit the workload, a parallel group does not tile
                the network's dimensions, or times or sizes are beyond what is counted.
            SimulationError: The stages wait for each other for ever.
        """
        if self._messages_meet:
            return self.run_graph(build_graph(workload, plan))
        known = self._plans.code(workload, plan)
        if self._unlike_groups(known.program):
            return self.run_graph(build_graph(workload, plan))
        operator_ns = known.operator_ns(self._platform.npu, self._compute)
        self._limit.check(known.program, known.counts, operator_ns)
        times = self._collective_times(known.program)
        messages = self._messages(known.program, known.counts)
        if self._one_by_one(times):
            return self._by_classes(known, times, messages)
        for batches in known.runs:
            code = known.code(batches)
            ran = self._run(known, code, times, messages) if code else None
            if code is None or ran is None:
                break
            if ran.periods == 0 and batches < known.batches:
                continue
            if not ran.finished:
                ran = self._plainly(known, batches, ran, times)
            repeated = (known.batches - batches) // max(ran.periods * code.period_batches, 1)
            return self._iteration(known, code, ran, repeated, times, messages)
        return self.run_graph(build_graph(workload, plan))

    def _by_classes(
        self,
        known: PlanCode,
        times: Sequence[CollectiveTime | None],
        messages: MessageTimes,
    ) -> Iteration:
        """One iteration whose NPUs fall out of step, each class of alike ones followed."""
        for batches in known.runs:
            code = known.code(batches)
            if code is None and batches < known.batches:
                continue
            graph = known.graph(batches)
            operators = known.operator_ns(self._platform.npu, self._compute)
            lowered = lower(graph, self._platform.dimensions, operators, times)
            short = code is not None and code.period > 0 and batches < known.batches
            repeats = Repeats(between=code.repeats, units=code.period) if code and short else None
            ran = self._executor(graph, lowered, times).run(self._system.profile, repeats)
            if ran.period is not None or batches == known.batches:
                break
        work = count_work(known.counts, self._platform.dimensions, times, messages)
        finish_ns, booked_ns, added = ran.finish_ns, ran.booked_ns, 0
        if ran.period is not None and code is not None:
            added = (known.batches - batches) // (ran.period.periods * code.period_batches)
            finish_ns = finish_ns + added * ran.period.ns
            booked_ns = booked_ns + added * ran.period.booked_ns
        return Iteration(
            categories=lowered.categories,
            finish_ns=finish_ns,
            booked_ns=booked_ns,
            work=work,
            events=ran.events,
            simulated_npus=ran.npus,
            notes=self._notes(known.program, work, finish_ns),
            repeated=added,
        )

    def _executor(
        self,
        graph: TrainingGraph,
        lowered: Lowered,
        times: Sequence[CollectiveTime | None],
    ) -> Executor:
        """Executes *graph* node by node, one NPU for each class of alike ones."""
        placements, dimensions = self._placements(graph), self._platform.dimensions
        in_step = not self._one_by_one(times)
        uneven: dict[Axis, set[int]] = {}
        for operation, time in zip(graph.collectives, times, strict=True):
            if time is not None and not in_step:
                held, place = time.held_ns > 0, placements[operation.axis]
                found = self._timer.uneven(operation.kind, place, held=held)
                uneven.setdefault(operation.axis, set()).update(found)
        return Executor(
            graph,
            lowered,
            ClassTables(graph, lowered, times, placements, self._system.chunks, in_step=in_step),
            AlikePlaces(graph.plan, dimensions, placements, uneven),
            EndsOfCollectives(
                within=self._member_ends, between=self._shared_ends(graph), placements=placements
            ),
        )

    def run_graph(self, graph: TrainingGraph) -> Iteration:
        """Every node of *graph*, one by one.

        Raises:
            InfeasibleError: Times or sizes are beyond what is counted.
            SimulationError: The stages wait for each other for ever.
        """
        counts = counts_of_graph(graph)
        self._limit.check(graph, counts, self._operator_ns(graph))
        times = self._collective_times(graph)
        lowered, execution = self._execute(graph, times)
        messages = self._messages(graph, counts)
        work = count_work(counts, self._platform.dimensions, times, messages)
        return Iteration(
            categories=lowered.categories,
            finish_ns=execution.finish_ns,
            booked_ns=execution.booked_ns,
            work=work,
            events=execution.events,
            simulated_npus=execution.npus,
            notes=self._notes(graph, work, execution.finish_ns),
            held_ns=self._held_ns(graph, work),
            nodes=NodeTimes(graph=graph, lowered=lowered, execution=execution),
        )

    def _run(
        self,
        known: PlanCode,
        code: PipelineCode,
        times: Sequence[CollectiveTime | None],
        messages: MessageTimes,
    ) -> PipelineRun | None:
        operators = known.operator_ns(self._platform.npu, self._compute)
        durations = [time.duration_ns if time else 0 for time in times]
        leads = [time.last_step_ns if time else 0 for time in times]
        table = Times(
            item_ns=np.concatenate([operators, np.array([*durations, 0], np.int64)]),
            lead_ns=np.concatenate([np.full(operators.size, -1), np.array([*leads, -1], np.int64)]),
            next_ns=messages.time_ns[0],
            previous_ns=messages.time_ns[1],
        )
        ends = self._shared_ends(known.program)
        return run_pipeline(code, table, self._system.profile, ends, self._plans.workspace)

    def _plainly(
        self,
        known: PlanCode,
        batches: int,
        ran: PipelineRun,
        times: Sequence[CollectiveTime | None],
    ) -> PipelineRun:
        """A run that came to no end, to its end, node by node."""
        _, execution = self._execute(known.graph(batches), times)
        return replace(
            ran, finished=True, finish_ns=execution.finish_ns, booked_ns=execution.booked_ns,
            situations=0,
        )  # fmt: skip

    def _iteration(
        self,
        known: PlanCode,
        code: PipelineCode,
        ran: PipelineRun,
        repeated: int,
        times: Sequence[CollectiveTime | None],
        messages: MessageTimes,
    ) -> Iteration:
        """What *ran*, with its steady state *repeated*."""
        finish_ns = ran.finish_ns + repeated * ran.period_ns
        work = count_work(known.counts, self._platform.dimensions, times, messages)
        return Iteration(
            categories=code.categories,
            finish_ns=finish_ns,
            booked_ns=ran.booked_ns + repeated * ran.period_booked_ns,
            work=work,
            events=work.nodes,
            simulated_npus=known.program.plan.pp,
            notes=self._notes(known.program, work, finish_ns),
            held_ns=self._held_ns(known.program, work),
            situations=ran.situations,
            repeated=repeated,
        )

    def _collective_times(self, program: _Program) -> list[CollectiveTime | None]:
        return collective_times(
            program.collectives, program.plan, self._placements(program), self._timer
        )

    def _placements(self, program: _Program) -> dict[Axis, Placement]:
        if self._placed is None or self._placed[0] is not program:
            known = self._collectives.placements
            found = place_groups(program.groups, self._platform.dimensions, known)
            self._placed = program, found
        return self._placed[1]

    def _messages(self, program: _Program, counts: NodeCounts) -> MessageTimes:
        return MessageTimes.of(program.plan, self._platform.dimensions, counts.message_bytes)

    @property
    def _messages_meet(self) -> bool:
        return BACKENDS[self._backend].messages_meet

    def _one_by_one(self, times: Sequence[CollectiveTime | None]) -> bool:
        """Whether members of a collective end one by one, and each goes on at once."""
        return self._system.phase_end == "each" and any(time and time.held_ns for time in times)

    def _unlike_groups(self, program: _Program) -> str:
        return unlike_groups(self._platform.dimensions, self._placements(program).values())

    def _follows_all(self, program: _Program) -> str:
        """Backend or topology that makes NPUs of a stage differ, so that none stands for all."""
        return self._backend if self._messages_meet else self._unlike_groups(program)

    def _execute(
        self, graph: TrainingGraph, times: Sequence[CollectiveTime | None]
    ) -> tuple[Lowered, Execution]:
        platform, system = self._platform, self._system
        operator_ns = self._operator_ns(graph)
        lowered = lower(graph, platform.dimensions, operator_ns, times)
        if self._one_by_one(times) or self._follows_all(graph):
            placements = self._placements(graph)
            shared = [axis for axis in graph.groups if is_shared(graph.plan, axis)]
            check_nodes(graph, lowered, self._backend, self._unlike_groups(graph))
            inputs = expand(graph, platform, system, operator_ns, placements, shared)
            return lowered, execute_each(graph, lowered, replace(inputs, backend=self._backend))
        return lowered, self._executor(graph, lowered, times).run(system.profile)

    def _operator_ns(self, graph: TrainingGraph) -> Ints:
        precision = graph.workload.precision
        return operator_times_ns(graph.operators, self._platform.npu, precision, self._compute)

    def _shared_ends(self, program: _Program) -> SharedEnds:
        return SharedEnds(
            self._platform,
            self._system,
            program.collectives,
            program.plan.stage_stride,
            self._collectives,
        )

    def _notes(self, program: _Program, work: Work, finish_ns: Ints) -> tuple[str, ...]:
        notes = self._stand_ins(program)
        held, who = self._held_ns(program, work), self._follows_all(program)
        if who and work.held_ns and self._system.phase_end == "together":
            notes.append(f"{who} follows every NPU: phase_end: together is not in force")
        elif held:
            notes.append(
                "collectives held members until the last one was done with a phase (phase_end: "
                f"together); if every phase ended with its first member they would be "
                f"{held * 1e-9:.3g} s shorter, {held / int(finish_ns.max()):.1%} of the iteration"
            )
        return tuple(notes)

    def _held_ns(self, program: _Program, work: Work) -> int:
        """How long members of collectives were held at most, where ``together`` is in force."""
        in_force = self._system.phase_end == "together" and not self._follows_all(program)
        return work.held_ns if in_force else 0

    def _stand_ins(self, program: _Program) -> list[str]:
        """Which algorithms stood in for chosen ones that cannot run."""
        placements = self._placements(program)
        all_used = [(op.kind, op.axis) for op in program.collectives if op.axis in placements]
        found = [
            self._timer.stand_ins(kind, placements[axis])
            for kind, axis in dict.fromkeys(all_used)
            if not is_shared(program.plan, axis)
        ]
        return list(dict.fromkeys([note for notes in found for note in notes]))
