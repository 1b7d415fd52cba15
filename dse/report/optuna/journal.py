"""A part of a study as a journal of Optuna's, for optuna-dashboard and Optuna's own plots."""

from collections import deque
from collections.abc import Iterable
from pathlib import Path
from random import Random

from dse.report.optuna.storage import METRIC_NAMES, shown_rows
from dse.study.compile import Study
from dse.study.trials import Trial

NEWEST, SAMPLED = 2000, 2000
"""Trials beside the front: a dashboard takes about 4 kB of each, and seconds for thousands."""


def write_journal(study: Study, trials: Iterable[tuple[Trial, float]], path: Path) -> None:
    """Write *trials*, in their order, as those of one study, each with the time that it came in.

    States are those of ``FrozenRows``; the attribute ``number`` is that of the row.
    """
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    rows = shown_rows(study)
    storage = JournalStorage(JournalFileBackend(str(path)))
    try:
        written = optuna.create_study(
            storage=storage,
            study_name=path.name,
            directions=["minimize" if sign > 0 else "maximize" for sign in study.goals.signs],
        )
        written.set_user_attr("objectives", list(study.goals.objectives))
        storage.set_study_system_attr(written._study_id, METRIC_NAMES, rows.names)
        for row, end_s in trials:
            trial = rows.trial(row, row.number, row.number, end_s)
            trial.set_user_attr("number", row.number)
            written.add_trial(trial)
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
