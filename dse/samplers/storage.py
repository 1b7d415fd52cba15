"""Trials of one Optuna study in the process of its search, so lean that asking costs little."""

import copy
from array import array
from bisect import bisect_left
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.exceptions import DuplicatedStudyError
from optuna.storages import BaseStorage
from optuna.study import StudyDirection
from optuna.study._frozen import FrozenStudy
from optuna.trial import FrozenTrial, TrialState

STUDY_ID = 0
"""Number of the one study of a storage."""
ASIDE = "dse:aside"
"""Attribute of a trial put aside. Its number is that of the row before it, for samplers read
trials in the order of asking, in which numbers do not fall."""

_WAITING = (TrialState.WAITING,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """Outcome that open trials are shown with, as if they were finished.

    Attributes:
        values: Their objectives.
        attrs: Their system attributes beside those that they have.
        most: Trials that are shown so, the latest ones; the other open ones are not shown.
    """

    values: Sequence[float]
    attrs: Mapping[str, Any]
    most: int


class TrialStorage(BaseStorage):
    """The trials of one study, numbered in ask order.

    A trial that the search turns down is *put aside*: samplers go on seeing it, but its number is
    free again, so that trial i of the study is row i of the search. No trial is copied on its way
    to a sampler, and all parameters of a trial take one call (``set_trial_params``).

    Attributes:
        keeps_finished: Whether finished trials are kept here as Optuna sees them; if not, they are
            made anew where somebody asks for one (``finished_trial``).
        belief: What open trials with parameters are shown as; None: as they are.
    """

    def __init__(self) -> None:
        self._name: str | None = None
        self._directions: list[StudyDirection] = []
        self._attrs: tuple[dict[str, Any], dict[str, Any]] = {}, {}  # of users, of the system
        self._ids = array("q")  # by number; they rise
        self._next_id = 0
        self._kept: dict[int, FrozenTrial] = {}  # by id, in ask order, with those put aside
        self._waiting: list[FrozenTrial] = []
        self.keeps_finished = True
        self.belief: Belief | None = None
        self._done: int | None = None  # id of a finished trial that is not to be kept

    def set_trial_params(
        self,
        trial_id: int,
        params: Mapping[str, Any],
        distributions: Mapping[str, BaseDistribution],
    ) -> None:
        """Give an open trial all its parameters at once, in place of any that it had."""
        trial = self._open(trial_id)
        trial.params = dict(params)
        trial.distributions = {name: distributions[name] for name in params}

    def correct_values(self, trial_id: int, values: Sequence[float]) -> None:
        """Give a finished trial that is kept here other values."""
        self._kept[trial_id].values = list(values)

    def put_aside(self, number: int) -> None:
        """Take its number from the last trial, which samplers go on seeing."""
        trial = self._kept[self._last(number)]
        trial.number = number - 1
        trial._system_attrs[ASIDE] = True

    def forget(self, number: int) -> None:
        """Undo the last trial, which nothing has been proposed for."""
        del self._kept[self._last(number)]

    def _last(self, number: int) -> int:
        assert number == len(self._ids) - 1, "only the last trial can be taken back"
        return self._ids.pop()

    def recall(self, count: int) -> None:
        """Begin behind *count* finished trials that are not kept here."""
        self._ids = array("q", range(count))
        self._next_id = count

    def finished_trial(self, number: int) -> FrozenTrial:
        """A finished trial that is not kept here."""
        raise KeyError(f"no trial {number}")

    # what Optuna asks of a storage: studies

    def create_new_study(
        self, directions: Sequence[StudyDirection], study_name: str | None = None
    ) -> int:
        if self._name is not None:
            raise DuplicatedStudyError("this storage holds one study")
        self._name, self._directions = study_name or "study", list(directions)
        return STUDY_ID

    def delete_study(self, study_id: int) -> None:
        raise NotImplementedError("the trials of a running study stay")

    def set_study_user_attr(self, study_id: int, key: str, value: Any) -> None:
        self._attrs[0][key] = value

    def set_study_system_attr(self, study_id: int, key: str, value: Any) -> None:
        self._attrs[1][key] = value

    def get_study_id_from_name(self, study_name: str) -> int:
        if study_name != self._name:
            raise KeyError(f"no study {study_name}")
        return STUDY_ID

    def get_study_name_from_id(self, study_id: int) -> str:
        if self._name is None:
            raise KeyError(f"no study {study_id}")
        return self._name

    def get_study_directions(self, study_id: int) -> list[StudyDirection]:
        return self._directions

    def get_study_user_attrs(self, study_id: int) -> dict[str, Any]:
        return self._attrs[0]

    def get_study_system_attrs(self, study_id: int) -> dict[str, Any]:
        return self._attrs[1]

    def get_all_studies(self) -> list[FrozenStudy]:
        if self._name is None:
            return []
        users, system = self._attrs
        return [FrozenStudy(self._name, None, users, system, STUDY_ID, directions=self._directions)]

    # what Optuna asks of a storage: trials

    def create_new_trial(self, study_id: int, template_trial: FrozenTrial | None = None) -> int:
        trial = _running() if template_trial is None else copy.copy(template_trial)
        trial.number, trial._trial_id = len(self._ids), self._next_id
        self._ids.append(self._next_id)
        self._next_id += 1
        self._kept[trial._trial_id] = trial
        if trial.state == TrialState.WAITING:
            self._waiting.append(trial)
        return trial._trial_id

    def set_trial_param(
        self,
        trial_id: int,
        param_name: str,
        param_value_internal: float,
        distribution: BaseDistribution,
    ) -> None:
        trial = self._open(trial_id)
        trial.params[param_name] = distribution.to_external_repr(param_value_internal)
        trial.distributions[param_name] = distribution

    def get_trial_id_from_study_id_trial_number(self, study_id: int, trial_number: int) -> int:
        if not 0 <= trial_number < len(self._ids):
            raise KeyError(f"no trial {trial_number}")
        return self._ids[trial_number]

    def set_trial_state_values(
        self, trial_id: int, state: TrialState, values: Sequence[float] | None = None
    ) -> bool:
        trial = self._open(trial_id)
        if state == TrialState.RUNNING:
            if trial.state != TrialState.WAITING:
                return False
            self._waiting.remove(trial)
            trial.datetime_start = datetime.now()
        trial.state = state
        if values is not None:
            trial.values = list(values)
        if state.is_finished():
            trial.datetime_complete = datetime.now()
            self._let_go()
            self._done = None if self.keeps_finished else trial_id
        return True

    def set_trial_intermediate_value(
        self, trial_id: int, step: int, intermediate_value: float
    ) -> None:
        self._open(trial_id).intermediate_values[step] = intermediate_value

    def set_trial_user_attr(self, trial_id: int, key: str, value: Any) -> None:
        self._open(trial_id)._user_attrs[key] = value

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        self._open(trial_id)._system_attrs[key] = value

    def get_trial(self, trial_id: int) -> FrozenTrial:
        found = self._kept.get(trial_id)
        if found is not None:
            return found
        number = bisect_left(self._ids, trial_id)
        if number == len(self._ids) or self._ids[number] != trial_id:
            raise KeyError(f"no trial with id {trial_id}")
        return self.finished_trial(number)

    def get_all_trials(
        self,
        study_id: int,
        deepcopy: bool = True,
        states: Container[TrialState] | None = None,
    ) -> list[FrozenTrial]:
        if states == _WAITING:  # as every ask wants to know
            return list(self._waiting)
        trials = self._all() if self.belief is None else self._believed(self.belief)
        if states is not None:
            trials = [trial for trial in trials if trial.state in states]
        return copy.deepcopy(trials) if deepcopy else trials

    def _all(self) -> list[FrozenTrial]:
        if len(self._kept) < len(self._ids):  # finished ones are made of rows; none is put aside
            return list(map(self.get_trial, self._ids))
        return list(self._kept.values())

    def _believed(self, belief: Belief) -> list[FrozenTrial]:
        trials = self._all()
        are_open = [t.state == TrialState.RUNNING and bool(t.params) for t in trials]
        hidden = are_open.count(True) - belief.most
        result = []
        for trial, is_open in zip(trials, are_open, strict=True):
            hidden -= is_open
            if is_open and hidden < 0:
                trial = copy.copy(trial)
                trial.state, trial.values = TrialState.COMPLETE, list(belief.values)
                trial._system_attrs = {**trial._system_attrs, **belief.attrs}
            elif is_open:
                continue
            result.append(trial)
        return result

    def _let_go(self) -> None:
        if self._done is not None:
            del self._kept[self._done]
            self._done = None

    def _open(self, trial_id: int) -> FrozenTrial:
        trial = self.get_trial(trial_id)
        self.check_trial_is_updatable(trial_id, trial.state)
        return trial


class _LeanTrial(FrozenTrial):
    """A trial whose deep copy shares what never changes: values of parameters, distributions."""

    def __deepcopy__(self, memo: dict[int, Any]) -> FrozenTrial:
        twin = _LeanTrial.__new__(_LeanTrial)
        twin.__dict__.update(self.__dict__)
        twin._params, twin._distributions = dict(self._params), dict(self._distributions)
        twin._user_attrs = copy.deepcopy(self._user_attrs, memo) if self._user_attrs else {}
        twin._system_attrs = copy.deepcopy(self._system_attrs, memo)
        twin.intermediate_values = dict(self.intermediate_values)
        return twin


def _running() -> FrozenTrial:
    return _LeanTrial(
        trial_id=-1,
        number=-1,
        state=TrialState.RUNNING,
        params={},
        distributions={},
        user_attrs={},
        system_attrs={},
        value=None,
        intermediate_values={},
        datetime_start=datetime.now(),
        datetime_complete=None,
    )
