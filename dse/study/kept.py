"""The rows of a running study in few bytes each: numbers in columns, what many share once."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.base import Evaluation, State
from dse.evaluate.failure import Failure
from dse.evaluate.metrics import Metrics
from dse.space import Value
from dse.study.trials import Trial

Named = set[tuple[str, tuple[str, ...]]]
"""Names of constraints and metrics, each with the part that it belongs to."""

T = TypeVar("T")


class _Form(NamedTuple):
    """Names of all values of a row, and the kinds of those of its knobs: one for all alike.

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


class _Shape(NamedTuple):
    """All of a row but its values: one for all rows with the same.

    Attributes:
        form: Number of its form.
    """

    form: int
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
        self._forms: dict[_Form, int] = {}
        self._form_list: list[_Form] = []
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
        form = _Form(
            tuple(trial.design), kinds, tuple(found.objectives), tuple(found.constraints), metrics
        )
        shape = _Shape(
            _number(form, self._forms, self._form_list),
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
        return _number(shape, self._shapes, self._shape_list)

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

    def take(self, others: "KeptTrials") -> None:
        """Keep all of *others* behind these, without looking at any one."""
        forms = [_number(form, self._forms, self._form_list) for form in others._form_list]
        every = [shape._replace(form=forms[shape.form]) for shape in others._shape_list]
        shapes = [_number(shape, self._shapes, self._shape_list) for shape in every]
        codes = [self._code((choice.__class__, choice)) for choice in others._choice_list]
        self._others |= {len(self) + at: metrics for at, metrics in others._others.items()}
        self._shape_of.frombytes(_renumbered(others._shape_of, shapes))
        self._codes.frombytes(_renumbered(others._codes, codes))
        self._numbers.extend(others._numbers)
        for ends, further in (
            (self._code_ends, others._code_ends),
            (self._number_ends, others._number_ends),
        ):
            ends.frombytes((np.frombuffer(further, np.int64)[1:] + ends[-1]).tobytes())

    def workers(self, places: NDArray[np.int64]) -> Counter[str]:
        """Number of the rows at *places* by who evaluated them."""
        found: Counter[str] = Counter()
        shapes = np.frombuffer(self._shape_of, np.uint32)[places]
        for shape, count in zip(*np.unique(shapes, return_counts=True), strict=True):
            found[self._shape_list[shape].worker] += int(count)
        return found

    def named(self) -> Named:
        """Names of constraints and metrics of all rows."""
        found = {("constraints", form.constraints) for form in self._form_list}
        found |= {("metrics", form.metrics or ()) for form in self._form_list}
        return found | {("metrics", tuple(metrics)) for metrics in self._others.values()}

    def __getstate__(self) -> tuple[Any, ...]:
        """Travel as columns; what finds numbers of forms, shapes and choices is made anew."""
        columns = self._shape_of, self._codes, self._numbers, self._code_ends, self._number_ends
        return self._form_list, self._shape_list, self._choice_list, self._others, *columns

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._form_list, self._shape_list, self._choice_list, self._others, *columns = state
        self._shape_of, self._codes, self._numbers, self._code_ends, self._number_ends = columns
        self._forms = {form: at for at, form in enumerate(self._form_list)}
        self._shapes = {shape: at for at, shape in enumerate(self._shape_list)}
        self._choices = {(one.__class__, one): at for at, one in enumerate(self._choice_list)}

    def __len__(self) -> int:
        return len(self._number_ends) - 1

    def __iter__(self) -> Iterator[Trial]:
        return map(self.trial, range(len(self)))

    @overload
    def __getitem__(self, at: int) -> Trial: ...
    @overload
    def __getitem__(self, at: slice) -> list[Trial]: ...
    def __getitem__(self, at: int | slice) -> Trial | list[Trial]:
        if isinstance(at, slice):
            return [self.trial(place) for place in range(*at.indices(len(self)))]
        return self.trial(range(len(self))[at])

    def trial(self, place: int, number: int | None = None) -> Trial:
        """The row at *place*, under this number; None: that of its place."""
        shape = self._shape_list[self._shape_of[place]]
        form = self._form_list[shape.form]
        numbers = self._numbers[self._number_ends[place] : self._number_ends[place + 1]]
        reals, objectives = form.kinds.count(float), len(form.objectives)
        limits = reals + objectives + len(form.constraints)
        metrics: Mapping[str, float] = self._others.get(place, {})
        if form.metrics is not None:
            metrics = Metrics.joined(form.metrics, numbers[limits + 1 :])
        objective_values = numbers[reals : reals + objectives]
        constraint_values = numbers[reals + objectives : limits]
        return Trial(
            number=place if number is None else number,
            design=self._design(place, form, iter(numbers)),
            evaluation=Evaluation(
                state=shape.state,
                objectives=dict(zip(form.objectives, objective_values, strict=True)),
                constraints=dict(zip(form.constraints, constraint_values, strict=True)),
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

    def _design(self, place: int, form: _Form, reals: Iterator[float]) -> dict[str, Value]:
        """The knobs of a row, whose *reals* come first among its numbers."""
        codes = iter(self._codes[self._code_ends[place] : self._code_ends[place + 1]])
        choices, each = self._choice_list, zip(form.names, form.kinds, strict=True)
        return {name: next(reals) if kind is float else choices[next(codes)] for name, kind in each}


def _number(one: T, numbers: dict[T, int], every: list[T]) -> int:
    """Number of *one* in the list of all that were met, behind which it comes if it is new."""
    number = numbers.setdefault(one, len(every))
    if number == len(every):
        every.append(one)
    return number


def _renumbered(numbers: "array[int]", new: Sequence[int]) -> bytes:
    """Each of *numbers* by its new one."""
    return np.array(new, np.uint32)[np.frombuffer(numbers, np.uint32)].tobytes()
