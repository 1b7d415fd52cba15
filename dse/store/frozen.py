"""Rows of a study as trials of Optuna: parameters, values, constraints, states, times, reasons."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from dse.evaluate import Evaluation
from dse.samplers.look import knob_distribution
from dse.study.compile import Study
from dse.study.trials import Trial

CONSTRAINTS = "constraints"
"""Key under which Optuna keeps excesses over limits, 0 or less where these hold."""

Shown = tuple[str, float]
"""Name under which a quantity is shown, and the unit shown, in base units."""


class FrozenRows:
    """Makes trials of Optuna out of rows.

    An infeasible design is a complete trial that breaks a constraint, with infinitely bad values
    where it was not simulated, or a pruned one where that is asked for; one that is proven to be
    beaten is pruned; a failed one failed. The attribute ``status`` has the study's own word,
    ``reason`` says why.
    """

    def __init__(
        self,
        study: Study,
        knobs: Mapping[str, Shown] | None = None,
        objectives: Mapping[str, Shown] | None = None,
        *,
        bars_infeasible: bool = False,
    ) -> None:
        """Set how rows are to be seen.

        Args:
            study: Theirs.
            knobs: How knobs are shown; left out: as they are, in base units.
            objectives: The same for objectives.
            bars_infeasible: Whether designs that break a limit are pruned trials without values,
                for readers that choose a front by values alone and draw infinite ones as words;
                what was found of them are attributes then.
        """
        self._bars = bars_infeasible
        parameters, goals = study.space.parameters, study.goals
        knobs = knobs or {}
        self._knobs = {
            name: (*knobs.get(name, (name, 1.0)), parameter.is_ordered or parameter.is_continuous)
            for name, parameter in parameters.items()
        }
        self._distributions = {
            self._knobs[name][0]: knob_distribution(parameter, self._knobs[name][1])
            for name, parameter in parameters.items()
        }
        shown = objectives or {}
        self._units = {name: shown.get(name, (name, 1.0)) for name in goals.objectives}
        self._worst = [sign * math.inf for sign in goals.signs]
        self.names = [name for name, _ in self._units.values()]

    def trial(self, row: Trial, number: int, trial_id: int, end_s: float | None) -> FrozenTrial:
        """The trial that *row* is, as *number*; its evaluation ended at *end_s* of Unix time."""
        found = row.evaluation
        state, values = self._outcome(found)
        params = self._params(row)
        excesses = list(found.constraints.values()) or [float(row.state == "infeasible")]
        return FrozenTrial(
            trial_id=trial_id,
            number=number,
            state=state,
            value=None,
            values=values,
            datetime_start=_time(end_s, found.duration_s),
            datetime_complete=_time(end_s, 0.0),
            params=params,
            distributions={name: self._distributions[name] for name in params},
            user_attrs=_about(row) | self._barred(found),
            system_attrs={CONSTRAINTS: excesses},
            intermediate_values={},
        )

    def _params(self, row: Trial) -> dict[str, Any]:
        params: dict[str, Any] = {}
        for name, value in row.design.items():
            shown, unit, is_number = self._knobs[name]
            params[shown] = float(value) / unit if is_number and unit != 1.0 else value
        return params

    def _outcome(self, found: Evaluation) -> tuple[TrialState, list[float] | None]:
        if found.state == "failed":
            return TrialState.FAIL, None
        if found.state == "pruned" or (self._bars and found.state == "infeasible"):
            return TrialState.PRUNED, None
        if not found.objectives:
            return TrialState.COMPLETE, self._worst
        return TrialState.COMPLETE, list(self._values(found).values())

    def _values(self, found: Evaluation) -> dict[str, float]:
        return {shown: found.objectives[name] / unit for name, (shown, unit) in self._units.items()}

    def _barred(self, found: Evaluation) -> dict[str, float]:
        is_barred = self._bars and found.state == "infeasible" and found.objectives
        return self._values(found) if is_barred else {}


def _time(end_s: float | None, before_s: float) -> datetime | None:
    return None if end_s is None else datetime.fromtimestamp(end_s - before_s)


def _about(row: Trial) -> dict[str, Any]:
    found = row.evaluation
    about: dict[str, Any] = {"status": row.state}
    about |= {"reason": found.reason} if found.reason else {}
    about |= {"failure": found.failure} if found.failure else {}
    about |= {f"excess of {name}": value for name, value in found.constraints.items()}
    about |= {"worker": row.worker} if row.worker else {}
    about |= {"repeats": row.repeats} if row.repeats is not None else {}
    return about | ({"notes": "; ".join(found.notes)} if found.notes else {})
