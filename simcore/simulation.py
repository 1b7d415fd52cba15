"""simulate(): one training iteration of one design. The only entry to the simulator."""

from simcore.compute import COMPUTE_MODELS
from simcore.config import Run
from simcore.errors import ConfigError, InfeasibleError
from simcore.hardware import Platform
from simcore.memory import Footprint, footprint
from simcore.network import BACKENDS
from simcore.result import IterationResult, StageTimes
from simcore.system.iteration import Iteration, IterationRunner, place_groups
from simcore.system.range import check_range
from simcore.system.spec import System
from simcore.units import format_quantity
from simcore.workload import (
    ParallelPlan,
    TrainingWorkload,
    build_graph,
    check_plan,
    total_model_flop,
)
from simcore.workload.build import group_layouts
from simcore.workload.graph import Phase

_NS = 1e-9
FOLDED_BACKEND = "congestion_unaware"


def simulate(
    workload: TrainingWorkload,
    platform: Platform,
    plan: ParallelPlan,
    backend: str = FOLDED_BACKEND,
    *,
    system: System | None = None,
    compute: str = "roofline",
) -> IterationResult:
    """Simulate one training iteration.

    Args:
        workload: Model and batch.
        platform: The machine.
        plan: How the work is spread over it.
        backend: Network backend by name.
        system: Chunking, scheduling and algorithms of the collectives.
        compute: Compute model by name.

    Raises:
        ConfigError: An input breaks a rule.
        InfeasibleError: The plan does not fit the workload or the machine. A design that needs
            more memory than there is can still be simulated; see ``check_memory``.
    """
    run = Run(
        workload=workload,
        platform=platform,
        plan=plan,
        backend=backend,
        system=system or System(),
        compute=compute,
    )
    return simulate_run(run)


def simulate_run(run: Run) -> IterationResult:
    """Simulate what a run file describes; see ``simulate``."""
    return run_with_iteration(run)[0]


def run_with_iteration(run: Run, *, every_node: bool = False) -> tuple[IterationResult, Iteration]:
    """The result, and the executed iteration behind it.

    Args:
        run: What to simulate.
        every_node: Execute each node, also where the schedule's steady state tells the rest.
    """
    check_run(run, memory=False)
    compute = COMPUTE_MODELS[run.compute]()
    runner = IterationRunner(run.platform, run.system, compute)
    if every_node:
        iteration = runner.run_graph(build_graph(run.workload, run.plan))
    else:
        iteration = runner.run(run.workload, run.plan)
    return _result(run, iteration), iteration


def check_structure(workload: TrainingWorkload, platform: Platform, plan: ParallelPlan) -> None:
    """Check that the plan divides the workload and that its groups lie on the machine.

    Raises:
        InfeasibleError: The first rule that is broken, with its name.
    """
    check_plan(workload, plan, platform.npus)
    place_groups(group_layouts(workload, plan), platform.dimensions)


def check_memory(workload: TrainingWorkload, platform: Platform, plan: ParallelPlan) -> Footprint:
    """The footprint, once it is known to fit.

    Raises:
        InfeasibleError: It does not; names the largest component.
    """
    needed = footprint(workload, plan)
    capacity = platform.npu.memory_bytes
    if needed.total_bytes > capacity:
        name, size = max(needed.components().items(), key=lambda part: part[1])
        reason = (
            f"{format_quantity(needed.total_bytes, 'B')} needed, "
            f"{format_quantity(capacity, 'B')} there; the largest part is {name} with "
            f"{format_quantity(size, 'B')}"
        )
        raise InfeasibleError("fits_in_memory", reason)
    return needed


def check_run(run: Run, *, memory: bool = True) -> None:
    """Check structure and memory of *run* before any simulation.

    Raises:
        ConfigError: The collectives' vectors do not fit the dimensions, or an unknown name.
        InfeasibleError: The first rule that is broken, with its name.
    """
    _check_backend(run.backend)
    if run.compute not in COMPUTE_MODELS:
        raise COMPUTE_MODELS.unknown(run.compute, at="compute")
    check_structure(run.workload, run.platform, run.plan)
    check_range(run.workload, run.platform, run.plan, run.system)
    if memory:
        check_memory(run.workload, run.platform, run.plan)


def _check_backend(backend: str) -> None:
    if backend not in BACKENDS:
        raise BACKENDS.unknown(backend, at="backend")
    if backend != FOLDED_BACKEND:
        rule = f"generated workloads run on {FOLDED_BACKEND}; traces run on every backend"
        raise ConfigError("backend", rule, got=backend)


def _result(run: Run, iteration: Iteration) -> IterationResult:
    platform, work = run.platform, iteration.work
    time_s = int(iteration.finish_ns.max()) * _NS
    budget = time_s * platform.npus * platform.npu.peak(run.workload.precision)
    rates = [dimension.bandwidth_bytes_per_s for dimension in platform.dimensions]
    sent = tuple(work.sent_bytes.tolist())
    return IterationResult(
        iteration_time_s=time_s,
        stages=tuple(_stage_times(iteration, stage) for stage in range(run.plan.pp)),
        footprint=footprint(run.workload, run.plan),
        memory_bytes=platform.npu.memory_bytes,
        mfu=total_model_flop(run.workload) / budget,
        hfu=work.matrix_flop * run.plan.npus_per_stage / budget,
        dimension_utilization=tuple(
            size / (rate * time_s) for size, rate in zip(sent, rates, strict=True)
        ),
        sent_bytes=sent,
        tokens=run.workload.tokens,
        npus=platform.npus,
        simulated_npus=run.plan.pp,
        nodes=work.nodes,
        events=iteration.execution.events,
        backend=run.backend,
        notes=iteration.notes,
    )


def _stage_times(iteration: Iteration, stage: int) -> StageTimes:
    booked = (iteration.booked_ns[stage] * _NS).tolist()
    phases = {str(phase) for phase in Phase}
    named = dict(zip(iteration.lowered.categories, booked, strict=False))
    return StageTimes(
        compute_s={name: time for name, time in named.items() if name in phases},
        exposed_communication_s={name: t for name, t in named.items() if name not in phases},
        bubble_s=booked[-1],
        finish_s=int(iteration.finish_ns[stage]) * _NS,
    )
