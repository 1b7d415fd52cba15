"""The rows of a running study in few bytes each: numbers in columns, what many share once."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, overload

from dse.evaluate.base import Evaluation, State
from dse.evaluate.failure import Failure
from dse.evaluate.metrics import Metrics
from dse.space import Value
from dse.study.trials import Trial


class _Shape(NamedTuple):
    """All of a row but its values: one for all rows with the same.

    Attributes:
        names: Of the knobs.
        kinds: Of their values.
        objectives: Their names.
        constraints: Their names.
        metrics: Their names; None where they are kept as they came.
    """

    names: tuple[str, ...]
    kinds: tuple[type, ...]
    objectives: tuple[str, ...]
    constraints: tuple[str, ...]
    metrics: tuple[str, ...] | None
    state: State
    fidelity: str
    notes: tuple[str, ...]
    reason: str
    failure: Failure
    attempts: int
    worker: str
    repeats: int | None
    provenance: int


class KeptTrials(Sequence[Trial]):
    """Rows in ask order, row i being trial i; each is made anew when somebody looks at it.

    Choices of knobs are numbers among all that were met; what is real is kept with the objectives,
    the constraints, the time and the metrics of a row, one behind the other.
    """

    def __init__(self) -> None:
        self._shapes: dict[_Shape, int] = {}
        self._shape_list: list[_Shape] = []
        self._choices: dict[tuple[type, Value], int] = {}
        self._choice_list: list[Value] = []
        self._shape_of, self._codes, self._numbers = array("I"), array("I"), array("d")
        self._code_ends, self._number_ends = array("q", [0]), array("q", [0])
        self._others: dict[int, Mapping[str, float]] = {}  # metrics of another form

    def append(self, trial: Trial) -> None:
        """Keep one more row, whose number is how many there are."""
        found, metrics = trial.evaluation, trial.evaluation.metrics
        values = trial.design.values()
        kinds = tuple([value.__class__ for value in values])
        names = metrics.names if isinstance(metrics, Metrics) else None
        self._shape_of.append(self._shape(trial, kinds, names))
        choices, known = zip(kinds, values, strict=True), self._choices
        try:
            self._codes.extend([known[one] for one in choices if one[0] is not float])
        except KeyError:
            choices = zip(kinds, values, strict=True)
            self._codes.extend([self._code(one) for one in choices if one[0] is not float])
        self._numbers.extend([value for value in values if value.__class__ is float])
        self._numbers.extend(found.objectives.values())
        self._numbers.extend(found.constraints.values())
        self._numbers.append(found.duration_s)
        if isinstance(metrics, Metrics):
            self._numbers.extend(metrics.numbers)
        elif metrics:
            self._others[len(self)] = metrics
        self._code_ends.append(len(self._codes))
        self._number_ends.append(len(self._numbers))

    def _shape(self, trial: Trial, kinds: tuple[type, ...], metrics: tuple[str, ...] | None) -> int:
        """Number of the shape of a row."""
        found = trial.evaluation
        shape = _Shape(
            tuple(trial.design),
            kinds,
            tuple(found.objectives),
            tuple(found.constraints),
            metrics,
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
        number = self._shapes.setdefault(shape, len(self._shape_list))
        if number == len(self._shape_list):
            self._shape_list.append(shape)
        return number

    def _code(self, choice: tuple[type, Value]) -> int:
        """Number of a value of a knob; 1 and True are two."""
        code = self._choices.setdefault(choice, len(self._choice_list))
        if code == len(self._choice_list):
            self._choice_list.append(choice[1])
        return code

    def extend(self, trials: Iterable[Trial]) -> None:
        """Keep more rows, one after another."""
        for trial in trials:
            self.append(trial)

    def __len__(self) -> int:
        return len(self._number_ends) - 1

    def __iter__(self) -> Iterator[Trial]:
        return map(self._trial, range(len(self)))

    @overload
    def __getitem__(self, at: int) -> Trial: ...
    @overload
    def __getitem__(self, at: slice) -> list[Trial]: ...
    def __getitem__(self, at: int | slice) -> Trial | list[Trial]:
        if isinstance(at, slice):
            return [self._trial(number) for number in range(*at.indices(len(self)))]
        return self._trial(range(len(self))[at])

    def _trial(self, number: int) -> Trial:
        shape = self._shape_list[self._shape_of[number]]
        numbers = self._numbers[self._number_ends[number] : self._number_ends[number + 1]]
        reals, objectives = shape.kinds.count(float), len(shape.objectives)
        limits = reals + objectives + len(shape.constraints)
        metrics: Mapping[str, float] = self._others.get(number, {})
        if shape.metrics is not None:
            metrics = Metrics.joined(shape.metrics, numbers[limits + 1 :])
        objective_values = numbers[reals : reals + objectives]
        constraint_values = numbers[reals + objectives : limits]
        return Trial(
            number=number,
            design=self._design(number, shape, iter(numbers)),
            evaluation=Evaluation(
                state=shape.state,
                objectives=dict(zip(shape.objectives, objective_values, strict=True)),
                constraints=dict(zip(shape.constraints, constraint_values, strict=True)),
                metrics=metrics,
                fidelity=shape.fidelity,
                notes=shape.notes,
                reason=shape.reason,
                failure=shape.failure,
                attempts=shape.attempts,
                duration_s=numbers[limits],
            ),
            worker=shape.worker,
            repeats=shape.repeats,
            provenance=shape.provenance,
        )

    def _design(self, number: int, shape: _Shape, reals: Iterator[float]) -> dict[str, Value]:
        """The knobs of a row, whose *reals* come first among its numbers."""
        codes = iter(self._codes[self._code_ends[number] : self._code_ends[number + 1]])
        choices, each = self._choice_list, zip(shape.names, shape.kinds, strict=True)
        return {name: next(reals) if kind is float else choices[next(codes)] for name, kind in each}
