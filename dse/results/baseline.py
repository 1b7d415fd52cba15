"""The baseline: the run of a study as its file has it, which designs are held against."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from dse.evaluate import Evaluation, Evaluator
from dse.evaluate.base import evaluate
from dse.study.compile import Study
from dse.study.trials import Trial
from simcore import ConfigError, get_path

BASELINE = "baseline"
"""Entry of ``summary.json``."""

NO_TRIAL = -1
"""Number of the baseline, which nobody proposed."""


def baseline_summary(study: Study, evaluator: Evaluator) -> dict[str, Any]:
    """Entry ``baseline`` of ``summary.json``; nothing where ``run`` alone is no design.

    Args:
        study: With the goals.
        evaluator: Of the level that the front was judged at.
    """
    if evaluator.template is None:
        return {}
    found = evaluate(evaluator, study.goals, {})
    if found.state == "failed":  # a run that is complete with its knobs only
        return {}
    return {
        BASELINE: {
            "state": found.state,
            "reason": found.reason,
            "fidelity": found.fidelity,
            "objectives": dict(found.objectives),
            "metrics": dict(found.metrics),
        }
    }


def baseline_of(summary: Mapping[str, Any]) -> Trial | None:
    """The baseline that *summary* tells of."""
    told = summary.get(BASELINE)
    if not isinstance(told, dict):
        return None
    return Trial(number=NO_TRIAL, design={}, evaluation=Evaluation(**told))


def run_values(study: Study) -> dict[str, object]:
    """Values that the run has for the knobs, as its file says them; none for those it lacks."""
    run, found = study.evaluator_input.run, dict[str, object]()
    for name in study.space.parameters:
        whole, _, _ = name.rpartition("[") if name.endswith("]") else (name, "", "")
        for path in (name, whole):  # one word may stand for all entries of a list
            with suppress(ConfigError):
                found.setdefault(name, get_path(run, path))
    return {name: value for name, value in found.items() if not isinstance(value, list | dict)}
