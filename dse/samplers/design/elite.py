"""The best designs so far, by non-dominated sorting: parents of the next ones."""

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dse.samplers.design.genome import Genome

Floats = NDArray[np.float64]

_DIGITS = 3
"""Digits behind the point of objectives, or of their logarithms, by one of which parents differ."""

_RANKS = 64
"""Fronts that are told apart; what lies behind them is one last front."""


class Elite:
    """Keeps the best designs, at most about twice *size* of them.

    Feasible designs come first, by front; then the others, by violation.

    Attributes:
        feasible: How many of the kept designs are feasible.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._all: list[tuple[Sequence[float], float, Genome]] = []
        self._order: list[int] = []
        self._values: Floats = np.zeros((0, 1))
        self._front: Floats = np.zeros((0, 1))
        self.feasible = 0

    def __len__(self) -> int:
        return len(self._all)

    def add(self, genome: Genome, values: Sequence[float], violation: float) -> None:
        """One more evaluated design; takes effect with the next ``sort``."""
        self._all.append((values, violation if violation > 0 else 0.0, genome))

    def sort(self) -> None:
        """Rank all designs, and drop the last ones if there are too many."""
        self.prune()
        self._rank()

    def prune(self) -> None:
        """Drop the last designs if there are too many; the others wait for ``sort``."""
        if len(self._all) > 2 * self._size:
            self._rank()
            self._all = [self._all[at] for at in sorted(self._order[: self._size])]

    def best(self, count: int) -> list[Genome]:
        """The first *count* designs, as last sorted."""
        return [self._all[at][2] for at in self._order[:count]]

    def front(self) -> list[Genome]:
        """The designs that no other is better than, as last sorted; twins once."""
        return self.best(len(self._front))

    def parents(self, count: int) -> list[Genome]:
        """The front, and of each objective the best designs that differ in it, *count* in all."""
        best = self._order[: self.feasible]
        if not best:
            return self.best(count)
        chosen = dict.fromkeys(best[: len(self._front)])
        values = self._values[best]
        _, different = np.unique(np.round(values, _DIGITS), axis=0, return_index=True)
        different.sort()
        each = -(-count // values.shape[1])
        for column in values[different].T:
            first = different[np.argsort(column, kind="stable")[:each]]
            chosen.update(dict.fromkeys(best[at] for at in first.tolist()))
        return [self._all[at][2] for at in chosen]

    def is_progress(self, values: Sequence[float]) -> bool:
        """True if no feasible design, as last sorted, is at least as good in everything."""
        return not bool((self._front <= np.asarray(values)).all(axis=1).any())

    def lesson(self) -> tuple[list[Genome], Floats, int]:
        """The best feasible designs, their values, (N, M), and how many lead: the front.

        Values are on a logarithmic scale where all are positive.
        """
        best = self._order[: min(self.feasible, self._size)]
        return [self._all[at][2] for at in best], self._values[best], len(self._front)

    def _rank(self) -> None:
        violation = np.array([violation for _, violation, _ in self._all])
        raw = np.array([values for values, _, _ in self._all], np.float64)
        is_feasible = violation <= 0
        self.feasible = int(is_feasible.sum())
        positive = (raw[is_feasible] > 0).all(axis=0)
        self._values = raw.copy()
        self._values[:, positive] = np.log(np.maximum(raw[:, positive], 1e-300))
        rank = np.full(len(self._all), _RANKS + 1)
        rank[is_feasible] = fronts(self._values[is_feasible])
        self._front = raw[is_feasible & (rank == 0)]
        self._order = np.lexsort((np.arange(rank.size), violation, rank)).tolist()


def fronts(values: Floats) -> NDArray[np.int64]:
    """The front of each row: 0 is not dominated, 1 only by front 0, and so on.

    Of equal rows the later ones count as dominated, so that twins do not crowd out others.

    Args:
        values: (N, M) float64, to be minimised.

    Returns:
        (N,) int64; M = 2 in O(N log N) by patience sorting, else at most 64 fronts.
    """
    if values.shape[1] == 1:
        rank = np.empty(len(values), np.int64)
        rank[np.argsort(values[:, 0], kind="stable")] = np.arange(len(values))
        return rank
    if values.shape[1] == 2:
        return _fronts_of_pairs(values)
    shape = (len(values), len(values))
    not_worse, equal = np.ones(shape, bool), np.ones(shape, bool)
    for column in values.T:
        not_worse &= column[:, None] <= column
        equal &= column[:, None] == column
    beats = not_worse & (~equal | np.tri(*shape, k=-1, dtype=bool).T)
    rank = np.full(len(values), _RANKS, np.int64)
    above = beats.sum(axis=0)  # of each row, how many of those not ranked yet beat it
    for number in range(_RANKS):
        first = above == 0
        if not first.any():
            break
        rank[first] = number
        above -= beats[first].sum(axis=0)
        above[first] = -1
    return rank


def _fronts_of_pairs(values: Floats) -> NDArray[np.int64]:
    rank = np.empty(len(values), np.int64)
    last: list[float] = []  # of each front, the second value of its latest row; they rise
    order = np.lexsort((values[:, 1], values[:, 0])).tolist()
    second = values[:, 1].tolist()
    for at in order:
        front = bisect_right(last, second[at])
        if front == len(last):
            last.append(second[at])
        else:
            last[front] = second[at]
        rank[at] = front
    return rank
