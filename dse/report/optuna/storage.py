"""A stored study as Optuna's, for optuna-dashboard and Optuna's own plots: to look at, live."""

import math
import threading
import time
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any, NoReturn

from optuna.storages import BaseStorage
from optuna.study import StudyDirection
from optuna.study._frozen import FrozenStudy
from optuna.trial import FrozenTrial, TrialState

from dse.objectives import OBJECTIVES
from dse.report.amounts import plain, said_unit
from dse.space import Parameter
from dse.store.errors import STORE
from dse.store.folder import StudyFolder
from dse.store.frozen import FrozenRows, Shown
from dse.store.reader import StoreReader, reading
from dse.store.rows import Row, Total, end_of, trials_of
from dse.store.unpacked import Unpacked
from dse.study.compile import Study, load_study_file
from simcore import FACTORS, ConfigError, format_quantity

_LEVEL = 1 << 40
"""Ids of the trials of one level; more than a study has."""

_FRESH_S = 0.5
"""Age up to which what has been read is not read again."""

METRIC_NAMES = "study:metric_names"
"""Key under which Optuna keeps the names of objectives."""


class StoredStudy(BaseStorage):
    """The store in a folder, read as it grows, beside the process that writes it.

    Each fidelity is a study of its own. Trial i of the first one is row i; rows that are not there
    yet, below others that are, are under way.
    """

    def __init__(self, folder: Path | str) -> None:
        """Open the study in *folder*.

        Raises:
            ConfigError: There is none, or it is damaged.
        """
        found = StudyFolder(Path(folder))
        if not found.holds_study:
            raise ConfigError("DIR", "must be the folder of a study", got=str(folder))
        self._study = load_study_file(found.study_file())
        self._path = found.path / STORE
        self._name = found.path.resolve().name
        self._frozen = shown_rows(self._study, bars_infeasible=True)
        self._levels = self._study.levels or ("",)
        self._first = _FirstLevel(self._frozen)
        self._finer: dict[int, list[FrozenTrial]] = {}
        self._refined = Total()
        self._unpacked = Unpacked()
        self._lock, self._read_s = threading.Lock(), -math.inf

    def _trials(self, study_id: int) -> list[FrozenTrial]:
        self._check(study_id)
        with self._lock:
            if time.monotonic() - self._read_s >= _FRESH_S:
                with reading(self._path, self._unpacked) as store:
                    self._first.follow(store)
                    self._follow_finer(store)
                self._read_s = time.monotonic()
            return list(self._finer.get(study_id, ()) if study_id else self._first.trials)

    def _follow_finer(self, store: StoreReader) -> None:
        if store.total("refined") == self._refined:
            return
        rows = store.refined_rows()
        self._refined, self._finer = store.total("refined"), {}
        for row, found in zip(rows, trials_of(rows), strict=True):
            level = self._levels.index(found.evaluation.fidelity)
            known = self._finer.setdefault(level, [])
            number = len(known)
            trial = self._frozen.trial(found, number, level * _LEVEL + number, end_of(row))
            trial.set_user_attr("trial", found.number)
            known.append(trial)

    def _check(self, study_id: int) -> None:
        if not 0 <= study_id < len(self._levels):
            raise KeyError(f"no study {study_id}")

    def get_study_id_from_name(self, study_name: str) -> int:
        names = [self.get_study_name_from_id(at) for at in range(len(self._levels))]
        if study_name not in names:
            raise KeyError(f"no study {study_name}")
        return names.index(study_name)

    def get_study_name_from_id(self, study_id: int) -> str:
        self._check(study_id)
        return f"{self._name}, judged again: {self._levels[study_id]}" if study_id else self._name

    def get_study_directions(self, study_id: int) -> list[StudyDirection]:
        signs = self._study.goals.signs
        return [StudyDirection.MINIMIZE if s > 0 else StudyDirection.MAXIMIZE for s in signs]

    def get_study_user_attrs(self, study_id: int) -> dict[str, Any]:
        file, level = self._study.file, self._levels[study_id]
        about = {"question": file.question, "sampler": file.search.sampler, "seed": file.seed}
        return about | ({"fidelity": level} if level else {})

    def get_study_system_attrs(self, study_id: int) -> dict[str, Any]:
        return {METRIC_NAMES: self._frozen.names}

    def get_all_studies(self) -> list[FrozenStudy]:
        return [
            FrozenStudy(
                self.get_study_name_from_id(at),
                None,
                self.get_study_user_attrs(at),
                self.get_study_system_attrs(at),
                at,
                directions=self.get_study_directions(at),
            )
            for at in range(len(self._levels))
        ]

    def get_trial(self, trial_id: int) -> FrozenTrial:
        level, number = divmod(trial_id, _LEVEL)
        return self._trials(level)[number]

    def get_trial_id_from_study_id_trial_number(self, study_id: int, trial_number: int) -> int:
        return self._trials(study_id)[trial_number]._trial_id

    def get_all_trials(
        self,
        study_id: int,
        deepcopy: bool = True,
        states: Container[TrialState] | None = None,
    ) -> list[FrozenTrial]:
        trials = self._trials(study_id)
        return trials if states is None else [trial for trial in trials if trial.state in states]

    def _refuse(self, *given: object, **named: object) -> NoReturn:
        raise ConfigError(
            "the study", "can be looked at, and is not changed this way", got="a change"
        )

    create_new_study = delete_study = set_study_user_attr = set_study_system_attr = _refuse
    create_new_trial = set_trial_param = set_trial_state_values = _refuse
    set_trial_intermediate_value = set_trial_user_attr = set_trial_system_attr = _refuse


class _FirstLevel:
    """Trials of the first level, in the order of their numbers.

    Attributes:
        trials: Trial i at place i.
    """

    def __init__(self, frozen: FrozenRows) -> None:
        self._frozen = frozen
        self.trials: list[FrozenTrial] = []
        self._checksums: list[int] = []  # of the rows without a gap
        self._total = Total()

    def follow(self, store: StoreReader) -> None:
        """Take in what has come since; all anew where rows have changed or gone."""
        total = store.total()
        if total == self._total:
            return
        known = len(self._checksums)
        rows = store.rows_from(known)
        if Total(known, sum(self._checksums)).plus(rows) != total:
            known, self._checksums = 0, []
            rows = store.rows_from(0)
        self._total = total
        self._take(known, rows)

    def _take(self, first: int, rows: Sequence[Row]) -> None:
        del self.trials[first:]
        for row, found in zip(rows, trials_of(rows), strict=True):
            for number in range(len(self.trials), found.number):
                self.trials.append(_under_way(number))
            self.trials.append(self._frozen.trial(found, found.number, found.number, end_of(row)))
            if len(self._checksums) == found.number:
                self._checksums.append(row[0])


def _under_way(number: int) -> FrozenTrial:
    """A trial whose evaluation has not come in yet."""
    return FrozenTrial(number, TrialState.RUNNING, None, None, None, {}, {}, {}, {}, {}, number)


def shown_rows(study: Study, *, bars_infeasible: bool = False) -> FrozenRows:
    """Rows of *study* as trials of Optuna, with the units that people use in all names."""
    return FrozenRows(
        study,
        {name: _shown_knob(knob) for name, knob in study.space.parameters.items()},
        {name: _shown_objective(name) for name in study.goals.objectives},
        bars_infeasible=bars_infeasible,
    )


def _shown_knob(knob: Parameter) -> Shown:
    """The name of a knob with its unit: that of its largest value, for all of them."""
    if knob.unit is None or not (knob.is_ordered or knob.is_continuous):
        return knob.name, 1.0
    largest = knob.high if knob.is_continuous else max(float(c) for c in knob.choices)
    unit = format_quantity(largest, knob.unit).partition(" ")[2]
    return f"{knob.name} [{unit}]", FACTORS[knob.unit][unit]


def _shown_objective(name: str) -> Shown:
    factor, unit = said_unit(OBJECTIVES[name].unit)
    label = plain(name)
    return (f"{label} [{unit}]" if unit else label), 1.0 / factor
