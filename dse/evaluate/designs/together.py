"""Designs of a study that are simulated together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

import simcore
from dse.evaluate.designs.assign import Assignment
from dse.evaluate.designs.runs import DesignRuns
from dse.space import Design, Parameter
from simcore import RunTemplate

_MOST_LISTS = 1 << 12
"""Lists that the knobs of one path may mean; where there are more, designs are simulated alone."""


@dataclass(frozen=True, slots=True)
class Joined:
    """One of many designs that were simulated together: *row* of *found*."""

    found: "simcore.Simulations"
    row: int


class TogetherDesigns:
    """Simulates many designs of a study at once, by the values that each sets in its run."""

    def __init__(
        self,
        runs: DesignRuns,
        parameters: Mapping[str, Parameter],
        simulator: "simcore.Simulator",
        margin: float | None,
        share: float = 1.0,
    ) -> None:
        """Prepare the tables.

        Args:
            runs: Of the study.
            parameters: The knobs.
            simulator: Simulates designs by themselves.
            margin: Part of the memory that designs have to leave; None: they may need more.
            share: Part of every link's bandwidth that can be used.
        """
        self._runs = runs
        self._tables: dict[int, _Table] = {}
        for template, assignment in runs.forms():
            choices = _choices(assignment, parameters)
            if choices is None or not isinstance(template, RunTemplate):
                continue
            many = simcore.ManySimulator(
                template,
                choices,
                memory=margin is not None,
                margin=margin or 0.0,
                simulator=simulator,
                share=share,
            )
            if many.joins:
                self._tables[id(template)] = _Table.of(many, choices)

    def simulate(self, designs: Sequence[Design]) -> list[Joined | None]:
        """Results of *designs*, in their order; None: it has to be simulated by itself."""
        found: list[Joined | None] = [None] * len(designs)
        if not self._tables:
            return found
        for template, positions, values in self._runs.by_template(designs):
            table = self._tables.get(id(template))
            if table is None:
                continue
            rows = [table.codes(each) for each in values]
            able = [at for at, row in enumerate(rows) if row is not None]
            if not able:
                continue
            columns = np.array([rows[at] for at in able], np.int64).T
            result = table.many.simulate(dict(zip(table.places, columns, strict=True)))
            for row, at in enumerate(able):
                found[positions[at]] = Joined(result, row)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """One template, and by path the place of each value among its choices."""

    many: "simcore.ManySimulator"
    places: Mapping[str, Mapping[object, int]]

    @classmethod
    def of(cls, many: "simcore.ManySimulator", choices: Mapping[str, Sequence[Any]]) -> "_Table":
        places = {
            path: {_key(value): at for at, value in enumerate(values)}
            for path, values in choices.items()
        }
        return cls(many, places)

    def codes(self, values: Mapping[str, object]) -> list[int] | None:
        """Places of *values*, -1 for paths that are not set; None: one of them is no choice."""
        codes, known = [], 0
        for path, places in self.places.items():
            code = -1
            if path in values:
                known += 1
                value = values[path]
                # as of ``_key``; most values are words, and are asked for by the hundred thousand
                code = places.get(value if value.__class__ is str else _key(value), -2)
            codes.append(code)
        return None if known < len(values) or -2 in codes else codes


def _key(value: object) -> object:
    """*value* as one that differs from all others, ``True`` from 1 too."""
    if isinstance(value, list):
        return repr(value)
    return value if isinstance(value, str) else (type(value), value)


def _choices(
    assignment: Assignment, parameters: Mapping[str, Parameter]
) -> dict[str, list[Any]] | None:
    """By path all values that a run may have there; None: too many, or any in a range."""
    knobs = list(assignment.names)
    if any(parameters[name].is_continuous for name in knobs):
        return None
    written = [
        [assignment.write(choice, parameters[name].unit) for choice in parameters[name].choices]
        for name in knobs
    ]
    found: dict[str, list[Any]] = {path: written[at] for path, at in assignment.scalars.items()}
    for stem, sources in assignment.vectors.items():
        entries = [[held] if at is None else written[at] for at, held in sources]
        if prod(map(len, entries)) > _MOST_LISTS:
            return None
        found[stem] = [list(one) for one in product(*entries)]
    return found
