"""Rows of a study that follow each other, as columns: counted by the thousand, made one by one."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.base import State
from dse.study.trials import Trial

STATES: tuple[State, ...] = ("complete", "infeasible", "pruned", "failed")
"""States of evaluations, each by its place in the column ``state``."""

COMPLETE, INFEASIBLE, PRUNED, FAILED = range(len(STATES))

Outcomes = NDArray[Any]
"""Structured array of outcomes, with the fields of ``outcome_type``."""

Flags = NDArray[np.bool_]


def outcome_type(objectives: int) -> "np.dtype[Any]":
    """Fields of an outcome: as of ``Hooks.keyed``, state, whether it was measured, objectives."""
    return np.dtype(
        [
            ("key", np.int64),
            ("genome", np.int64),
            ("duration_s", np.float64),
            ("objectives", np.float64, (objectives,)),
            ("state", np.uint8),
            ("is_measured", np.bool_),
        ]
    )


def outcomes_of(
    trials: Sequence[Trial], known: Sequence[int], objectives: Sequence[str]
) -> Outcomes:
    """Outcomes of *trials*; an objective that one lacks is no number.

    Args:
        trials: The trials.
        known: Two numbers for each, as of ``Hooks.keyed``.
        objectives: Names of the objectives, in the order of their columns.
    """
    every = [trial.evaluation for trial in trials]
    found = np.empty(len(trials), outcome_type(len(objectives)))
    found["key"], found["genome"] = known[::2], known[1::2]
    found["duration_s"] = [one.duration_s for one in every]
    found["state"] = [STATES.index(one.state) for one in every]
    found["is_measured"] = [one.is_measured for one in every]
    for at, name in enumerate(objectives):
        found["objectives"][:, at] = [one.objectives.get(name, np.nan) for one in every]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Rows of a study that follow each other.

    Attributes:
        outcomes: (N,) theirs.
        repeats: (N,) numbers of the earlier rows with the same designs; -1: there is none.
        duplicates: Repeats in all rows of the study before these.
        rows: Makes some of them, by place.
        evaluated_by: Counts some of them by worker, by place.
    """

    outcomes: Outcomes
    repeats: NDArray[np.int64]
    duplicates: int
    rows: Callable[[NDArray[np.int64]], Iterator[Trial]]
    evaluated_by: Callable[[NDArray[np.int64]], Counter[str]]

    def __len__(self) -> int:
        return len(self.outcomes)

    @property
    def is_new(self) -> Flags:
        """(N,) True of rows that are no repeats."""
        return np.asarray(self.repeats < 0)

    def of(self, state: int) -> Flags:
        """(N,) True of rows, repeats included, whose outcome has a *state* by its place."""
        return np.asarray(self.outcomes["state"] == state)

    def some(self, flags: Flags) -> Iterator[Trial]:
        """Rows with *flags*, (N,), one after the other."""
        return self.rows(np.flatnonzero(flags))

    def each(self) -> Iterator[tuple[Trial, int]]:
        """All rows, each with the repeats up to it."""
        counts = self.duplicates + np.cumsum(self.repeats >= 0)
        every = self.rows(np.arange(len(self)))
        return zip(every, counts.tolist(), strict=True)
