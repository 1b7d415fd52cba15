"""Holds costs that an evaluator tells of machines beforehand against those that it measures."""

from math import isclose

from dse.proof.machines import PER_TIME, machines_of
from dse.study.compile import Study
from dse.study.trials import Trial
from simcore import InfeasibleError, SimulationError

_HELD = 16
"""Evaluated designs that are looked at: one that tells other costs does so in nearly all."""

_TOLERANCE = 1e-6
"""Relative; the same sum in another order differs by less."""


class ToldCosts:
    """Sees when costs that are known beforehand are not those of evaluated designs.

    What is concluded from them (designs that are left out, gaps) would be wrong.
    """

    def __init__(self, study: Study) -> None:
        self._study, self._left = study, 0 if study.goals.scenarios else _HELD

    def add(self, trial: Trial) -> None:
        """Look at one row, if it is among the first that were evaluated.

        Raises:
            SimulationError: A metric that was told is another one.
        """
        found = trial.evaluation
        if not self._left or trial.repeats is not None or not found.is_measured:
            return
        self._left -= 1
        told = machines_of(self._study).metrics(trial.design)
        time_s = found.metrics.get("iteration_time_s")
        if isinstance(told, InfeasibleError) or time_s is None:
            return
        for name, amount in told.items():
            expected = amount * time_s if name in PER_TIME else amount
            measured = found.metrics.get(name, expected)
            if not isclose(measured, expected, rel_tol=_TOLERANCE):
                raise SimulationError(
                    f"{self._study.file.evaluator} gives {measured:.6g} {name} in trial "
                    f"{trial.number}, but machine_costs told {expected:.6g} beforehand: it must "
                    "tell what account gives, or return None."
                )
