"""Node by node: one NPU per stage, or of each class of alike ones where NPUs fall out of step."""

from collections import deque
from collections.abc import Callable
from functools import partial

from simcore.engines.classes.period import Repeats
from simcore.engines.classes.places import AlikePlaces
from simcore.engines.classes.run import EndsOfCollectives, Execution, Executor, Ran
from simcore.engines.classes.tables import ClassTables
from simcore.engines.machine_times import MachineTimes, ProgramTimes
from simcore.engines.stages.code import PipelineCode
from simcore.engines.stages.lowering import Lowered, lower, with_losses
from simcore.engines.stages.plan_code import PlanCode
from simcore.workload.graph import TrainingGraph


def run_by_classes(known: PlanCode, times: ProgramTimes, machine: MachineTimes) -> Ran:
    """Run as many micro-batches as show a steady state of all classes, and repeat it."""
    found = run_steady(known, partial(_run, times, machine))
    assert found is not None
    return found


def _run(
    times: ProgramTimes, machine: MachineTimes, graph: TrainingGraph, repeats: Repeats | None
) -> tuple[Lowered, Execution]:
    in_step = not (machine.system.phase_end == "each" and times.ends_differ)
    lowered = _lowered(graph, times, machine)
    one = _executor(graph, lowered, times, machine, in_step=in_step)
    return lowered, one.run(machine.system.profile, repeats)


def run_steady(
    known: PlanCode,
    run: Callable[[TrainingGraph, Repeats | None], tuple[Lowered, Execution] | None],
) -> Ran | None:
    """Run as many micro-batches as show a steady state, and repeat it.

    Args:
        known: The iteration.
        run: Runs a graph whose program repeats itself as told; None: it cannot.

    Returns:
        None where the graph cannot be run.
    """
    runs, tried = deque(known.short_runs), set[int]()
    while True:
        batches = runs.popleft()
        code = known.code(batches)
        if batches in tried or (code is None and batches < known.batches):
            continue
        tried.add(batches)
        found = run(known.graph(batches), _repeats(known, batches, code))
        if found is None:
            return None
        lowered, ran = found
        if batches == known.batches:
            added, finish_ns, booked_ns = 0, ran.finish_ns, ran.booked_ns
            break
        if ran.period is None or code is None:
            continue
        step = ran.period.periods * code.period_batches
        added, rest = divmod(known.batches - batches, step)
        if rest == 0:
            finish_ns = ran.finish_ns + added * ran.period.ns
            booked_ns = ran.booked_ns + added * ran.period.booked_ns
            break
        # so that whole steady states are left: the shortest that may show it, or one that does
        least = batches - ran.period.spare * code.period_batches
        runs.extendleft([batches + rest, least + (known.batches - least) % step])
    return Ran(
        categories=lowered.categories,
        finish_ns=finish_ns,
        booked_ns=booked_ns,
        events=ran.events,
        npus=ran.npus,
        repeated=added,
    )


def _repeats(known: PlanCode, batches: int, code: PipelineCode | None) -> Repeats | None:
    """Repetitions of a program of *batches* micro-batches; None: those are all, or none repeats."""
    if code is None or code.period == 0 or batches == known.batches:
        return None
    left = (known.batches - batches) // code.period_batches
    return Repeats(between=code.repeats, units=code.period, left=left)


def run_nodes(
    graph: TrainingGraph, times: ProgramTimes, machine: MachineTimes
) -> tuple[Lowered, Execution]:
    """Run every node of *graph*, whose NPUs stay in step.

    Raises:
        SimulationError: The stages wait for each other for ever.
    """
    lowered = _lowered(graph, times, machine)
    run = _executor(graph, lowered, times, machine, in_step=True).run(machine.system.profile)
    return lowered, run


def run_last_nodes(
    graph: TrainingGraph, times: ProgramTimes, machine: MachineTimes
) -> tuple[Lowered, Execution]:
    """Run every node of *graph*; of each stage the NPU that ends last is told.

    Which one that is shows at the end, so that it may run twice.

    Raises:
        InfeasibleError: NPUs that fall out of step wait for each other for ever.
        SimulationError: They are too many, or the stages wait for each other for ever.
    """
    lowered, first = _run(times, machine, graph, None)
    assert first.last is not None
    if not first.last.any():
        return lowered, first
    lowered = _lowered(graph, times, machine)
    one = _executor(graph, lowered, times, machine, in_step=False)
    return lowered, one.run(machine.system.profile, told=first.last)


def _lowered(graph: TrainingGraph, times: ProgramTimes, machine: MachineTimes) -> Lowered:
    lowered = lower(
        graph,
        machine.moving.moving.dimensions,
        times.operator_ns,
        times.collectives,
        times.transfer_ns,
        None if times.loose is None else times.messages,
    )
    return with_losses(lowered, graph, times.taking)


def _executor(
    graph: TrainingGraph,
    lowered: Lowered,
    times: ProgramTimes,
    machine: MachineTimes,
    *,
    in_step: bool,
) -> Executor:
    placements, collectives = times.placements, times.collectives
    uneven = {} if in_step else machine.uneven(graph.collectives, times)
    return Executor(
        graph,
        lowered,
        ClassTables(
            graph, lowered, collectives, placements, machine.system.chunks, in_step=in_step
        ),
        AlikePlaces(graph.plan, machine.platform.dimensions, placements, uneven),
        EndsOfCollectives(
            within=machine.member_ends, between=machine.shared_ends(graph), placements=placements
        ),
    )
