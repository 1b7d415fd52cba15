"""One iteration on one machine: its program, times of its nodes, an engine, accounts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from simcore.compute import ComputeModel
from simcore.engines.choose import (
    EVERY_NODE,
    EXACT_WHERE_LOOSE,
    IN_STEP_ERROR,
    NO_TIME,
    UNITS_UNLIKE,
    Choice,
    Engine,
    choose,
    followed,
    follows_all,
)
from simcore.engines.classes.by_classes import (
    run_by_classes,
    run_last_nodes,
    run_nodes,
    run_steady,
)
from simcore.engines.classes.on_links import run_on_links
from simcore.engines.classes.run import NodeTimes, Ran
from simcore.engines.each_npu import run_every_npu
from simcore.engines.events.input import Ints
from simcore.engines.machine_times import MachineTimes, Program, ProgramTimes
from simcore.engines.placed.on_machine import placed_on
from simcore.engines.stages.accounts import WorkTotals, count_work
from simcore.engines.stages.by_stages import run_by_stages
from simcore.engines.stages.counts import NodeCounts, counts_of_graph
from simcore.engines.stages.plan_code import PlanCode, plan_code
from simcore.engines.stages.times import operator_times_ns
from simcore.engines.stages.transfers import moved_bytes
from simcore.errors import SimulationError
from simcore.machine import Platform
from simcore.machine.system import System
from simcore.memo import Memo
from simcore.network import DEFAULT_BACKEND, NetworkDimension
from simcore.network.settings import NetworkSettings
from simcore.placement.choice import PlacementChoice
from simcore.workload import ParallelPlan, Workload
from simcore.workload.graph import TrainingGraph


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
        choice: What engine carried it out, and why.
        notes: What the reader should know.
        situations: How many situations of a stage's NPU were worked out node by node, all others
            being equal to one of them; 0: they were not told apart.
        repeated: How many further periods of the steady state the iteration has than were run.
        nodes: When each node ran, where every node was executed one by one.
        traffic: What the network tells beside times, by name.
        moved_bytes: By port of a tier of memory, such as ``host_load``, what one NPU moves through
            it, of the stage that moves most.
    """

    categories: tuple[str, ...]
    finish_ns: Ints
    booked_ns: Ints
    work: WorkTotals
    events: int
    simulated_npus: int
    choice: Choice
    notes: tuple[str, ...]
    held_ns: int = 0
    situations: int = 0
    repeated: int = 0
    nodes: NodeTimes | None = None
    traffic: Mapping[str, float] = field(default_factory=dict)
    moved_bytes: Mapping[str, int] = field(default_factory=dict)

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
        memo: What is known from other runs.
        backend: Network backend.
        network: Settings of networks of packets and of flits.
    """

    def __init__(
        self,
        platform: Platform,
        system: System,
        compute: ComputeModel,
        memo: Memo | None = None,
        backend: str = DEFAULT_BACKEND,
        network: NetworkSettings | None = None,
    ) -> None:
        self._memo = memo or Memo()
        self._of_machine: tuple[str, ...] = ()
        self._machine = MachineTimes(platform, system, compute, backend, self._memo, network)

    def telling(self, notes: tuple[str, ...]) -> Self:
        """This runner, whose results tell *notes* on its machine."""
        self._of_machine += notes
        return self

    def place(self, choice: PlacementChoice, workload: Workload, plan: ParallelPlan) -> Self:
        """This runner, whose ranks are placed by the traffic of *workload* under *plan*.

        Raises:
            ConfigError: They cannot be placed.
            InfeasibleError: The plan does not fit the workload or the machine.
        """
        machine = self._machine
        if not choice.moves:
            return self
        if not machine.messages_meet:
            self._of_machine += (
                f"placement {choice.rule} is left out: with {machine.backend} messages do not meet "
                "on links, so ranks are where their numbers say",
            )
            return self
        system = machine.platform, machine.system
        placed = placed_on(choice, workload, plan, *system, self._memo)
        self._machine = machine.placed(placed.where)
        self._of_machine += (placed.told(),)
        return self

    def among(self, where: Ints, around: tuple[NetworkDimension, ...]) -> Self:
        """This runner, whose ranks are on NPUs *where* of a machine with dimensions *around*."""
        self._machine = self._machine.among(where, around)
        return self

    def run(self, workload: Workload, plan: ParallelPlan) -> Iteration:
        """One iteration, by the engine that ``choose`` names.

        Raises:
            InfeasibleError: The plan does not fit the workload, a parallel group does not tile
                the network's dimensions, or times or sizes are beyond what is counted.
            SimulationError: The stages wait for each other for ever.
        """
        known, times = self._timed(workload, plan)
        choice = choose(times, self._machine)
        ran = None if choice.engine is Engine.EVENTS else self._of_few(known, times, choice)
        if ran is None:
            if choice.engine is Engine.LINKS:
                choice = followed(times, self._machine)
            elif choice.engine is not Engine.EVENTS:
                choice = UNITS_UNLIKE if known.code(known.runs[0]) is None else NO_TIME
            return self.run_graph(known.graph(known.batches), choice)
        return self._iteration(known.program, known.counts, times, choice, ran)

    def in_step_ns(self, workload: Workload, plan: ParallelPlan) -> int | None:
        """Time in ns of one iteration with one NPU for those of a stage that stay in step.

        Returns:
            None where they need not, so that all have to be followed.

        Raises:
            InfeasibleError: As ``run``.
            SimulationError: As ``run``.
        """
        known, times = self._timed(workload, plan)
        if times.taking is not None and times.loose != "":
            return None
        choice = choose(times, self._machine)
        if choice.engine not in (Engine.STAGES, Engine.LINKS, Engine.NODES):
            return None
        ran = self._of_few(known, times, choice)
        return None if ran is None else int(ran.finish_ns.max())

    def _timed(self, workload: Workload, plan: ParallelPlan) -> tuple[PlanCode, ProgramTimes]:
        machine, known = self._machine, plan_code(workload, plan, self._memo)
        operator_ns = known.operator_ns(machine.platform.npu, machine.compute)
        return known, machine.of(known.program, known.counts, operator_ns)

    def _of_few(self, known: PlanCode, times: ProgramTimes, choice: Choice) -> Ran | None:
        """Run of NPUs that stand for others; None: these ones cannot."""
        machine = self._machine
        match choice.engine:
            case Engine.LINKS:
                machine.check_followed(known.program, known.counts, times.operator_ns)
                return run_steady(
                    known, lambda graph, repeats: run_on_links(graph, times, machine, repeats)
                )
            case Engine.CLASSES | Engine.NODES:
                return run_by_classes(known, times, machine)
            case _:
                return run_by_stages(known, times, machine)

    def run_graph(self, graph: TrainingGraph, choice: Choice | None = None) -> Iteration:
        """Every node of *graph*, one by one; *choice* says why.

        Raises:
            InfeasibleError: Times or sizes are beyond what is counted.
            SimulationError: The stages wait for each other for ever.
        """
        machine, counts, precision = self._machine, counts_of_graph(graph), graph.workload.precision
        npu, compute = machine.platform.npu, machine.compute
        operator_ns = operator_times_ns(graph.operators, npu, precision, compute)
        times = machine.of(graph, counts, operator_ns)
        choice = choice or choose(times, machine)
        if machine.messages_meet and choice.engine in EXACT_WHERE_LOOSE:
            machine.check_followed(graph, counts, operator_ns)
        if choice.engine is Engine.LINKS:
            followed_by_stages = run_on_links(graph, times, machine)
            if followed_by_stages is not None:
                ran = Ran.of_nodes(graph, *followed_by_stages)
                return self._iteration(graph, counts, times, choice, ran)
            choice = followed(times, machine)
        if choice.engine is Engine.EVENTS:
            ran = run_every_npu(graph, times, machine)
        elif choice.engine is Engine.CLASSES:
            ran = Ran.of_nodes(graph, *run_last_nodes(graph, times, machine))
        else:
            choice = EVERY_NODE if choice.engine is Engine.STAGES else choice
            ran = Ran.of_nodes(graph, *run_nodes(graph, times, machine))
        return self._iteration(graph, counts, times, choice, ran)

    def _iteration(
        self, program: Program, counts: NodeCounts, times: ProgramTimes, choice: Choice, ran: Ran
    ) -> Iteration:
        dimensions = self._machine.platform.dimensions
        work = count_work(counts, dimensions, times.collectives, times.messages)
        held_ns = 0 if self._goes_on_at_once(times, choice) else work.held_ns
        return Iteration(
            categories=ran.categories,
            finish_ns=ran.finish_ns,
            booked_ns=ran.booked_ns,
            work=work,
            events=ran.events,
            simulated_npus=ran.npus,
            choice=choice,
            notes=self._notes(program, times, work, int(ran.finish_ns.max()), choice)
            + ran.account.notes,
            held_ns=held_ns,
            situations=ran.situations,
            repeated=ran.repeated,
            nodes=ran.nodes,
            traffic=ran.account.figures,
            moved_bytes=moved_bytes(program.transfers, counts.transfers),
        )

    def _goes_on_at_once(self, times: ProgramTimes, choice: Choice) -> bool:
        """True if each member of a collective goes on when it has ended itself."""
        if times.loose is not None:
            return choice.engine in EXACT_WHERE_LOOSE
        machine = self._machine
        return machine.system.phase_end == "each" or bool(follows_all(times, machine))

    def _notes(
        self,
        program: Program,
        times: ProgramTimes,
        work: WorkTotals,
        finish_ns: int,
        choice: Choice,
    ) -> tuple[str, ...]:
        machine, held_ns = self._machine, work.held_ns
        notes = machine.stand_ins(program, times)
        notes += machine.schedules(program, times)
        notes += self._of_machine
        if times.loose is not None:
            if choice.engine not in EXACT_WHERE_LOOSE and times.loose:
                notes.append(
                    "NPUs of a stage are taken to stay in step (phase_end: together), though "
                    f"{times.loose}: {IN_STEP_ERROR}"
                )
                if held_ns:
                    notes.append(held_note(held_ns, finish_ns))
            return tuple(notes)
        who = follows_all(times, machine)
        if held_ns and machine.system.phase_end == "together":
            notes.append(
                f"{who} follows every NPU: phase_end: together is not in force"
                if who
                else held_note(held_ns, finish_ns)
            )
        return tuple(notes)


def held_note(held_ns: int, finish_ns: int) -> str:
    """Note on members of collectives that waited so long for others, in so long an iteration."""
    return (
        "collectives held members until the last one was done with a phase "
        "(phase_end: together); if every phase ended with its first member they would be "
        f"{held_ns * 1e-9:.3g} s shorter, {held_ns / finish_ns:.1%} of the iteration"
    )
