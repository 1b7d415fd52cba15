"""The end of a search: when it begins, and how it leaves no bargain on the front unseen.

The last proposals try what designs of the front can do without (``Proposer.trim``). A trim may join
the front and be trimmed in turn, so that outcomes have to be awaited: near the end, no more designs
are open than there is room left to trim.

A search without a number of trials ends once it has settled and nothing is left to trim. Where its
trims have moved the front by more than nothing, it has not settled after all, and goes on.
"""

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from dse.rank.pareto import Points
from dse.rank.progress import latest_gain
from dse.run.terms import Budget
from dse.samplers.base import Proposer, most_open
from dse.study.trials import Trial

RESERVED, MOST_RESERVED = 3, 300
"""The ending takes a third of the proposals, and no more than so many; where nothing is left to
trim, they go on as before."""

FEW, RESERVED_OF_FEW = 100, 2
"""So many proposals the ending has at least, unless that is more than a half of them."""

ROOM = 12
"""Proposals that are kept for each design that is open: what can be left out of it, should it join
the front."""

EVERY = 50
"""Outcomes after which it is seen whether a search still improves."""

LEAST = 600
"""Outcomes that a search without a number of trials has at least: a third of them is looked at."""


@dataclass(slots=True)
class _Found:
    """Objectives of the feasible rows of a search, each of which is looked at once.

    Attributes:
        rows: Number of the rows that were looked at.
        numbers: Of the feasible ones.
        values: Their objectives, all minimised, one row behind the other.
    """

    rows: int = 0
    numbers: "array[int]" = field(default_factory=lambda: array("q"))
    values: "array[float]" = field(default_factory=lambda: array("d"))

    def up_to(
        self, rows: Sequence[Trial], count: int, signs: Mapping[str, int]
    ) -> tuple[Points, Sequence[int]]:
        """Objectives and numbers of the feasible ones of the first *count* rows."""
        for row in rows[self.rows : count]:
            if row.is_feasible:
                objectives = row.evaluation.objectives
                self.numbers.append(row.number)
                self.values.extend([sign * objectives[name] for name, sign in signs.items()])
        self.rows = max(self.rows, count)
        known = bisect_left(self.numbers, count)
        points = np.array(self.values, np.float64).reshape(-1, max(len(signs), 1))
        return points[:known], self.numbers[:known]


@dataclass(slots=True, kw_only=True)
class Ending:
    """The end of one search.

    Attributes:
        trials: Proposals, all in all, or at most.
        window: Designs that are open at once before the end, at least.
        in_lessons: Whether they get more (``samplers.base.most_open``).
        trims: Whether there is something to do at the end.
        starts: Designs that the user asked for, which all come before the end.
        signs: +1 for each minimised objective, by name, -1 for each that is maximised; empty: the
            search ends after *trials*, whether it improves or not.
        first: Number of the first proposal of the end, when it began for the first time; None: it
            has not begun.
    """

    trials: int
    window: int
    trims: bool
    starts: int = 0
    signs: dict[str, int] = field(default_factory=dict)
    first: int | None = None
    in_lessons: bool = False
    _seen: int = 0
    _is_on: bool = False
    _found: _Found = field(default_factory=_Found, init=False)

    @classmethod
    def of(cls, budget: Budget, proposer: Proposer[Any]) -> Self:
        """The end of a search by *proposer*; one that takes all designs in turn never settles."""
        return cls(
            trials=budget.trials,
            window=budget.window,
            in_lessons=budget.in_lessons,
            trims=proposer.trims,
            starts=budget.starts,
            signs={} if proposer.is_complete else dict(budget.signs),
        )

    def begins(self, rows: Sequence[Trial], asked: int) -> bool:
        """True once the end has begun, and until the search goes on after all.

        Args:
            rows: All that is told, in ask order; looked at in steps of ``EVERY``, each row once.
            asked: Proposals so far.
        """
        if not self._is_on and self._is_due(rows, asked):
            self._is_on = True
            self.first = asked if self.first is None else self.first
        return self._is_on

    @property
    def only_trims(self) -> bool:
        """True if nothing else is proposed while it is on."""
        return bool(self.signs)

    def is_over(self, rows: Sequence[Trial]) -> bool:
        """True if the search has ended, now that nothing is left to trim; if not, it goes on.

        Args:
            rows: All proposals, each with its outcome.
        """
        self._is_on = self._has_settled(rows, len(rows), self._found)
        return self._is_on

    def may_open(self, asked: int, opened: int) -> bool:
        """True if one more design that is no trim may be under way beside *opened* ones."""
        return opened < max(1, (self.trials - asked) // ROOM)

    def first_of(self, rows: Sequence[Trial]) -> int:
        """Number of the first proposal of the end of the study that *rows* are from."""
        counts = range(EVERY, len(rows) + 1, EVERY) if self.signs else ()
        found = _Found()
        settled = (count for count in counts if self._has_settled(rows, count, found))
        told = next(settled, self.trials)
        opened = most_open(self.window, told - 1, in_lessons=self.in_lessons)
        return min(told - 1 + opened, self.latest_first)

    @property
    def latest_first(self) -> int:
        """Number of the first proposal of the end, unless the search settles before."""
        if not self.trims:
            return self.trials
        least = min(FEW, self.trials // RESERVED_OF_FEW)
        first = self.trials - min(max(self.trials // RESERVED, least), MOST_RESERVED)
        return max(first, self.starts)

    def _is_due(self, rows: Sequence[Trial], asked: int) -> bool:
        if not self.signs:
            return self.trims and asked >= self.latest_first
        while self._seen + EVERY <= len(rows):
            self._seen += EVERY
            if self._has_settled(rows, self._seen, self._found):
                return True
        return asked >= self.latest_first

    def _has_settled(self, rows: Sequence[Trial], count: int, found: _Found) -> bool:
        """True if the latest of the first *count* rows have brought next to nothing."""
        if count < LEAST:
            return False
        points, numbers = found.up_to(rows, count, self.signs)
        return latest_gain(points, numbers, count).is_settled
