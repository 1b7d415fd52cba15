"""A trial of a study as a launch file, or as a run file."""

from pathlib import Path

from dse.evaluate.designs.runs import DesignRuns
from dse.evaluate.jobs import DesignJobs
from dse.evaluate.registry import EVALUATORS
from dse.evaluate.serving.evaluator import DesignServices
from dse.launch import TOOLS, Job
from dse.launch.base import refuse
from dse.launch.run_file import run_text
from dse.results.result import StudyResult
from dse.study.compile import Study
from dse.study.trials import Trial
from simcore import ConfigError, Jobs, JobsTemplate, Run, ServiceTemplate, files_kept

RUN = "run"
POOLS = ("prefill", "decode")


def trial_text(result: StudyResult, number: int, kind: str, *, pool: str | None = None) -> str:
    """The text that starts trial *number*.

    Args:
        result: The study.
        number: Of the trial.
        kind: ``run`` or a name of ``TOOLS``.
        pool: Which pool of a service is started.

    Raises:
        ConfigError: There is no such trial, or the tool cannot express something of it.
    """
    trial, study = _asked(result, number), result.study
    if kind != RUN and kind not in TOOLS:
        raise TOOLS.unknown(kind, at="--as")
    title = trial_title(result, number)
    if kind == RUN:
        with files_kept(study.files):
            return run_text(_filled(study), trial.design, title, Path(study.folder or "."))
    run = trial_run(result, number, pool=pool)
    if not trial.is_feasible:
        why = trial.evaluation.reason or "a limit is exceeded"
        rule = f"must be a feasible trial, which this one is not ({why.rstrip('.')})"
        raise ConfigError("TRIAL", rule, got=number)
    tool = TOOLS[kind]
    if tool.trains != run.workload.trains:
        able = [name for name, one in TOOLS.items() if one.trains == run.workload.trains]
        verb = "trains" if run.workload.trains else "serves"
        raise ConfigError("--as", f"must be {', '.join([RUN, *able])}: the study {verb}", got=kind)
    if run.plan.offload.tiers:
        refuse("plan.offload", "must be npu alone for launch files", run.plan.offload.tiers)
    return tool.text(Job(run=run, title=title, pool=pool or ""))


def trial_title(result: StudyResult, number: int) -> str:
    """Name of trial *number* and of its study."""
    of = result.folder.name if result.folder else result.study.file.question
    return f"trial {number} of {of}"


def trial_run(result: StudyResult, number: int, *, pool: str | None = None) -> Run:
    """The run that trial *number* means.

    Args:
        result: The study.
        number: Of the trial.
        pool: Which pool of a service.

    Raises:
        ConfigError: There is no such trial, or no such pool.
    """
    trial, study = _asked(result, number), result.study
    with files_kept(study.files):
        return _run(_filled(study).run(trial.design), pool)


def _filled(study: Study) -> DesignRuns | DesignServices | DesignJobs:
    template = EVALUATORS[study.file.evaluator].template
    what = study.evaluator_input
    if template is ServiceTemplate:
        return DesignServices(what)
    return DesignJobs(what) if template is JobsTemplate else DesignRuns(what)


def _run(found: object, pool: str | None) -> Run:
    """The run itself, or that of a service's pool."""
    if isinstance(found, Jobs):
        raise ConfigError("--as", f"must be {RUN}: the study has several jobs", got=len(found.runs))
    if isinstance(found, Run):
        if pool is not None:
            raise ConfigError("--pool", "must be left out: the study has no pools", got=pool)
        return found
    if pool not in POOLS:
        raise ConfigError("--pool", f"must be {' or '.join(POOLS)}, for a service", got=pool)
    chosen: Run = getattr(found, f"{pool}_run")
    return chosen


def _asked(result: StudyResult, number: int) -> Trial:
    rows = {row.number: row for row in result.rows}
    if not rows:
        raise ConfigError("TRIAL", "must be a trial, and the study has none yet", got=number)
    if number not in rows:
        raise ConfigError("TRIAL", f"must be one of the trials 0 to {max(rows)}", got=number)
    return rows[number]
