"""The rows of a running study in few bytes each: what many of them share is kept once."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from dse.evaluate.base import Evaluation, State
from dse.evaluate.failure import Failure
from dse.space import Value
from dse.study.trials import Trial


@dataclass(frozen=True, slots=True)
class _Shape:
    """All of a row but its values: one for all rows with the same.

    Attributes:
        names: Of the knobs.
        objectives: Their names.
        constraints: Their names.
    """

    names: tuple[str, ...]
    objectives: tuple[str, ...]
    constraints: tuple[str, ...]
    state: State
    fidelity: str
    notes: tuple[str, ...]
    reason: str
    failure: Failure
    attempts: int
    worker: str
    repeats: int | None
    provenance: int


_Kept = tuple[_Shape, tuple[Value, ...], bytes, Mapping[str, float]]
"""Shape of a row, values of its knobs, its own numbers, and its metrics as they came."""


class KeptTrials(Sequence[Trial]):
    """Rows in ask order, row i being trial i; each is made anew when somebody looks at it."""

    def __init__(self) -> None:
        self._shapes: dict[_Shape, _Shape] = {}
        self._rows: list[_Kept] = []

    def append(self, trial: Trial) -> None:
        """Keep one more row, whose number is how many there are."""
        found = trial.evaluation
        shape = _Shape(
            tuple(trial.design),
            tuple(found.objectives),
            tuple(found.constraints),
            found.state,
            found.fidelity,
            found.notes,
            found.reason,
            found.failure,
            found.attempts,
            trial.worker,
            trial.repeats,
            trial.provenance,
        )
        shape = self._shapes.setdefault(shape, shape)
        numbers = *found.objectives.values(), *found.constraints.values(), found.duration_s
        packed = array("d", numbers).tobytes()
        self._rows.append((shape, tuple(trial.design.values()), packed, found.metrics))

    def extend(self, trials: Iterable[Trial]) -> None:
        """Keep more rows, one after another."""
        for trial in trials:
            self.append(trial)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Trial]:
        return map(self._trial, range(len(self._rows)))

    @overload
    def __getitem__(self, at: int) -> Trial: ...
    @overload
    def __getitem__(self, at: slice) -> list[Trial]: ...
    def __getitem__(self, at: int | slice) -> Trial | list[Trial]:
        if isinstance(at, slice):
            return [self._trial(number) for number in range(*at.indices(len(self._rows)))]
        return self._trial(range(len(self._rows))[at])

    def _trial(self, number: int) -> Trial:
        shape, values, packed, metrics = self._rows[number]
        numbers = array("d", packed)
        ends = len(shape.objectives), len(numbers) - 1
        return Trial(
            number=number,
            design=dict(zip(shape.names, values, strict=True)),
            evaluation=Evaluation(
                state=shape.state,
                objectives=dict(zip(shape.objectives, numbers[: ends[0]], strict=True)),
                constraints=dict(zip(shape.constraints, numbers[ends[0] : ends[1]], strict=True)),
                metrics=metrics,
                fidelity=shape.fidelity,
                notes=shape.notes,
                reason=shape.reason,
                failure=shape.failure,
                attempts=shape.attempts,
                duration_s=numbers[-1],
            ),
            worker=shape.worker,
            repeats=shape.repeats,
            provenance=shape.provenance,
        )
