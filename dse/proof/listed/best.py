"""Objectives of designs at best, where the evaluator knows metrics at best."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dse.evaluate import Evaluation, Evaluator
from dse.evaluate.failure import OwnCodeError, one_line, reason_of
from dse.objectives import Limit, Sense
from dse.proof.listed.checks import unknown_at_best
from dse.proof.prove import nothing_known
from dse.space import Design
from dse.study.compile import Study
from simcore import ConfigError, InfeasibleError, SimcoreError, SimulationError

_TOLERANCE = 1e-9
"""Relative; the same sum in another order differs by less."""


class BestObjectives:
    """Objectives of the designs of a study at best."""

    def __init__(self, study: Study, evaluator: Evaluator) -> None:
        """The study must be one that ``check_listed`` passes."""
        limits = tuple(limit for limit in study.goals.limits if _is_decided(study, limit))
        self._goals, self._evaluator = replace(study.goals, limits=limits), evaluator
        self._signs = np.array(study.goals.signs, np.float64)
        self._name = study.file.evaluator

    def of(self, design: Design) -> NDArray[np.float64] | None:
        """(objectives,) values with signs, so that less is better; None: it is not feasible.

        Of a design that cannot be evaluated nothing is known.

        Raises:
            OwnCodeError: Code from outside ended in another error than it should.
            SimulationError: A metric is not there, or is no finite number.
        """
        try:
            metrics = self._metrics(design)
        except InfeasibleError:
            return None
        except OwnCodeError:
            raise
        except (ConfigError, SimulationError):
            found: NDArray[np.float64] = nothing_known(self._goals.signs)[0]
            return found
        try:
            if any(excess > 0 for excess in self._goals.violations(metrics).values()):
                return None
            return np.array([*self._goals.values(metrics).values()]) * self._signs
        except SimulationError as error:
            raise SimulationError(f"best_metrics of {self._name}: {error}") from None

    def _metrics(self, design: Design) -> Mapping[str, float]:
        try:
            return self._evaluator.best_metrics(design)
        except SimcoreError:
            raise
        except Exception as error:
            reason = one_line(reason_of(error))
            raise OwnCodeError(f"best_metrics of {self._name} raised {reason}") from error

    def hold(self, design: Design, found: Evaluation) -> None:
        """See whether a feasible outcome is no better than what was told of the design at best.

        Raises:
            SimulationError: It is, so that nothing that was concluded holds.
        """
        told = self.of(design)
        own = [found.objectives[name] for name in self._goals.objectives]
        values = np.array(own) * self._signs
        slack = _TOLERANCE * np.abs(values)
        if told is not None and not (told > values + slack).any():
            return
        best = "infeasible" if told is None else self._named(told)
        raise SimulationError(
            f"best_metrics of {self._name} told {best} of a design that it then "
            f"gave {self._named(values)}: it must be no worse than what account gives."
        )

    def _named(self, values: NDArray[np.float64]) -> str:
        each = zip(self._goals.objectives, (values * self._signs).tolist(), strict=True)
        return ", ".join(f"{name} {value:.6g}" for name, value in each)


def _is_decided(study: Study, limit: Limit) -> bool:
    """True if a design exceeds *limit* whose metrics at best do."""
    sense: Sense = "minimise" if limit.sense == "at_most" else "maximise"
    return not unknown_at_best(study, limit.metric, sense)
