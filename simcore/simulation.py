"""simulate(): one training iteration of one design. The only entry to the simulator."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from simcore.checks import RunChecks
from simcore.compute import COMPUTE_MODELS, MeasuredKernels
from simcore.compute.tables.account import KernelAccount, account_of
from simcore.config import Run
from simcore.engines.attribution import Attribution, booked_attribution
from simcore.engines.choose import Engine
from simcore.engines.classes.run import NodeTimes
from simcore.engines.collectives.switched import adding_up
from simcore.engines.critical_path import CriticalPath, critical_path
from simcore.engines.decoding import run_step
from simcore.engines.iteration import Iteration, IterationRunner
from simcore.engines.local_training import run_mean
from simcore.engines.moving import LOST
from simcore.engines.stages.plan_code import plan_code
from simcore.engines.stages.workspace import Workspace
from simcore.errors import SimulationError
from simcore.formats.timeline.timeline import Timeline
from simcore.machine import Platform
from simcore.machine.system import System
from simcore.memo import Memo, key_of_one
from simcore.memory.footprint import Footprint
from simcore.network import BACKENDS, DEFAULT_BACKEND
from simcore.network.settings import NetworkSettings
from simcore.placement.choice import PlacementChoice
from simcore.result import NS, IterationResult, StageTimes, flop_shares, use_of
from simcore.workload import ParallelPlan, Workload, build_graph, total_model_flop
from simcore.workload.graph import PassPhase
from simcore.workload.kinds import InferenceWorkload

_PHASES = frozenset([*map(str, PassPhase), LOST])


def simulate(
    workload: Workload,
    platform: Platform,
    plan: ParallelPlan,
    backend: str = DEFAULT_BACKEND,
    *,
    system: System | None = None,
    compute: str | None = None,
) -> IterationResult:
    """Simulate one training iteration.

    Args:
        workload: Model and batch.
        platform: The machine.
        plan: How the work is spread over it.
        backend: Network backend by name. Where messages slow each other down, every NPU and
            every message is followed.
        system: Chunking, scheduling and algorithms of the collectives.
        compute: Compute model by name; None: the default for the kind of workload.

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
        **({} if compute is None else {"compute": compute}),
    )
    return simulate_run(run)


def simulate_run(run: Run) -> IterationResult:
    """Simulate what a run file describes; see ``simulate``."""
    return Simulator().simulate(run)


class Simulator:
    """Simulates runs one after another, and keeps what they have in common.

    Results are those of ``simulate_run``, only sooner.

    Args:
        memo: Where that is kept, if others use it too.
    """

    def __init__(self, memo: Memo | None = None) -> None:
        self._memo = memo or Memo()
        self._checks = RunChecks(self._memo)

    @property
    def memo(self) -> Memo:
        """Memory of what runs have in common."""
        return self._memo

    def prepare(self) -> None:
        """Get memory for the runs beforehand, so that the first one is no slower for it."""
        self._memo.of("workspace", None, Workspace).prepare()

    def simulate(self, run: Run, *, memory: bool = False, margin: float = 0.0) -> IterationResult:
        """Simulate *run*; see ``simulate``.

        Args:
            run: What to simulate.
            memory: Refuse a design that needs more memory than there is.
            margin: Part of the memory that such a design has to leave.
        """
        return self.run(run, memory=memory, margin=margin)[0]

    def run(
        self, run: Run, *, memory: bool = False, margin: float = 0.0, every_node: bool = False
    ) -> tuple[IterationResult, Iteration]:
        """The result of *run*, and the executed iteration behind it.

        Args:
            run: What to simulate.
            memory: Refuse a design that needs more memory than there is.
            margin: Part of the memory that such a design has to leave.
            every_node: Execute each node, also where an equal situation has been worked out
                before; the iteration then says when each node ran.
        """
        self._checks.check(run, memory=memory, margin=margin)
        needed = self._checks.footprint(run.workload, run.plan)
        runtime = self._checks.runtime(run.workload, run.plan)
        model_flop = self._memo.of(
            "model flop", key_of_one(run.workload), lambda: total_model_flop(run.workload)
        )
        iteration = self._better_placed(run, _whole if every_node else _mean)
        result = result_of(run, iteration, needed, model_flop)
        return replace(result, runtime=runtime), iteration

    def _better_placed(
        self, run: Run, each: Callable[[IterationRunner, Run], Iteration]
    ) -> Iteration:
        """The iteration of *run*; ranks stay as they are where their traffic places them worse."""
        placed = each(runner_of(run, self._memo), run)
        if not run.placement.weighs_traffic or not BACKENDS[run.backend].messages_meet:
            return placed
        unmoved = run.model_copy(update={"placement": PlacementChoice()})
        as_is = each(runner_of(unmoved, self._memo), unmoved)
        placed_ns, as_is_ns = int(placed.finish_ns.max()), int(as_is.finish_ns.max())
        if placed_ns <= as_is_ns:
            return placed
        told = (
            f"placement {run.placement.rule}: ranks stay as they are: an iteration takes "
            f"{as_is_ns * 1e-9:.4g} s so, and {placed_ns * 1e-9:.4g} s as placed by traffic"
        )
        return replace(as_is, notes=(*as_is.notes, told))


def runner_of(run: Run, memo: Memo) -> IterationRunner:
    """Executes iterations on the machine of *run*."""
    compute = COMPUTE_MODELS[run.compute]()
    settings = NetworkSettings(packets=run.network, routers=run.routers)
    platform, told = adding_up(run.platform, run.system, run.workload.precision)
    machine = platform, run.system, compute, memo, run.backend, settings
    runner = IterationRunner(*machine).telling(told)
    return runner.place(run.placement, run.workload, run.plan)


def kernel_account(run: Run) -> KernelAccount | None:
    """Origin of the times of the kernels of *run*; None: its compute model has no tables.

    Raises:
        ConfigError, InfeasibleError: As ``simulate_run``.
    """
    if not issubclass(COMPUTE_MODELS[run.compute], MeasuredKernels):
        return None
    code = plan_code(run.workload, run.plan, Memo())
    counts = code.counts.operators.tolist()
    npu, precision = run.platform.npu, run.workload.precision
    return account_of(code.program.operators, counts, npu, precision)


def explain_run(run: Run) -> CriticalPath:
    """Attribute one iteration of *run* along its critical path, in integer nanoseconds.

    Every node is executed one by one, which takes longer than ``simulate_run``. Where times are the
    mean of several iterations or steps, one of them is explained.

    Raises:
        ConfigError, InfeasibleError: As ``simulate_run``.
        SimulationError: The iteration ran without a record of its nodes.
    """
    return critical_path(_every_node(run), run.platform.dimensions)


def timeline_run(run: Run) -> Timeline:
    """Lay out one iteration of *run* in time: lanes, messages, memory and the critical path.

    Raises:
        ConfigError, InfeasibleError, SimulationError: As ``explain_run``.
    """
    return Timeline.of(_every_node(run), run.platform.dimensions)


def _every_node(run: Run) -> NodeTimes:
    """One iteration of *run* node by node."""
    nodes = run_with_iteration(run, every_node=True)[1].nodes
    if nodes is None:
        raise SimulationError("the iteration kept no times of its nodes, so nothing can be told")
    return nodes


def attribute_run(run: Run, what: str = "one iteration") -> Attribution:
    """Time of one iteration of *run* by reason, in integer nanoseconds.

    It is followed along the critical path; where classes of NPUs fall out of step, whose nodes are
    not recorded, along the pipeline stage that ends last.

    Raises:
        ConfigError, InfeasibleError: As ``simulate_run``.
    """
    iteration = run_with_iteration(run)[1]
    if iteration.nodes is None and iteration.choice.engine is not Engine.CLASSES:
        iteration = run_with_iteration(run, every_node=True)[1]
    if iteration.nodes is None:
        return booked_attribution(iteration, what)
    path = critical_path(iteration.nodes, run.platform.dimensions)
    return Attribution(what=what, way="along the critical path", parts_ns=path.by_reason_ns())


def run_with_iteration(run: Run, *, every_node: bool = False) -> tuple[IterationResult, Iteration]:
    """The result of *run*, and the iteration behind it; see ``Simulator.run``."""
    return Simulator().run(run, every_node=every_node)


def _mean(runner: IterationRunner, run: Run) -> Iteration:
    """Mean of *run*: a step of inference, or an iteration of training."""
    if isinstance(run.workload, InferenceWorkload):
        return run_step(runner, run.workload, run.plan)
    return run_mean(runner, run.workload, run.plan)


def _whole(runner: IterationRunner, run: Run) -> Iteration:
    """One iteration node by node, where the times of *run* may be the mean of several."""
    iteration = runner.run_graph(build_graph(run.workload, run.plan))
    if note := _of_many(run):
        return replace(iteration, notes=(*iteration.notes, note))
    return iteration


def _of_many(run: Run) -> str:
    """Note on the iteration shown node by node, where times are those of a mean."""
    workload = run.workload
    if run.plan.updates.every > 1:
        return "this is the iteration that ends with an average of the weights"
    if isinstance(workload, InferenceWorkload) and (workload.steady or workload.speculation):
        return "this is one whole step by itself, without guessing"
    return ""


def result_of(
    run: Run, iteration: Iteration, needed: Footprint, model_flop: float
) -> IterationResult:
    """Figures of *iteration*, of a run that needs this memory and does *model_flop*."""
    platform, work = run.platform, iteration.work
    time_s = int(iteration.finish_ns.max()) * NS
    executed_flop = work.matrix_flop * run.plan.npus_per_stage
    peak = platform.npu.peak(run.workload.precision)
    mfu, hfu = flop_shares(model_flop, executed_flop, time_s, platform.npus, peak)
    rates = [dimension.usable_bandwidth_bytes_per_s for dimension in platform.dimensions]
    sent = tuple(work.sent_bytes.tolist())
    used = _uses(sent, rates, time_s)
    loads = _uses(work.link_bytes.tolist(), _carried(run), time_s)
    return IterationResult(
        iteration_time_s=time_s,
        stages=_stage_times(iteration),
        footprint=needed,
        memory_bytes=platform.npu.memory_bytes,
        mfu=mfu,
        hfu=hfu,
        dimension_utilization=used,
        sent_bytes=sent,
        link_loads=loads,
        held_s=min(iteration.held_ns * NS, time_s),
        tokens=run.workload.tokens,
        npus=platform.npus,
        simulated_npus=iteration.simulated_npus,
        nodes=work.nodes,
        events=iteration.events,
        backend=run.backend,
        compute=run.compute,
        compute_reason=run.compute_reason,
        engine=iteration.choice.engine,
        engine_reason=iteration.choice.reason,
        staleness=run.plan.updates.lag,
        figures=run.workload.figures(time_s),
        traffic=iteration.traffic,
        tier_bytes={**iteration.moved_bytes, **needed.held_in_tiers(run.plan, platform)},
        notes=(*iteration.notes, *run.workload.notes(run.plan), *overloads(loads)),
    )


def _carried(run: Run) -> list[float]:
    """Bandwidth per dimension at which messages can leave an NPU."""
    dimensions = run.platform.dimensions
    if BACKENDS[run.backend].messages_meet:
        return [dimension.port_bandwidth_bytes_per_s for dimension in dimensions]
    return [dimension.usable_bandwidth_bytes_per_s for dimension in dimensions]


def _uses(sizes: Sequence[float], rates: Sequence[float], time_s: float) -> tuple[float, ...]:
    """Per dimension, bytes over what links with these rates could carry in the time."""
    return tuple(use_of(size, rate, time_s) for size, rate in zip(sizes, rates, strict=True))


def overloads(loads: Sequence[float]) -> Iterator[str]:
    """Dimensions over which more was sent than their links carry."""
    for dimension, part in enumerate(loads):
        if part > 1:
            yield (
                f"dimension {dimension} carried {part:.3g} times what its links can: messages sent "
                "at once do not share links; on a switch choose all_to_all: direct1, or a backend "
                "that is aware of congestion"
            )


def _stage_times(iteration: Iteration) -> tuple[StageTimes, ...]:
    names = list(enumerate(iteration.categories))
    compute = [(at, name) for at, name in names if name in _PHASES]
    communication = [(at, name) for at, name in names if name not in _PHASES]
    booked, finish = iteration.booked_ns * NS, iteration.finish_ns * NS
    return tuple(
        StageTimes(
            compute_s={name: row[at] for at, name in compute},
            exposed_communication_s={name: row[at] for at, name in communication},
            bubble_s=row[-1],
            finish_s=finish_s,
        )
        for row, finish_s in zip(booked.tolist(), finish.tolist(), strict=True)
    )
