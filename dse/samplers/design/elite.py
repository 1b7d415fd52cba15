"""The best designs so far, by non-dominated sorting: parents of the next ones."""

from collections.abc import Sequence

import numpy as np

from dse.rank.pareto import fronts
from dse.samplers.design.columns.genomes import Floats, Genome, Genomes

_DIGITS = 3
"""Digits behind the point of objectives, or of their logarithms, by one of which parents differ."""

_RANKS = 64
"""Fronts that are told apart; what lies behind them is one last front."""


class Elite:
    """Keeps the best designs, at most about twice *size* of them.

    Feasible designs come first, by front; then the others, by violation.

    Attributes:
        feasible: How many of the kept designs are feasible.
        is_logarithmic: Whether all objectives of the feasible ones are positive, as last sorted.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._all: list[tuple[Sequence[float], float, Genome]] = []
        self._order: list[int] = []
        self._values: Floats = np.zeros((0, 1))
        self._leading = 0
        self.feasible = 0
        self.is_logarithmic = False

    @property
    def objectives(self) -> int:
        """Number of objectives, as last sorted."""
        return int(self._values.shape[1])

    def __len__(self) -> int:
        return len(self._all)

    def add(self, genome: Genome, values: Sequence[float], violation: float) -> None:
        """One more evaluated design; takes effect with the next ``sort``."""
        self._all.append((values, violation, genome))

    def sort(self) -> None:
        """Rank all designs, and drop the last ones if there are too many."""
        self.prune()
        self._rank()

    def prune(self) -> None:
        """Drop the last designs if there are too many; the others wait for ``sort``."""
        if len(self._all) > 2 * self._size:
            self._rank()
            self._all = [self._all[at] for at in sorted(self._order[: self._size])]

    def best(self, count: int) -> Genomes:
        """The first *count* designs, as last sorted."""
        return self._genomes(self._order[:count])

    def excesses(self, count: int) -> list[float]:
        """Violations of the first *count* designs, as last sorted; 0 or less: all limits hold."""
        return [self._all[at][1] for at in self._order[:count]]

    def front(self) -> Genomes | None:
        """The designs that no other is better than, as last sorted, twins once; None: none is."""
        return self.best(self._leading) if self._leading else None

    def parents(self, count: int, others: int = 0) -> Genomes:
        """The front, and of each objective the best designs that differ in it, *count* in all.

        *others*: so many of the best designs besides, though they may be twins.
        """
        best = self._order[: self.feasible]
        if not best:
            return self.best(count)
        chosen = dict.fromkeys(best[: self._leading])
        values = self._values[best]
        _, different = np.unique(np.round(values, _DIGITS), axis=0, return_index=True)
        different.sort()
        each = -(-count // values.shape[1])
        for column in values[different].T:
            first = different[np.argsort(column, kind="stable")[:each]]
            chosen.update(dict.fromkeys(best[at] for at in first.tolist()))
        chosen.update(dict.fromkeys(best[:others]))
        return self._genomes(list(chosen))

    def lesson(self) -> tuple[Genomes, Floats, int]:
        """The best feasible designs, their values, (N, M), and how many lead: the front.

        Values are on a logarithmic scale where all are positive.
        """
        best = self._order[: min(self.feasible, self._size)]
        return self._genomes(best), self._values[best], self._leading

    def _genomes(self, places: Sequence[int]) -> Genomes:
        return Genomes.of([self._all[at][2] for at in places])

    def _rank(self) -> None:
        violation = np.maximum([violation for _, violation, _ in self._all], 0.0)
        raw = np.array([values for values, _, _ in self._all], np.float64)
        is_feasible = violation <= 0
        self.feasible = int(is_feasible.sum())
        positive = (raw[is_feasible] > 0).all(axis=0)
        self.is_logarithmic = bool(positive.all())
        self._values = raw.copy()
        self._values[:, positive] = np.log(np.maximum(raw[:, positive], 1e-300))
        rank = np.full(len(self._all), len(self._all))  # behind all that are feasible
        rank[is_feasible] = fronts(self._values[is_feasible], _RANKS)
        self._leading = int((rank == 0).sum())
        self._order = np.lexsort((np.arange(rank.size), violation, rank)).tolist()
