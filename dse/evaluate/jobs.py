"""Evaluates designs by simulating jobs that share a machine, and pricing the machine."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import simcore
from dse.evaluate.base import Account, Evaluator, EvaluatorInput
from dse.evaluate.designs.run_check import (
    KnobChecker,
    check_goals,
    check_kernel_times,
    errors_named_for_run,
)
from dse.evaluate.designs.runs import FilledDesigns
from dse.evaluate.money import CostMeter
from dse.evaluate.priced import PricedMachine
from dse.evaluate.trusted import fills, little_known
from dse.objectives import COST_METRICS
from dse.space import Check, Design
from simcore import (
    BACKENDS,
    ConfigError,
    InfeasibleError,
    Jobs,
    JobsTemplate,
    Run,
    RunChecks,
    plain_sum,
    unbuildable,
)

METRICS = COST_METRICS - {"energy_j"} | {
    "tokens_per_s",
    "tokens_per_s_per_npu",
    "footprint_bytes",
    "memory_fill",
    "memory_fill_expected",
    "memory_fill_highest",
}
"""Metrics of all jobs together that objectives are made of."""

GIVES = (
    "makespan_s",
    "mean_iteration_s",
    "worst_slowdown_ratio",
    "mean_slowdown_ratio",
    "shared_link_s",
)
"""Metrics of all jobs together that objectives may name as such."""

OF_EACH = ("iteration_s", "alone_s", "slowdown_ratio", "end_s")
"""Ends of the names of each job's metrics, after its own name."""

_NPUS_OF_JOB = re.compile(r"jobs\[\d+\]\.npus")
_RULE = "npus_of_jobs"


def job_words(names: Sequence[str]) -> list[str]:
    """Start of the metrics' names of each job: its *name* with ``_`` for what no word has."""
    words = [re.sub(r"\W", "_", name) for name in names]
    return [word if word.isidentifier() else f"job_{word}" for word in words]


class DesignJobs(FilledDesigns[Jobs]):
    """The jobs of a study whose ``run`` is a file of jobs."""

    def __init__(self, what: EvaluatorInput) -> None:
        super().__init__(what, lambda run, beside: JobsTemplate.from_table(run, beside=beside))

    def run(self, design: Design) -> Jobs:
        with _npus_hang_on_all_knobs():
            return super().run(design)

    def partial_run(self, design: Design, kept: Sequence[int]) -> Jobs:
        with _npus_hang_on_all_knobs():
            return super().partial_run(design, kept)


@contextmanager
def _npus_hang_on_all_knobs() -> Iterator[None]:
    """Let NPUs that jobs do not get break a rule of designs: each value by itself is right."""
    try:
        yield
    except ConfigError as error:
        if error.names_file or not _NPUS_OF_JOB.fullmatch(error.at):
            raise
        raise InfeasibleError(_RULE, str(error)) from None


class JobsEvaluator(Evaluator):
    """Names in the file and prices are read once; what is alike in designs is simulated once."""

    template = JobsTemplate
    gives = GIVES

    def __init__(self, what: EvaluatorInput) -> None:
        super().__init__(what)
        with errors_named_for_run():
            self._designs = DesignJobs(what)
        self._checks = RunChecks()
        self._margin = what.goals.memory_margin
        self._meter = CostMeter.of(what)
        self.fidelity = str(what.run.get("backend", "flow"))

    @classmethod
    def gives_of(cls, run: Mapping[str, Any]) -> tuple[str, ...]:
        told = run.get("jobs")
        jobs = told if isinstance(told, list | tuple) else ()
        names = [
            str((isinstance(job, Mapping) and job.get("name")) or f"job {number}")
            for number, job in enumerate(jobs)
        ]
        return (*cls.gives, *(f"{word}_{end}" for word in job_words(names) for end in OF_EACH))

    @cached_property
    def _simulator(self) -> "simcore.JobsSimulator":
        """The simulator, of which a check has no need."""
        return simcore.JobsSimulator()

    def prepare(self) -> None:
        _ = self._simulator

    def jobs(self, design: Design) -> Jobs:
        """The jobs that *design* means.

        Raises:
            ConfigError: A value that the file does not allow.
            InfeasibleError: A job does not get its NPUs, or its plan does not fit its workload.
        """
        return self._designs.run(design)

    def account(self, design: Design) -> Account:
        jobs = self.jobs(design)
        self._check(jobs)
        result = self._simulator.simulate(jobs.with_share(self.input.bandwidth))
        fits = [self._fit(one.run) for one in jobs.runs]
        metrics = _metrics(jobs, result)
        metrics["footprint_bytes"] = float(max(fit.held_bytes for fit in fits))
        metrics |= fills(*fits)
        if self._meter is not None:
            metrics |= self._meter.metrics(jobs.platform, 1 / metrics["tokens_per_s"], 1)
        notes = [f"{job.name}: {job.note}" for job in result.jobs if job.note]
        return Account(metrics, (*notes, *(fit.reason for fit in fits if fit.is_short)))

    def _fit(self, run: Run) -> "simcore.MemoryFit":
        return self._checks.fit(run.workload, run.platform, run.plan)

    def _check(self, jobs: Jobs) -> None:
        """Check the machine, and each job's structure, and memory if the study says so.

        Raises:
            InfeasibleError: A rule is broken; names the job.
        """
        if self.input.physical and (error := unbuildable(jobs.platform)):
            raise error
        bounded, margin = self._margin is not None, self._margin or 0.0
        for job in jobs.runs:
            try:
                self._checks.check(job.run, memory=bounded, margin=margin)
            except InfeasibleError as error:
                raise InfeasibleError(error.rule, f"{job.name}: {error.reason}") from None

    def checks(self) -> Sequence[Check]:
        names = (name for name in self.input.parameters if ".placement" not in name)
        return [Check(holds=self._fits, deciding=frozenset(names))]

    def _fits(self, design: Design) -> bool:
        try:
            self._check(self.jobs(design))
        except InfeasibleError:
            return False
        return True

    def priced(self, design: Design, metrics: Mapping[str, float]) -> PricedMachine | None:
        return PricedMachine(self.jobs(design).platform, 1 / metrics["tokens_per_s"], 1)

    def runs(self, design: Design) -> Mapping[str, Run]:
        return {job.name: job.run for job in self.jobs(design).runs}

    def measured_against(self, design: Design) -> str:
        return "not validated here: no runs were measured of jobs that share links"

    def accelerator(self, design: Design) -> str:
        return little_known(self.jobs(design).platform.npu)

    def check(self) -> None:
        names = self.gives_of(self.input.run)
        check_goals(self.input, METRICS, "a study of jobs", names)
        jobs = KnobChecker(self.input, DesignJobs).check()
        with errors_named_for_run():
            _check_words(jobs)
            for job in jobs.runs:
                job.run.platform.npu.peak(job.run.workload.precision)
                check_kernel_times(job.run)
        self._check_backends()

    def _check_backends(self) -> None:
        """See whether messages of jobs meet on every backend.

        Raises:
            ConfigError: On one they do not.
        """
        for name, knob in self.input.parameters.items():
            for choice in knob.choices if "backend" in (knob.targets or (name,)) else ():
                if not BACKENDS[str(choice)].messages_meet:
                    rule = "must be one in which messages of jobs meet, such as flow"
                    raise ConfigError(f"space: {name}", rule, got=choice)


def _check_words(jobs: Jobs) -> None:
    """See whether each job has names of metrics of its own.

    Raises:
        ConfigError: Two have the same.
    """
    words = job_words([job.name for job in jobs.runs])
    for number, word in enumerate(words):
        if word in words[:number]:
            rule = f"must differ from other jobs' in letters or digits, for metrics of {word}"
            raise ConfigError(f"jobs[{number}].name", rule, got=jobs.runs[number].name)


def _metrics(jobs: Jobs, result: "simcore.JobsResult") -> dict[str, float]:
    """Times of all jobs and of each."""
    each = result.jobs
    ends = [job.start_s + plain_sum(job.iterations_s) for job in each]
    slowdowns = [job.slowdown for job in each]
    tokens = [
        one.run.workload.tokens / job.together_s for one, job in zip(jobs.runs, each, strict=True)
    ]
    found = {
        "makespan_s": max(ends),
        "mean_iteration_s": plain_sum(job.together_s for job in each) / len(each),
        "worst_slowdown_ratio": max(slowdowns),
        "mean_slowdown_ratio": plain_sum(slowdowns) / len(each),
        "shared_link_s": max((link.kept_s for link in result.links), default=0.0),
        "tokens_per_s": plain_sum(tokens),
        "tokens_per_s_per_npu": plain_sum(tokens) / sum(len(job.npus) for job in each),
    }
    for word, job, end_s in zip(job_words([job.name for job in each]), each, ends, strict=True):
        values = job.together_s, job.alone_s, job.slowdown, end_s
        found |= {f"{word}_{end}": value for end, value in zip(OF_EACH, values, strict=True)}
    return found
