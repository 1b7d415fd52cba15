"""Running counts of a study, and what it fails of."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import mul

import numpy as np

from dse.evaluate.base import Evaluation
from dse.study.stretch import COMPLETE, FAILED, INFEASIBLE, PRUNED, STATES, Stretch
from dse.study.trials import Trial
from simcore import SimulationError


@dataclass(slots=True, kw_only=True)
class Tally:
    """Running counts of a study, for progress and summary.

    Attributes:
        proposals: Rows so far.
        evaluated: Designs that were evaluated to the end.
        infeasible: Designs that break a rule or a limit.
        pruned: Designs that were not simulated, since others are proven to be better.
        failed: Designs whose evaluation failed.
        duplicates: Proposals of a design that was known already, in rows or before.
    """

    proposals: int = 0
    evaluated: int = 0
    infeasible: int = 0
    pruned: int = 0
    failed: int = 0
    duplicates: int = 0
    best: dict[str, float] = field(default_factory=dict)

    def add(self, trial: Trial, signs: Mapping[str, int]) -> None:
        """Count one row; *signs*: +1 per minimised objective, -1 per maximised one."""
        self.proposals += 1
        if trial.repeats is not None:
            self.duplicates += 1
            return
        found = trial.evaluation
        self.evaluated += found.is_measured
        if (state := found.state) == "complete":
            best = self.best
            for name, value in found.objectives.items():
                if name not in best or value * signs[name] < best[name] * signs[name]:
                    best[name] = value
        elif state == "infeasible":
            self.infeasible += 1
        elif state == "pruned":
            self.pruned += 1
        else:
            self.failed += 1

    def add_all(self, rows: Stretch, signs: Mapping[str, int]) -> None:
        """Count *rows*, whose objectives are in the order of *signs*; see ``add``."""
        new = rows.is_new
        counts = np.bincount(rows.outcomes["state"][new], minlength=len(STATES)).tolist()
        self.proposals += len(rows)
        self.duplicates += len(rows) - sum(counts)
        self.evaluated += int(np.count_nonzero(rows.outcomes["is_measured"] & new))
        self.infeasible += counts[INFEASIBLE]
        self.pruned += counts[PRUNED]
        self.failed += counts[FAILED]
        found = rows.outcomes["objectives"][new & rows.of(COMPLETE)]
        for (name, sign), values in zip(signs.items(), found.T, strict=True):
            best = [self.best[name]] if name in self.best else []
            if values.size:
                best.append(float(values[np.argmin(values * sign)]))
                self.best[name] = min(best, key=partial(mul, sign))


ALIKE = 3
"""Designs that fail alike, with none evaluated between them, that stop a study."""

_NUMBER = re.compile(r"\d[\d.e+-]*")


def failure_kind(evaluation: Evaluation) -> tuple[str, str]:
    """Class and reason of a failure, the same for reasons that differ in numbers alone."""
    return evaluation.failure, _NUMBER.sub("#", evaluation.reason)


class FailureStreak:
    """Sees when it is not the designs that fail, but what they all share."""

    def __init__(self) -> None:
        self._kind: tuple[str, str] | None = None
        self._length = 0

    def add_all(self, rows: Stretch) -> None:
        """Count *rows*; see ``add``."""
        failed = rows.of(FAILED)
        if failed.any():
            for trial in rows.some(rows.is_new & (failed | rows.outcomes["is_measured"])):
                self.add(trial)
        elif (rows.is_new & rows.outcomes["is_measured"]).any():
            self._kind, self._length = None, 0

    def add(self, trial: Trial) -> None:
        """Count one row, in ask order.

        Raises:
            SimulationError: ``ALIKE`` different designs have failed for one reason, and none
                was evaluated between them.
        """
        if trial.repeats is not None:
            return
        found = trial.evaluation
        if found.state != "failed":
            if found.is_measured:
                self._kind, self._length = None, 0
            return
        kind = failure_kind(found)
        self._length = self._length + 1 if kind == self._kind else 1
        self._kind = kind
        if self._length >= ALIKE:
            name = (found.failure or "failure").replace("_", " ")
            reason = found.reason or "no reason was given"
            raise SimulationError(
                f"{ALIKE} designs failed alike ({name}), with none evaluated between: {reason}"
            )
