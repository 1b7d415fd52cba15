"""The front as a table of texts: objectives, and the knobs that differ."""

from collections.abc import Sequence
from dataclasses import dataclass

from dse.objectives import OBJECTIVES
from dse.report.amounts import (
    NO_MEANING,
    join_values,
    short_names,
    show_amount,
    show_objective,
    show_short,
)
from dse.results.baseline import run_values
from dse.results.result import StudyResult
from dse.space import Parameter
from dse.study.memory_marks import memory_mark
from dse.study.trials import Trial

BAND = "measured (80%)"
"""Heading of the interval that holds four of five measured times."""

COSTS = "cost range"
"""Heading of the low and the high price of a machine."""

GROUP, MEMORY = "equals", "memory"
"""Headings of the group of designs that cannot be told apart, and of what memory lacks."""

RUN = "run"
"""Stands for the number of the baseline."""

_HEADINGS = {
    "micro_batch": "micro",
    "sequence_parallel": "seq. par.",
    "zero_stage": "zero",
    "collective_optimization": "collectives",
}
"""Long names of knobs, as headings show them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontTable:
    """Texts of a table.

    Attributes:
        columns: Headings: number, objectives, band of the time, range of the price, group of
            equals, memory where it is short, knobs that differ.
        rows: One per design of the front, and one of the baseline.
        numbers: How many columns, the first ones, are numbers: trial and objectives.
        common: Knobs that are the same all along the front, with their value.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: int
    common: tuple[tuple[str, str], ...]


def front_table(result: StudyResult) -> FrontTable:
    """The front of a study; where knobs of all network dimensions are there, one column each."""
    study = result.study
    trials = [result.rows[index] for index in result.front]
    parameters = list(study.space.parameters.values())
    shown = {
        p.name: [show_short(p, trial.design.get(p.name)) for trial in trials] for p in parameters
    }
    names = short_names([p.name for p in parameters])
    differing, common = _split(parameters, shown)
    baseline = [one for one in [result.baseline] if trials and one and one.evaluation.objectives]
    if baseline:
        values = run_values(study)
        shown = {p.name: [*shown[p.name], show_short(p, values.get(p.name))] for p in parameters}
    columns = _merged(differing, parameters, shown, names)
    objectives = list(study.goals.objectives)
    extras = _extras(result, [*trials, *baseline])
    rows = []
    for index, trial in enumerate([*trials, *baseline]):
        numbers = [show_objective(n, trial.evaluation.objectives[n]) for n in objectives]
        told = [texts[index] for texts in extras.values()]
        knobs = [values[index] for _, values in columns]
        name = str(trial.number) if trial.number >= 0 else RUN
        rows.append((name, *numbers, *told, *knobs))
    headings = ["trial", *(OBJECTIVES[name].label for name in objectives), *extras]
    headings += [_HEADINGS.get(heading, heading.replace("_", " ")) for heading, _ in columns]
    return FrontTable(
        columns=tuple(headings),
        rows=tuple(rows),
        numbers=1 + len(objectives),
        common=tuple(
            (names[p.name], shown[p.name][0]) for p in common if shown[p.name][0] != NO_MEANING
        ),
    )


def _extras(result: StudyResult, trials: list[Trial]) -> dict[str, list[str]]:
    """Columns between objectives and knobs, by heading, where there is something to say."""
    groups = groups_by_trial(result)
    marks = [memory_mark(trial.evaluation.metrics) for trial in trials]
    found = {
        BAND: _bands(trials),
        COSTS: _costs(result, trials),
        GROUP: [groups.get(trial.number, "") for trial in trials] if groups else [],
        MEMORY: [mark or "suffices" for mark in marks] if any(marks) else [],
    }
    return {heading: texts for heading, texts in found.items() if texts}


def groups_by_trial(result: StudyResult) -> dict[int, str]:
    """Letter of the group of equals of each design; empty where all can be told apart."""
    groups = result.equals
    if not any(len(group.trials) > 1 for group in groups):
        return {}
    return {number: _letter(at) for at, group in enumerate(groups) for number in group.trials}


def _letter(number: int) -> str:
    """A, B, ... Z, AA for 0, 1, ... 25, 26."""
    first, last = divmod(number, 26)
    return (_letter(first - 1) if first else "") + chr(ord("A") + last)


def _bands(trials: list[Trial]) -> list[str]:
    """Ends of the band of each trial's time; empty where one has none."""
    for name in ("iteration_time", "time_per_output_token"):
        ends = [
            [t.evaluation.metrics.get(f"{name}_{e}_s") for e in ("low", "high")] for t in trials
        ]
        if trials and all(None not in pair for pair in ends):
            return [_range(pair, "s") for pair in ends]
    return []


def _costs(result: StudyResult, trials: list[Trial]) -> list[str]:
    """Low and high price of each trial's machine; empty where that is no objective or has none."""
    ends = [
        [t.evaluation.metrics.get(f"capital_cost_{end}_usd") for end in ("low", "high")]
        for t in trials
    ]
    if "capital_cost" not in result.study.goals.objectives or any(None in pair for pair in ends):
        return []
    return [_range(pair, "USD") for pair in ends]


def _range(ends: Sequence[float | None], unit: str) -> str:
    """``20.3 - 24.7 s``; a unit that both ends share stands once."""
    low, high = (show_amount(end or 0.0, unit) for end in ends)
    shared = low.partition(" ")[2] == high.partition(" ")[2]
    return f"{low.partition(' ')[0] if shared else low} - {high}"


def _split(
    parameters: list[Parameter], shown: dict[str, list[str]]
) -> tuple[list[Parameter], list[Parameter]]:
    differing = [p for p in parameters if len(set(shown[p.name])) > 1]
    common = [p for p in parameters if len(set(shown[p.name])) == 1]
    return differing, common


def _merged(
    differing: list[Parameter],
    parameters: list[Parameter],
    shown: dict[str, list[str]],
    names: dict[str, str],
) -> list[tuple[str, list[str]]]:
    """Columns; knobs that exist once per network dimension share one: ``ring/switch/ring``."""
    groups: dict[str, list[str]] = {}
    for parameter in differing:
        groups.setdefault(_family(parameter), []).append(parameter.name)
    columns = []
    for family, members in groups.items():
        if len(members) == 1:
            columns.append((names[members[0]], shown[members[0]]))
            continue
        every = [shown[p.name] for p in parameters if _family(p) == family]
        heading = family.rsplit(".", 1)[-1].removesuffix("[*]")
        columns.append((heading, [join_values(list(row)) for row in zip(*every, strict=True)]))
    return columns


def _family(parameter: Parameter) -> str:
    """The name of a knob without the number of its network dimension."""
    if parameter.slot is None:
        return parameter.name
    return parameter.name.replace(f"[{parameter.slot}]", "[*]")
