"""Jobs on one machine: each alone, and all together on shared links."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simcore.checks import RunChecks
from simcore.compute import COMPUTE_MODELS
from simcore.engines.collectives.ends import is_shared
from simcore.engines.collectives.scheduled import Located, check_located, located, one_network
from simcore.engines.collectives.switched import adding_up
from simcore.engines.each_npu import NodeTimes, expand
from simcore.engines.events.input import EngineInput, Ints
from simcore.engines.events.several import ProgramRun, bytes_by_pair, run_together
from simcore.engines.limits import memory
from simcore.engines.machine_times import MachineTimes, outside_of
from simcore.engines.placed.links import PlacedLinks
from simcore.engines.placed.on_machine import traffic_of
from simcore.engines.placed.place import place_ranks
from simcore.engines.stages.counts import counts_of_graph
from simcore.engines.stages.times import operator_times_ns
from simcore.errors import ConfigError, InfeasibleError
from simcore.jobs.alone import run_alone
from simcore.jobs.file import KEY, JobRun, Jobs
from simcore.jobs.result import JobResult, JobsResult, SharedLink
from simcore.memo import Memo
from simcore.network import BACKENDS, DEFAULT_BACKEND, ExternalNetwork, check_network
from simcore.network.dimensions import engine_dimensions
from simcore.network.settings import NetworkSettings
from simcore.units import plain_sum
from simcore.workload import build_graph

_MOST_TOLD = 8
"""Links of which a result tells."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Ready:
    """A job that is ready to run.

    Attributes:
        job: The job.
        where: NPU of each rank.
        make_inputs: Writes its programs, of ranks on such NPUs.
        nodes: Of all its NPUs together.
        note: Sentence on where its ranks are.
    """

    job: JobRun
    where: Ints
    make_inputs: Callable[[Ints], EngineInput]
    nodes: int
    note: str


def simulate_jobs(jobs: Jobs) -> JobsResult:
    """Simulate *jobs*, each alone on its NPUs and all together.

    Raises:
        ConfigError: Something breaks a rule that shows only now.
        InfeasibleError: A plan does not fit its workload or its NPUs; names the job.
        SimulationError: The NPUs of a job wait for each other for ever.
    """
    return JobsSimulator().simulate(jobs)


class JobsSimulator:
    """Simulates one set of jobs after another; those alike are alone once."""

    def __init__(self) -> None:
        self._memo = Memo()

    def simulate(self, jobs: Jobs) -> JobsResult:
        """Simulate *jobs*; see ``simulate_jobs``."""
        return _Simulation(jobs, self._memo).result()


class _Simulation:
    """Jobs on one machine.

    Args:
        jobs: The jobs.
        memo: Keeps what they have in common with others.
    """

    def __init__(self, jobs: Jobs, memo: Memo) -> None:
        self._jobs, self._memo = jobs, memo
        self._machine = jobs.platform.model_dump_json()
        self._dimensions = engine_dimensions(jobs.platform.dimensions)
        try:
            check_network(BACKENDS[jobs.file.backend], self._dimensions)
        except ConfigError as error:
            raise error.under("platform") from None
        self._links = PlacedLinks(self._dimensions)
        prepared = [self._prepared(number, job) for number, job in enumerate(jobs.runs)]
        self._ready = [self._better_placed(one) for one in prepared]

    def result(self) -> JobsResult:
        """Times of all jobs, alone and together."""
        alone = [self._alone(one) for one in self._ready]
        together = self._together(alone)
        told = zip(self._ready, alone, together, strict=True)
        return JobsResult(
            backend=self._jobs.file.backend,
            jobs=tuple(_job_result(*each) for each in told),
            links=self._shared_links(together),
        )

    def _alone(self, ready: _Ready) -> ProgramRun:
        """Run of one job that nothing else is beside."""
        file, job = self._jobs.file, ready.job
        on = self._machine, file.backend, file.network, file.routers
        where = tuple(ready.where.tolist())
        key = job.run.model_dump_json(), where, job.start_ns, job.iterations, on
        return self._memo.of("alone", key, lambda: self._run_alone(ready))

    def _run_alone(self, ready: _Ready) -> ProgramRun:
        backend, memo = self._jobs.file.backend, self._memo
        found = run_alone(ready.job, ready.where, backend, self._dimensions, memo)
        return self._run([ready])[0] if found is None else found

    def _better_placed(self, ready: _Ready) -> _Ready:
        """A job whose ranks stay as they are where it is sooner so, alone on its NPUs."""
        run = ready.job.run
        if not run.placement.weighs_traffic:
            return ready
        where = np.array(ready.job.npus, np.int64)
        unmoved = replace(ready, where=where)
        placed_s, as_is_s = self._alone_s(ready), self._alone_s(unmoved)
        if placed_s <= as_is_s:
            return ready
        told = (
            f"placement {run.placement.rule}: ranks stay as they are: an iteration alone takes "
            f"{as_is_s:.4g} s so, and {placed_s:.4g} s as placed by traffic"
        )
        return replace(unmoved, note=told)

    def _alone_s(self, ready: _Ready) -> float:
        return _mean_s(self._alone(ready))

    def _together(self, alone: Sequence[ProgramRun]) -> list[ProgramRun]:
        """Runs of all jobs at once: those that share no link with others are as alone."""
        found = list(alone)
        for numbers in self._sharing(alone):
            if len(numbers) > 1:
                runs = self._run([self._ready[number] for number in numbers])
                for number, run in zip(numbers, runs, strict=True):
                    found[number] = run
        return found

    def _sharing(self, alone: Sequence[ProgramRun]) -> list[list[int]]:
        """Jobs in sets: those of different ones have no link in common.

        Where messages wait by another rule than for each link by itself, all are in one.
        """
        if BACKENDS[self._jobs.file.backend].link_rule is None:
            return [list(range(len(alone)))]
        sets = list[tuple[list[int], NDArray[np.bool_]]]()
        for number, one in enumerate(alone):
            numbers, used = [number], self._carried(one) > 0
            apart = list[tuple[list[int], NDArray[np.bool_]]]()
            for others, links in sets:
                if (links & used).any():
                    numbers, used = others + numbers, links | used
                else:
                    apart.append((others, links))
            sets = [*apart, (numbers, used)]
        return [sorted(numbers) for numbers, _ in sets]

    def _run(self, ready: Sequence[_Ready]) -> list[ProgramRun]:
        for one in ready:
            if one.job.run.system.mover:
                rule = (
                    "goes with jobs on flow alone that share no link with others, and whose NPUs "
                    f"stay in step: what computes lose is not followed on each NPU ({one.job.name})"
                )
                raise ConfigError("system.mover", rule, got=one.job.run.system.mover)
        nodes = sum(one.nodes for one in ready)
        if not memory.may_take(nodes):
            names = ", ".join(one.job.name for one in ready)
            rule = f"must have fewer NPUs or micro-batches: they have {memory.told(nodes)}"
            raise ConfigError(KEY, rule, got=names)
        times = [one.job.iterations for one in ready]
        inputs = [one.make_inputs(one.where) for one in ready]
        return run_together(inputs, times, self._network)

    def _network(self) -> ExternalNetwork:
        file = self._jobs.file
        settings = NetworkSettings(packets=file.network, routers=file.routers)
        found = outside_of(file.backend, self._dimensions, settings, apart=True)
        if found is not None:
            return found
        kind = BACKENDS[file.backend]
        assert issubclass(kind, ExternalNetwork)
        return kind(self._dimensions)

    def _prepared(self, number: int, job: JobRun) -> _Ready:
        try:
            return self._inputs(job)
        except ConfigError as error:
            raise error.under(f"{KEY}[{number}]") from None
        except InfeasibleError as error:
            raise InfeasibleError(error.rule, f"{job.name}: {error.reason}") from None

    def _inputs(self, job: JobRun) -> _Ready:
        run = job.run
        check_located(run.system, len(run.platform.dimensions), self._dimensions)
        RunChecks(self._memo).structure(run.workload, run.platform, run.plan)
        compute = COMPUTE_MODELS[run.compute]()
        machine = MachineTimes(run.platform, run.system, compute, DEFAULT_BACKEND, self._memo)
        graph = build_graph(run.workload, run.plan)
        if graph.transfers:
            rule = "goes with no jobs: their tiers of memory are not shared among them"
            used = ", ".join(sorted({transfer.tier for transfer in graph.transfers}))
            raise ConfigError("plan.offload", rule, got=used)
        counts = counts_of_graph(graph)
        npu, precision = run.platform.npu, run.workload.precision
        operator_ns = operator_times_ns(graph.operators, npu, precision, compute)
        key = run.model_dump_json(), job.npus, self._machine
        where, note = self._memo.of("where", key, lambda: self._where(job))
        on, told = self._located(job, where)
        if on is not None:
            machine = machine.located(on)
        times = machine.of(graph, counts, operator_ns)
        shared = [axis for axis in graph.groups if is_shared(graph.plan, axis)]
        lasts = NodeTimes(operator_ns)

        def make_inputs(where: Ints) -> EngineInput:
            inputs = expand(graph, run.platform, run.system, lasts, times.placements, shared)
            return replace(
                inputs,
                backend=self._jobs.file.backend,
                where=where,
                on=on,
                start_ns=np.full(len(where), job.start_ns),
                record_nodes=False,
            )

        note = "; ".join(filter(None, (note, *told)))
        nodes = counts.nodes // run.plan.pp * run.plan.npus
        return _Ready(job=job, where=where, make_inputs=make_inputs, nodes=nodes, note=note)

    def _located(self, job: JobRun, where: Ints) -> tuple[Located | None, tuple[str, ...]]:
        """Network of the machine with the NPUs of a job, and what its switches do not do."""
        if one_network(self._dimensions) is None:
            return None, ()
        system, precision = job.run.system, job.run.workload.precision
        platform, told = adding_up(self._jobs.platform, system, precision)
        return located(platform.dimensions, where.tolist()), told

    def _where(self, job: JobRun) -> tuple[Ints, str]:
        """NPU of each rank of a job, and a sentence on them."""
        npus, run = np.array(job.npus, np.int64), job.run
        if not run.placement.moves:
            return npus, ""
        machine = run.workload, run.plan, run.platform, run.system
        placed = place_ranks(run.placement, traffic_of(*machine, self._memo), self._links, npus)
        return placed.where, placed.told()

    def _shared_links(self, together: Sequence[ProgramRun]) -> tuple[SharedLink, ...]:
        """Links that several jobs use, those first on which others keep a job waiting longest."""
        carried = np.array([self._carried(one) for one in together])
        users = (carried > 0).sum(axis=0)
        others_s = (carried.sum(axis=0) - carried.max(axis=0)) / self._links.stack.bytes_per_ns
        order = np.argsort(-others_s, kind="stable")
        begin, end = self._links.stack.ends()
        names = [one.job.name for one in self._ready]
        return tuple(
            SharedLink(
                begin=self._named(int(begin[link])),
                end=self._named(int(end[link])),
                bandwidth_bytes_per_s=float(self._links.stack.bytes_per_ns[link]) * 1e9,
                carried_bytes={
                    name: float(size)
                    for name, size in zip(names, carried[:, link], strict=True)
                    if size > 0
                },
            )
            for link in order[:_MOST_TOLD].tolist()
            if users[link] > 1
        )

    def _carried(self, outcome: ProgramRun) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        """(L,) bytes of a job on each link."""
        source, target, sizes = bytes_by_pair(outcome)
        found = self._links.carried(source, target, sizes.astype(np.float64))
        if outcome.scheduled_bytes:
            links = np.array(list(outcome.scheduled_bytes), np.int64)
            own = self._links.stack.links_of(0, 0, links)
            found[own] += np.array(list(outcome.scheduled_bytes.values()))
        return found

    def _named(self, node: int) -> str:
        npus = self._jobs.platform.npus
        return f"NPU {node}" if node < npus else f"switch {node - npus}"


def _job_result(ready: _Ready, alone: ProgramRun, together: ProgramRun) -> JobResult:
    job = ready.job
    return JobResult(
        name=job.name,
        npus=job.npus,
        levels=tuple(dimension.npus for dimension in job.run.platform.dimensions),
        start_s=job.start_ns * 1e-9,
        alone_s=_mean_s(alone),
        iterations_s=tuple(
            (end - start) * 1e-9
            for start, end in zip(together.start_ns, together.end_ns, strict=True)
        ),
        sent_bytes=plain_sum(together.sent_bytes.values()),
        note=ready.note,
    )


def _mean_s(outcome: ProgramRun) -> float:
    whole = sum(outcome.end_ns) - sum(outcome.start_ns)
    return whole / len(outcome.end_ns) * 1e-9
