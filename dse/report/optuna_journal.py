"""A part of a study as a journal of Optuna's, for optuna-dashboard and Optuna's own plots."""

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from dse.result import StudyResult
from dse.space import Parameter
from dse.trials import Trial

if TYPE_CHECKING:
    import optuna

NEWEST, SAMPLED = 2000, 2000
"""Trials beside the front: a dashboard takes about 4 kB of each, and seconds for thousands."""


def write_journal(result: StudyResult, path: Path) -> None:
    """Write the front, the newest trials and a sample of the others, in ask order.

    Designs that were not evaluated are failed trials there; infeasible ones have the attribute
    ``feasible: false``, since Optuna has no state for them.
    """
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    path.unlink(missing_ok=True)
    try:
        senses = result.study.goals.signs
        study = optuna.create_study(
            storage=JournalStorage(JournalFileBackend(str(path))),
            study_name=path.name.removeprefix(".").removesuffix(".part"),
            directions=["minimize" if sign > 0 else "maximize" for sign in senses],
        )
        study.set_user_attr("objectives", list(result.study.goals.objectives))
        study.add_trials([_frozen(result, trial) for trial in _chosen(result)])
    finally:
        optuna.logging.set_verbosity(verbosity)
        Path(f"{path}.lock").unlink(missing_ok=True)


def _chosen(result: StudyResult) -> list[Trial]:
    rows = [row for row in result.rows if row.repeats is None]
    front = {result.rows[index].number for index in result.front}
    older = rows[:-NEWEST]
    sample = Random(0).sample(older, min(SAMPLED, len(older)))
    numbers = front | {row.number for row in rows[-NEWEST:]} | {row.number for row in sample}
    return [row for row in rows if row.number in numbers]


def _frozen(result: StudyResult, trial: Trial) -> "optuna.trial.FrozenTrial":
    from optuna.trial import TrialState, create_trial

    found, parameters = trial.evaluation, result.study.space.parameters
    about: dict[str, Any] = {"number": trial.number, "feasible": trial.is_feasible}
    about |= {"state": trial.state, "reason": found.reason} if found.reason else {}
    about |= {f"violation_{name}": value for name, value in found.constraints.items()}
    names = result.study.goals.objectives
    values = [found.objectives[name] for name in names] if found.objectives else None
    return create_trial(
        state=TrialState.FAIL if values is None else TrialState.COMPLETE,
        values=values,
        params=dict(trial.design),
        distributions={name: _distribution(parameters[name]) for name in trial.design},
        user_attrs=about,
    )


def _distribution(parameter: Parameter) -> "optuna.distributions.BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    if parameter.is_continuous:
        return FloatDistribution(parameter.low, parameter.high, log=parameter.log)
    return CategoricalDistribution(parameter.choices)
