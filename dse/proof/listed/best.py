"""Objectives of designs at best, where the evaluator knows metrics at best."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dse.evaluate import Evaluation, Evaluator
from dse.evaluate.failure import OwnCodeError, one_line, reason_of
from dse.objectives import OBJECTIVES, Limit, Objective, Sense
from dse.proof.prove import nothing_known
from dse.space import Design
from dse.study.compile import Study
from simcore import ConfigError, InfeasibleError, SimcoreError, SimulationError

MOST = 1 << 22
"""Designs that are listed at most: 16 to 40 bytes each while they are."""

_TOLERANCE = 1e-9
"""Relative; the same sum in another order differs by less."""


def is_listed(study: Study) -> bool:
    """True if proofs about *study* are made over a list of its designs."""
    return bool(study.evaluator.bests) and not study.evaluator.has_bounds


def check_listed(study: Study) -> None:
    """See whether the designs of *study* can be listed, and its objectives are known at best.

    Raises:
        ConfigError: They cannot, or one is not.
    """
    if study.space.continuous:
        knob = study.space.continuous[0].name
        rule = "a gap of this evaluator needs a ladder in place of a range"
        raise ConfigError(f"space.axes.{knob}", rule, got=knob)
    if study.space.counts.searched > MOST:
        rule = f"a gap of this evaluator is proven of at most {MOST:,} designs: narrow the space"
        raise ConfigError("space", rule, got=f"{study.space.counts.searched:,}")
    for name, sense in study.goals.objectives.items():
        if rule := _unknown(study, OBJECTIVES[name], sense):
            raise ConfigError(f"objectives.{name}", rule, got=sense)


def _unknown(study: Study, objective: Objective, sense: Sense) -> str:
    """Rule that an objective breaks whose metrics are not known at best; empty: they are."""
    bests = study.evaluator.bests
    for metric in objective.metrics:
        if metric not in bests:
            known = ", ".join(sorted(bests))
            return f"a gap of this evaluator is proven of what it knows at best: {known}"
        if bests[metric] not in (None, sense):
            return f"a gap is proven where {metric} is {bests[metric]}d, which is known at best"
    return ""


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
    return not _unknown(study, limit.metric, sense)
