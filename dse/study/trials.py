"""The rows of a study: what was proposed and what became of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter

from dse.evaluate.base import Evaluation, State
from dse.space import Design
from simcore import SimulationError


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One proposal.

    Attributes:
        number: Place in ask order.
        design: Values of the knobs that have a meaning.
        evaluation: What became of it.
        worker: Who evaluated it; empty for a repeated design.
        repeats: Number of the earlier trial with the same design, or None.
        provenance: Under which of the study's provenances it was evaluated, from 0.
    """

    number: int
    design: Design
    evaluation: Evaluation
    worker: str = ""
    repeats: int | None = None
    provenance: int = 0

    @property
    def state(self) -> State:
        """Short for the state of the evaluation."""
        return self.evaluation.state

    @property
    def is_feasible(self) -> bool:
        """True if it was evaluated and breaks no constraint."""
        return self.state == "complete"

    def repeated_as(self, number: int) -> "Trial":
        """Copy under a later number."""
        return replace(
            self,
            number=number,
            evaluation=replace(self.evaluation, duration_s=0.0),
            worker="",
            repeats=self.number,
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Travel as plain values, as ``Evaluation`` does."""
        return _trial, _values_of(self)


_values_of = attrgetter(*(field.name for field in fields(Trial)))


def _trial(
    number: int,
    design: Design,
    evaluation: Evaluation,
    worker: str,
    repeats: int | None,
    provenance: int,
) -> Trial:  # in the order of the fields: the driver makes thousands a second
    return Trial(
        number=number,
        design=design,
        evaluation=evaluation,
        worker=worker,
        repeats=repeats,
        provenance=provenance,
    )


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
