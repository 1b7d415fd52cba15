"""The end of a search: when it begins, and how it leaves no bargain on the front unseen.

The last proposals try what designs of the front can do without (``Proposer.trim``). A trim may join
the front and be trimmed in turn, so that outcomes have to be awaited: near the end, no more designs
are open than there is room left to trim.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dse.rank.progress import shares_of_volume
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

PATIENCE, LEAST = 1 / 3, 200
"""Part of the outcomes that must have brought nothing before a search without a number of trials
ends, and how many at least."""

NOTHING = 0.01
"""Share of the hypervolume of the front below which a gain is none."""


@dataclass(slots=True, kw_only=True)
class Ending:
    """The end of one search.

    Attributes:
        trials: Proposals, all in all, or at most.
        window: Designs that are open at once before the end.
        trims: Whether there is something to do at the end.
        starts: Designs that the user asked for, which all come before the end.
        signs: +1 for each minimised objective, by name, -1 for each that is maximised; empty: the
            search ends after *trials*, whether it improves or not.
        first: Number of the first proposal of the end; None: it has not begun.
    """

    trials: int
    window: int
    trims: bool
    starts: int = 0
    signs: dict[str, int] = field(default_factory=dict)
    first: int | None = None
    _seen: int = 0

    def begins(self, rows: Sequence[Trial], asked: int) -> bool:
        """True once the end has begun.

        Args:
            rows: All that is told, in ask order; looked at in steps of ``EVERY``, each once.
            asked: Proposals so far.
        """
        if self.first is None and self._is_due(rows, asked):
            self.first = asked
        return self.first is not None

    @property
    def is_over(self) -> bool:
        """True if nothing is left to do once it has begun, but for trims."""
        return bool(self.signs)

    def may_open(self, asked: int, opened: int) -> bool:
        """True if one more design that is no trim may be under way beside *opened* ones."""
        return opened < max(1, (self.trials - asked) // ROOM)

    def first_of(self, rows: Sequence[Trial]) -> int:
        """Number of the first proposal of the end of the study that *rows* are from."""
        counts = range(EVERY, len(rows) + 1, EVERY) if self.signs else ()
        settled = (count for count in counts if self._has_settled(rows[:count]))
        found = next(settled, self.trials) + self.window - 1
        return min(found, self.latest_first)

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
            if self._has_settled(rows[: self._seen]):
                return True
        return asked >= self.latest_first

    def _has_settled(self, rows: Sequence[Trial]) -> bool:
        """True if the latest of *rows* have brought next to nothing."""
        latest = max(LEAST, int(len(rows) * PATIENCE))
        found = [(row.number, self._point(row)) for row in rows if row.is_feasible]
        before = sum(number < len(rows) - latest for number, _ in found)
        if not before:
            return False
        points = np.array([point for _, point in found], np.float64)
        return 1 - shares_of_volume(points, [before])[0] < NOTHING

    def _point(self, row: Trial) -> list[float]:
        objectives = row.evaluation.objectives
        return [sign * objectives[name] for name, sign in self.signs.items()]
