"""Jobs that nothing is beside: NPUs of a stage that stay in step are one."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from simcore.collectives import IN_NETWORK, SYNTHESISED
from simcore.compute import COMPUTE_MODELS
from simcore.config import Run
from simcore.engines.collectives.ends import is_shared
from simcore.engines.collectives.members import Subsystem
from simcore.engines.events.input import Ints
from simcore.engines.events.several import ProgramRun
from simcore.engines.iteration import IterationRunner
from simcore.engines.placed.on_machine import traffic_of
from simcore.engines.stages.plan_code import PlanCode, plan_code
from simcore.jobs.file import JobRun
from simcore.machine.system import ALGORITHM_KEYS
from simcore.memo import Memo
from simcore.network import BACKENDS, Arrival, ExternalNetwork, Flow, NetworkDimension
from simcore.network.base import LinkRule
from simcore.terms import CollectiveKind
from simcore.workload.graph import Axis, CollectiveOp


class _Counting(ExternalNetwork):
    """A network with fair links that counts bytes.

    Args:
        dimensions: Of the network.

    Attributes:
        sent_bytes: By sender and receiver.
    """

    def __init__(self, dimensions: Sequence[NetworkDimension]) -> None:
        super().__init__(dimensions)
        self._network, self.sent_bytes = Flow(dimensions), Counter[tuple[int, int]]()

    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        self.sent_bytes[src, dst] += size_bytes
        self._network.send(now_ns, message, src, dst, size_bytes)

    def next_event_ns(self) -> int | None:
        return self._network.next_event_ns()

    def advance(self, until_ns: int) -> Sequence[Arrival]:
        return self._network.advance(until_ns)


def run_alone(
    job: JobRun, where: Ints, backend: str, around: tuple[NetworkDimension, ...], memo: Memo
) -> ProgramRun | None:
    """Run of a job by itself, with one NPU for each stage.

    Args:
        job: The job.
        where: NPU of each of its ranks.
        backend: Network backend.
        around: Dimensions of the machine.
        memo: What is known from others.

    Returns:
        None where all its NPUs have to be followed, or what they send each other is not known.
    """
    run = job.run
    if BACKENDS[backend].link_rule is not LinkRule.FAIR or not _tells_bytes(run):
        return None
    system = run.system.model_copy(update={"phase_end": "each"})
    compute = COMPUTE_MODELS[run.compute]()
    runner = IterationRunner(run.platform, system, compute, memo, backend)
    took_ns = runner.among(where, around).in_step_ns(run.workload, run.plan)
    if took_ns is None:
        return None
    times, start = job.iterations, job.start_ns
    sent = _sent_bytes(job, where, around, memo)
    return ProgramRun(
        start_ns=[start + number * took_ns for number in range(times)],
        end_ns=[start + number * took_ns for number in range(1, times + 1)],
        sent_bytes=Counter({pair: times * size for pair, size in sent.items()}),
    )


def _tells_bytes(run: Run) -> bool:
    """True if steps of collectives tell who sends what: not where switches or schedules do it.

    Nor where chunks pass the dimensions in other orders.
    """
    levels = len(run.platform.dimensions)
    named = [run.system.vector(CollectiveKind[key.upper()], levels) for key in ALGORITHM_KEYS]
    untold = {SYNTHESISED, IN_NETWORK}
    return run.system.inter_dimension == "ascending" and untold.isdisjoint(
        name for names in named for name in names
    )


def _sent_bytes(
    job: JobRun, where: Ints, around: tuple[NetworkDimension, ...], memo: Memo
) -> Counter[tuple[int, int]]:
    """Bytes of one iteration, by sender and receiver among the machine's NPUs."""
    run, found = job.run, Counter[tuple[int, int]]()
    between = {str(axis) for axis in Axis if is_shared(run.plan, axis)}
    for one in traffic_of(run.workload, run.plan, run.platform, run.system, memo):
        if one.axis in between:
            continue
        ends = where[one.source].tolist(), where[one.target].tolist()
        for source, target, size in zip(*ends, one.size_bytes.tolist(), strict=True):
            found[source, target] += round(size)
    known = plan_code(run.workload, run.plan, memo)
    for number, operation in enumerate(known.program.collectives):
        times = int(known.counts.collectives[:, number].max())
        if times and is_shared(run.plan, operation.axis):
            for pair, size in _between_stages(job, known, operation, around).items():
                for source, target in zip(*_of_members(job, pair, where), strict=True):
                    found[source, target] += times * size
    return +found


def _between_stages(
    job: JobRun, known: PlanCode, operation: CollectiveOp, around: tuple[NetworkDimension, ...]
) -> Counter[tuple[int, int]]:
    """Bytes of a collective between stages, by sending and receiving stage."""
    plan, platform = known.plan, job.run.platform
    stages = [0, plan.pp - 1] if operation.axis is Axis.EMBEDDING else list(range(plan.pp))
    members = np.array([plan.npu(stage, 0) for stage in stages])
    rate = platform.npu.memory_bandwidth_bytes_per_s
    network = _Counting(around)
    place = np.array(job.npus, np.int64)
    Subsystem(platform.dimensions, job.run.system, rate).shared_ends_on(
        network,
        operation.kind,
        members,
        operation.size_bytes,
        np.zeros(len(stages), np.int64),
        place,
    )
    stage_of = dict(zip(place[members].tolist(), stages, strict=True))
    sent = network.sent_bytes.items()
    return Counter({(stage_of[src], stage_of[dst]): size for (src, dst), size in sent})


def _of_members(
    job: JobRun, stages: tuple[int, int], where: Ints
) -> tuple[Sequence[int], Sequence[int]]:
    """NPUs of all members at two stages."""
    plan = job.run.plan
    first, second = (
        where[[plan.npu(stage, member) for member in range(plan.npus_per_stage)]].tolist()
        for stage in stages
    )
    return first, second
