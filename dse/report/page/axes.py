"""Axes of the page's pictures: objectives, their values per scenario, figures and knobs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.objectives import OBJECTIVES, Objective
from dse.report.amounts import NO_MEANING, plain, said_unit, short_names, show_value
from dse.results.baseline import run_values
from dse.results.result import StudyResult
from dse.space import Parameter
from dse.study.trials import Trial
from simcore import SimulationError, format_quantity

DIGITS = 6
"""Digits of a number on the page: enough to tell designs apart, and half the size of all."""

TRIAL = "trial"
"""Name of the axis of the numbers of trials: the second one where there is one objective."""

_FIGURES = {
    "mfu": ("MFU", ""),
    "tokens_per_s": ("tokens per second", ""),
    "memory_fill_expected": ("memory used", ""),
    "exposed_communication_s": ("exposed communication", "s"),
    "bubble_s": ("waiting for other stages", "s"),
    "power_w": ("power", "W"),
}
"""Metrics that are axes too, with their label and unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Values of all designs of the page in one respect.

    Attributes:
        name: Unique.
        label: In words, without the unit.
        unit: As people say it.
        kind: ``objective``, ``figure`` or ``knob``.
        sense: ``minimise`` or ``maximise``; empty where neither is meant.
        choices: Texts of the values, which are then positions in them; empty: numbers.
        values: One per design; None: it has none.
    """

    name: str
    label: str
    unit: str
    kind: str
    sense: str = ""
    choices: tuple[str, ...] = ()
    values: tuple[float | None, ...] = ()

    def data(self) -> dict[str, Any]:
        """The axis as plain data, for JSON."""
        found: dict[str, Any] = {name: getattr(self, name) for name in ("name", "label", "unit")}
        found |= {"kind": self.kind, "sense": self.sense, "choices": list(self.choices)}
        return found | {"values": [_short(value) for value in self.values]}


def axes_of(result: StudyResult, rows: Sequence[Trial]) -> list[Axis]:
    """Axes of *rows*; the last ones are knobs, those of one value left out."""
    found = [*_objectives(result, rows), *_per_scenario(result, rows), *_figures(result, rows)]
    numbers = tuple(float(row.number) if row.number >= 0 else None for row in rows)
    found.append(Axis(name=TRIAL, label="trial", unit="", kind="figure", values=numbers))
    own = run_values(result.study) if any(row.number < 0 for row in rows) else {}
    short = short_names(list(result.study.space.parameters))
    for name, knob in result.study.space.parameters.items():
        values = [(own if row.number < 0 else row.design).get(name) for row in rows]
        axis = _knob(knob, short[name], values)
        if len(set(axis.values)) > 1:
            found.append(axis)
    return found


def _objectives(result: StudyResult, rows: Sequence[Trial]) -> Iterator[Axis]:
    for name, sense in result.study.goals.objectives.items():
        values = [row.evaluation.objectives.get(name) for row in rows]
        yield _numbers(name, OBJECTIVES[name].label, OBJECTIVES[name].unit, values, sense=sense)


def _per_scenario(result: StudyResult, rows: Sequence[Trial]) -> Iterator[Axis]:
    """Objectives of each scenario by itself."""
    goals = result.study.goals
    for scenario in goals.scenarios:
        each = [scenario.metrics_of(row.evaluation.metrics) for row in rows]
        for name, sense in goals.objectives.items():
            objective = OBJECTIVES[name]
            values = [_value(objective, metrics) for metrics in each]
            label = f"{objective.label}, {scenario.name}"
            yield _numbers(f"{name}@{scenario.name}", label, objective.unit, values, sense=sense)


def _value(objective: Objective, metrics: Mapping[str, float]) -> float | None:
    try:
        return objective.value(metrics)
    except SimulationError:  # the scenario has no such figure
        return None


def _figures(result: StudyResult, rows: Sequence[Trial]) -> Iterator[Axis]:
    """Figures that are no objectives, where some designs have them."""
    asked = {name for one in result.study.goals.objectives for name in OBJECTIVES[one].metrics}
    for name, (label, unit) in _FIGURES.items():
        values = [row.evaluation.metrics.get(name) for row in rows]
        if name not in asked and len({value for value in values if value is not None}) > 1:
            yield _numbers(name, label, unit, values, kind="figure")


def _numbers(
    name: str,
    label: str,
    unit: str,
    values: Sequence[float | None],
    *,
    kind: str = "objective",
    sense: str = "",
) -> Axis:
    """An axis of numbers in the unit that people say."""
    factor, said = said_unit(unit)
    known = tuple(None if value is None else value * factor for value in values)
    return Axis(name=name, label=label, unit=said, kind=kind, sense=sense, values=known)


def _knob(knob: Parameter, label: str, values: Sequence[object]) -> Axis:
    told = plain(label)
    if knob.is_continuous:
        known = tuple(float(v) if isinstance(v, int | float) else None for v in values)
        unit, factor = _largest_unit(knob)
        known = tuple(None if v is None else v / factor for v in known)
        return Axis(name=knob.name, label=told, unit=unit, kind="knob", values=known)
    texts = [show_value(knob, value) for value in values]
    there = set(texts)
    order = [text for text in _in_order(knob) if text in there]
    order += sorted(there - set(order) - {NO_MEANING})
    order += [NO_MEANING] if NO_MEANING in there else []
    place = {text: float(at) for at, text in enumerate(order)}
    at = tuple(place[text] for text in texts)
    return Axis(name=knob.name, label=told, unit="", kind="knob", choices=tuple(order), values=at)


def _in_order(knob: Parameter) -> list[str]:
    """Texts of the choices, numbers from small to large."""
    ascending: Callable[[Any], Any] | None = (lambda value: value) if knob.is_ordered else None
    choices = sorted(knob.choices, key=ascending) if ascending else list(knob.choices)
    return [show_value(knob, value) for value in choices]


def _largest_unit(knob: Parameter) -> tuple[str, float]:
    """The unit in which the largest value of a range is said, and its size in base units."""
    if knob.unit is None:
        return "", 1.0
    number, _, unit = format_quantity(knob.high, knob.unit).partition(" ")
    return unit, knob.high / float(number)


def _short(value: float | None) -> float | int | None:
    if value is None:
        return None
    rounded = float(f"{value:.{DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
