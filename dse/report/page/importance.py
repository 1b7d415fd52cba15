"""Importance of knobs for each objective, as Optuna's PED-ANOVA has it."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.fidelity.compare import searched_rows
from dse.objectives import OBJECTIVES
from dse.report.amounts import plain, short_names
from dse.results.result import StudyResult
from dse.samplers.look import knob_distribution
from dse.study.trials import Trial

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

FEWEST, MOST = 50, 1500
"""Feasible designs below which nothing is told, and of which a sample decides where more are known.
A tenth of them are the good ones; the estimate wants five at least."""

SHOWN = 12
"""Knobs that are shown, the most important first."""


def importance(result: StudyResult) -> list[dict[str, Any]]:
    """Share of each knob in what makes the best tenth of the designs differ from all, by objective.

    Nothing where too few designs are feasible, or where an objective is the same in all.

    Source: S. Watanabe, A. Bansal, F. Hutter, "PED-ANOVA: Efficiently Quantifying Hyperparameter
    Importance in Arbitrary Subspaces", IJCAI 2023.
    """
    found = searched_rows(result.study, result.rows)
    rows = [row for row in found if row.is_feasible and row.repeats is None]
    if len(rows) < FEWEST:
        return []
    places = np.linspace(0, len(rows) - 1, min(len(rows), MOST)).astype(np.int64)
    chosen = [rows[at] for at in places.tolist()]
    short = short_names(list(result.study.space.parameters))
    trials = _trials(result, chosen)
    told = []
    for name, sign in result.study.goals.signs_by_name.items():
        values = [sign * row.evaluation.objectives[name] for row in chosen]
        if len(set(values)) < 2:
            continue
        shares = sorted(_shares(trials, values).items(), key=lambda item: -item[1])
        told.append(
            {
                "objective": OBJECTIVES[name].label,
                "knobs": [plain(short[knob]) for knob, _ in shares[:SHOWN]],
                "shares": [round(share, 5) for _, share in shares[:SHOWN]],
                "names": [knob for knob, _ in shares],
            }
        )
    return told


def _trials(result: StudyResult, rows: Sequence[Trial]) -> "list[FrozenTrial]":
    """*rows* as Optuna sees them, without their values."""
    from optuna.trial import create_trial

    parameters = result.study.space.parameters
    laid = {
        name: knob_distribution(knob)
        for name, knob in parameters.items()
        if len({repr(row.design.get(name)) for row in rows}) > 1
    }
    trials = []
    for row in rows:
        params = {name: row.design[name] for name in laid if row.design.get(name) is not None}
        own = {name: laid[name] for name in params}
        trials.append(create_trial(value=0.0, params=params, distributions=own))
    return trials


def _shares(trials: "Sequence[FrozenTrial]", values: Sequence[float]) -> dict[str, float]:
    """Shares by knob of *trials* with these *values*; they sum to 1."""
    import optuna
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    from dse.samplers.storage import TrialStorage

    for trial, value in zip(trials, values, strict=True):
        trial.value = value
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(storage=TrialStorage())  # which makes no deep copies
    finally:
        optuna.logging.set_verbosity(verbosity)
    study.add_trials(trials)
    with warnings.catch_warnings():
        # a value that one design alone has is said to be little evidence, once for each knob
        warnings.simplefilter("ignore", UserWarning)
        found = get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
    return {name: float(share) for name, share in found.items()}
