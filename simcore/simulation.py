"""simulate(): one training iteration of one design. The only entry to the simulator."""

from simcore.compute import COMPUTE_MODELS
from simcore.config import Run
from simcore.errors import ConfigError, InfeasibleError
from simcore.hardware import Platform
from simcore.memory import Footprint, footprint
from simcore.network import BACKENDS
from simcore.result import IterationResult, StageTimes
from simcore.system.iteration import Iteration, place_groups, run_iteration
from simcore.system.spec import System
from simcore.units import format_quantity
from simcore.workload import (
    ParallelPlan,
    TrainingWorkload,
    build_graph,
    check_plan,
    total_flop,
    total_model_flop,
)
from simcore.workload.build import group_layouts
from simcore.workload.graph import Phase

_NS = 1e-9
FOLDED_BACKEND = "congestion_unaware"
MATRIX_KERNELS = ("gemm", "attention")


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


def run_with_iteration(run: Run) -> tuple[IterationResult, Iteration]:
    """The result, and the executed iteration with every node's times behind it."""
    check_run(run, memory=False)
    graph = build_graph(run.workload, run.plan)
    compute = COMPUTE_MODELS[run.compute]()
    iteration = run_iteration(graph, run.platform, run.system, compute)
    needed = footprint(run.workload, run.plan)
    return _result(iteration, run.platform, needed, run.backend), iteration


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
    if memory:
        check_memory(run.workload, run.platform, run.plan)


def _check_backend(backend: str) -> None:
    if backend not in BACKENDS:
        raise BACKENDS.unknown(backend, at="backend")
    if backend != FOLDED_BACKEND:
        rule = f"generated workloads run on {FOLDED_BACKEND}; traces run on every backend"
        raise ConfigError("backend", rule, got=backend)


def _result(
    iteration: Iteration, platform: Platform, needed: Footprint, backend: str
) -> IterationResult:
    graph, execution = iteration.graph, iteration.execution
    time_s = int(execution.finish_ns.max()) * _NS
    budget = time_s * platform.npus * platform.npu.peak(graph.workload.precision)
    rates = [dimension.bandwidth_bytes_per_s for dimension in platform.dimensions]
    return IterationResult(
        iteration_time_s=time_s,
        stages=tuple(_stage_times(iteration, stage) for stage in range(len(graph.stages))),
        footprint=needed,
        memory_bytes=platform.npu.memory_bytes,
        mfu=total_model_flop(graph.workload) / budget,
        hfu=sum(total_flop(graph, kind) for kind in MATRIX_KERNELS) / budget,
        dimension_utilization=tuple(
            sent / (rate * time_s) for sent, rate in zip(iteration.sent_bytes, rates, strict=True)
        ),
        sent_bytes=iteration.sent_bytes,
        tokens=graph.workload.tokens,
        npus=platform.npus,
        simulated_npus=len(graph.stages),
        nodes=sum(stage.nodes for stage in graph.stages),
        events=execution.events,
        backend=backend,
        notes=iteration.notes,
    )


def _stage_times(iteration: Iteration, stage: int) -> StageTimes:
    booked = (iteration.execution.booked_ns[stage] * _NS).tolist()
    phases = {str(phase) for phase in Phase}
    named = dict(zip(iteration.lowered.categories, booked, strict=False))
    return StageTimes(
        compute_s={name: time for name, time in named.items() if name in phases},
        exposed_communication_s={name: t for name, t in named.items() if name not in phases},
        bubble_s=booked[-1],
        finish_s=int(iteration.execution.finish_ns[stage]) * _NS,
    )
