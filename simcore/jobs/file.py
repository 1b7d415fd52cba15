"""Files of several jobs on one machine."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field

from simcore.config import Run, load_run
from simcore.config.names import model_table, platform_table, resolved
from simcore.config.paths import parse_path, set_steps
from simcore.config.template import stack_path
from simcore.errors import ConfigError
from simcore.files.resources import named_file
from simcore.files.yaml_file import read_yaml
from simcore.flits.settings import FlitNetwork
from simcore.jobs.choice import Allocation, AllocationChoice
from simcore.jobs.machine import part_for
from simcore.machine import Platform, load_platform
from simcore.network import BACKENDS
from simcore.packets.fabric import PacketNetwork
from simcore.placement.choice import from_folder
from simcore.schema import Schema, Seconds

KEY = "jobs"
_OF_RUN = ("workload", "plan", "system", "stack", "compute", "placement")


class Job(Schema):
    """One job of a file.

    Attributes:
        name: Under which results tell it.
        workload: Model and batch, as in a run file.
        plan: How the work is spread over the job's NPUs, likewise; and the following.
        system: How data is moved; the file's unless given.
        stack: Software that trains.
        compute: Compute model.
        placement: Which rank runs on which of the job's NPUs.
        npus: The NPUs: a count, ranges, a list, or a rule.
        start_s: When it begins.
        iterations: How often it runs, one after the other.
    """

    name: str = Field(default="", max_length=80)
    workload: dict[str, Any]
    plan: dict[str, Any]
    system: dict[str, Any] | None = None
    stack: str | None = None
    compute: str | None = None
    placement: Any = None
    npus: Allocation = Field(default_factory=AllocationChoice)
    start_s: Seconds = Field(default=0.0, ge=0, alias="start")
    iterations: int = Field(default=1, ge=1, le=1000)


class JobsFile(Schema):
    """Jobs that share a machine.

    Attributes:
        version: Of the file format.
        platform: The machine, as in a run file; and the following.
        system: How data is moved, of jobs that do not say.
        backend: Network backend, one in which messages meet.
        network: Settings of ``backend: packet``.
        routers: Settings of ``backend: flit``.
        jobs: The jobs; NPUs are given in this order.
    """

    version: Literal[1] = 1
    platform: Any
    system: dict[str, Any] = Field(default_factory=dict)
    backend: str = "flow"
    network: PacketNetwork = Field(default_factory=PacketNetwork)
    routers: FlitNetwork = Field(default_factory=FlitNetwork)
    jobs: tuple[Job, ...] = Field(min_length=1, max_length=256)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """A job with its NPUs.

    Attributes:
        name: Its name.
        run: What it runs, on a machine of its NPUs alone.
        npus: NPUs of the whole machine, that of its rank 0 first if ranks stay as they are.
        start_ns: When it begins.
        iterations: How often it runs.
    """

    name: str
    run: Run
    npus: tuple[int, ...]
    start_ns: int
    iterations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """Jobs on one machine.

    Attributes:
        file: What was read.
        platform: The machine.
        runs: The jobs.
    """

    file: JobsFile
    platform: Platform
    runs: tuple[JobRun, ...]

    def with_share(self, share: float) -> Self:
        """These jobs with that *share* of each link's bandwidth."""
        if share == 1.0:
            return self
        parts = [one.run.platform.with_share(share) for one in self.runs]
        runs = tuple(
            replace(one, run=one.run.model_copy(update={"platform": part}))
            for one, part in zip(self.runs, parts, strict=True)
        )
        return replace(self, platform=self.platform.with_share(share), runs=runs)


@dataclass(frozen=True, slots=True)
class JobsTemplate:
    """A file of jobs whose names are resolved, to be filled with the values of many designs.

    Attributes:
        table: The file as plain data; a model, platform or accelerator given by name has been
            replaced by its own.
    """

    table: Mapping[str, Any]

    @classmethod
    def from_table(cls, table: object, *, beside: Path | None = None) -> Self:
        """Resolve the names in *table*; paths in it are taken from *beside*.

        Raises:
            ConfigError: A name has no file, or a file is not valid.
        """
        if not isinstance(table, Mapping):
            raise ConfigError("", "must be a table of keys and values", got=table)
        told = dict(table)
        if "platform" in told:
            told["platform"] = platform_table(told["platform"], beside)
        if isinstance(told.get(KEY), list | tuple):
            told[KEY] = [
                _resolved_job(job, f"{KEY}[{number}]", beside)
                for number, job in enumerate(told[KEY])
            ]
        return cls(told)

    def prepare(self, paths: Iterable[str]) -> None:
        """Nothing: the jobs of a study share models and accelerators, which have been read."""

    def with_values(self, values: Mapping[str, object]) -> Jobs:
        """The jobs with *values* (by path, as in a file) in place of the file's.

        Raises:
            ConfigError: A path leads nowhere, or a value breaks a rule; names the path.
            InfeasibleError: A job's plan does not fit its workload.
        """
        table: Any = dict(self.table)
        for path, value in values.items():
            steps = parse_path(path)
            within = steps[2:] if steps[0] == KEY else steps
            table = set_steps(table, steps, resolved(within, value), path)
        return _jobs_of(table)


def load_jobs(
    source: Path | str | Mapping[str, Any],
    values: Mapping[str, object] | None = None,
    *,
    beside: Path | None = None,
) -> Jobs:
    """Read a file of jobs, or its content.

    Args:
        source: A path, a shipped name of ``configs/jobs``, or a table.
        values: By path, in place of the file's.
        beside: Folder that paths in a table are taken from.

    Raises:
        ConfigError: What is wrong, where, and what would be right.
        InfeasibleError: A job's plan does not fit its workload.
    """
    if isinstance(source, Mapping):
        return JobsTemplate.from_table(source, beside=beside).with_values(values or {})
    file = named_file(KEY, source)
    try:
        return load_jobs(read_yaml(file), values, beside=file.parent)
    except ConfigError as error:
        raise error.in_file(file) from None


def _resolved_job(job: object, at: str, beside: Path | None) -> object:
    """A job's table with what it names."""
    if not isinstance(job, Mapping):
        return job
    told, workload = dict(job), job.get("workload")
    if isinstance(told.get("stack"), str):
        told["stack"] = stack_path(told["stack"], beside)
    if "placement" in told:
        told["placement"] = from_folder(told["placement"], beside)
    if isinstance(workload, Mapping) and "model" in workload:
        try:
            told["workload"] = {**workload, "model": model_table(workload["model"], beside)}
        except ConfigError as error:
            raise error if error.names_file else error.under(at) from None
    return told


def _jobs_of(table: Mapping[str, Any]) -> Jobs:
    file = JobsFile.from_file_data(dict(table), at="")
    if file.backend not in BACKENDS:
        raise BACKENDS.unknown(file.backend, at="backend")
    if not BACKENDS[file.backend].messages_meet:
        rule = "must be one in which messages of jobs meet, such as flow"
        raise ConfigError("backend", rule, got=file.backend)
    platform = load_platform(file.platform)
    taken: dict[int, str] = {}
    runs = list[JobRun]()
    for number, job in enumerate(file.jobs):
        name, at = job.name or f"job {number}", f"{KEY}[{number}]"
        if name in (other.name for other in runs):
            raise ConfigError(f"{at}.name", "must be another than that of other jobs", got=name)
        npus = _allocated(job, platform, taken, at)
        taken |= dict.fromkeys(npus, name)
        run = _run_of(file, job, part_for(platform, npus), at)
        if run.plan.npus != len(npus):
            rule = f"must be as many as the plan has, {run.plan.npus}"
            raise ConfigError(f"{at}.npus", rule, got=len(npus))
        start_ns = round(job.start_s * 1e9)
        times = {"start_ns": start_ns, "iterations": job.iterations}
        runs.append(JobRun(name=name, run=run, npus=tuple(npus), **times))
    return Jobs(file=file, platform=platform, runs=tuple(runs))


def _allocated(job: Job, platform: Platform, taken: Mapping[int, str], at: str) -> list[int]:
    degrees = [job.plan.get(axis, 1) for axis in ("tp", "cp", "pp", "dp")]
    count = 1
    for degree in degrees:
        count *= degree if type(degree) is int and degree > 0 else 1
    free = [npu for npu in range(platform.npus) if npu not in taken]
    place = f"{at}.npus"
    found = job.npus.allocate(free, count, place)
    if len(found) < 2:
        raise ConfigError(place, "must be 2 NPUs or more", got=len(found))
    for npu in found:
        if not 0 <= npu < platform.npus:
            rule = f"must be NPUs of the machine, 0 to {platform.npus - 1}"
            raise ConfigError(place, rule, got=npu)
        if npu in taken:
            rule = f"must be NPUs that no other job has, but {taken[npu]!r} has this one"
            raise ConfigError(place, rule, got=npu)
    return found


def _run_of(file: JobsFile, job: Job, platform: Platform, at: str) -> Run:
    """Run of a job on its own machine."""
    given = {key: getattr(job, key) for key in _OF_RUN if getattr(job, key) is not None}
    table = {"system": file.system, **given, "platform": platform, "backend": file.backend}
    try:
        return load_run(table)
    except ConfigError as error:
        raise error if error.names_file else error.under(at) from None
