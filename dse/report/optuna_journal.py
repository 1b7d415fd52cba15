"""A part of a study as a journal of Optuna's, for optuna-dashboard and Optuna's own plots."""

from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from dse.space import Parameter
from dse.study.compile import Study
from dse.study.trials import Trial

if TYPE_CHECKING:
    import optuna

NEWEST, SAMPLED = 2000, 2000
"""Trials beside the front: a dashboard takes about 4 kB of each, and seconds for thousands."""


def write_journal(study: Study, trials: Sequence[Trial], path: Path) -> None:
    """Write *trials*, in their order, as those of one study.

    Designs that were not evaluated are failed trials there; infeasible ones have the attribute
    ``feasible: false``, since Optuna has no state for them.
    """
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        written = optuna.create_study(
            storage=JournalStorage(JournalFileBackend(str(path))),
            study_name=path.name,
            directions=["minimize" if sign > 0 else "maximize" for sign in study.goals.signs],
        )
        written.set_user_attr("objectives", list(study.goals.objectives))
        written.add_trials([_frozen(study, trial) for trial in trials])
    finally:
        optuna.logging.set_verbosity(verbosity)


def chosen_numbers(numbers: Iterable[int], front: Iterable[int]) -> list[int]:
    """The *front*, the newest of *numbers* and a sample of the others, in ask order.

    Both sources are read once and never held: a study may have any number of trials.
    """
    newest: deque[int] = deque(maxlen=NEWEST)
    sample: list[int] = []
    random, older = Random(0), 0
    for number in numbers:
        if len(newest) == NEWEST:  # its oldest becomes one of the others
            older += 1
            place = len(sample) if len(sample) < SAMPLED else random.randrange(older)
            if place < SAMPLED:
                sample[place : place + 1] = [newest[0]]
        newest.append(number)
    return sorted({*front, *newest, *sample})


def _frozen(study: Study, trial: Trial) -> "optuna.trial.FrozenTrial":
    from optuna.trial import TrialState, create_trial

    found, parameters = trial.evaluation, study.space.parameters
    about: dict[str, Any] = {"number": trial.number, "feasible": trial.is_feasible}
    about |= {"state": trial.state, "reason": found.reason} if found.reason else {}
    about |= {f"violation_{name}": value for name, value in found.constraints.items()}
    names = study.goals.objectives
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
