"""The rows of a study: what was proposed and what became of it."""

from dataclasses import dataclass, fields, replace
from operator import attrgetter

from dse.evaluate.base import Evaluation, State
from dse.space import Design


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
