"""``dse check --time``: what the run of a study reaches by itself, and how long the study takes."""

from collections.abc import Iterator

from dse.evaluate import build_evaluator
from dse.report.amounts import show_objective
from dse.results.baseline import baseline_of, baseline_summary
from dse.run.estimate import estimate
from dse.study.compile import Study
from simcore import files_kept


def try_out(study: Study) -> Iterator[tuple[str, str]]:
    """Lines on what *study* does where it is tried out for some seconds, each with its name."""
    for told in _run_by_itself(study):
        yield "the run by itself", told
    if (found := estimate(study)) is not None:
        yield "time", str(found)


def _run_by_itself(study: Study) -> Iterator[str]:
    """Values of the run without any knob, or why it cannot be; nothing where it is no design."""
    judged = study.judged_at(study.levels[0]) if study.levels else study
    with files_kept(study.files):
        baseline = baseline_of(baseline_summary(study, build_evaluator(judged.evaluator_input)))
    if baseline is None:
        return
    values = baseline.evaluation.objectives.items()
    told = ", ".join(show_objective(name, value) for name, value in values)
    yield told if baseline.is_feasible else f"infeasible: {baseline.evaluation.reason}"
