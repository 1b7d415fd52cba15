"""Pareto dominance: which points beat which, the fronts of a set, and the front of a stream.

All objectives are minimised. Of equal points the first one beats the later ones, so that twins do
not crowd out others. Points hold no NaN, and designs that break a limit have none: whoever keeps
both ranks those apart.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Points = NDArray[np.float64]
Flags = NDArray[np.bool_]
T = TypeVar("T")

_AT_ONCE = 1 << 12
"""Points at most that are held against a front at once."""


def no_worse(points: ArrayLike, others: ArrayLike) -> Flags:
    """True where points, (..., M), are nowhere above their *others*, as arrays broadcast."""
    return np.asarray(np.less_equal(points, others).all(axis=-1))


def beaten(points: Points, others: Points) -> Flags:
    """(N,) True where one of *points*, (P, M), is better than an other one, (N, M)."""
    shape = len(points), len(others)
    above, below = np.ones(shape, bool), np.ones(shape, bool)
    for own, other in zip(points.T, others.T, strict=True):  # they are few, and rows are many
        above &= own[:, None] <= other
        below &= other <= own[:, None]
    return np.asarray((above & ~below).any(axis=0))


def fronts(points: Points, most: int) -> NDArray[np.int64]:
    """The front of each point: 0 is not dominated, 1 only by front 0, and so on.

    Args:
        points: (N, M) float64.
        most: Fronts that are told apart where there are more than two objectives; what lies behind
            them is one last front.

    Returns:
        (N,) int64; M <= 2 in O(N log N) by patience sorting.
    """
    rank = np.empty(len(points), np.int64)
    order = np.lexsort(points.T[::-1])  # a point can only be dominated by one before it
    if points.shape[1] <= 2:
        last: list[float] = []  # of each front, the last value of its latest point; they rise
        behind = points[:, -1].tolist()
        for at in order.tolist():
            rank[at] = front = bisect_right(last, behind[at])
            last[front : front + 1] = [behind[at]]
        return rank
    told, places, size = np.empty_like(points), np.empty_like(order), 0
    for at in order:
        above = rank[places[:size][no_worse(told[:size], points[at])]]
        rank[at] = min(above.max(initial=-1) + 1, most)
        if rank[at] < most:
            told[size], places[size] = points[at], at
            size += 1
    return rank


def foremost(points: Points, count: int, most: int) -> NDArray[np.int64]:
    """Places of *count* of *points*, (N, M), or of all: front by front, each in their order.

    Args:
        points: (N, M) float64.
        count: Number of the places.
        most: Fronts that are told apart where there are more than two objectives, as of ``fronts``.
    """
    found, told, is_flat = list[NDArray[np.int64]](), 0, points.shape[1] <= 2
    are_left, rest = np.ones(len(points), bool), np.arange(len(points))
    if is_flat:
        rest = _in_order(points, rest[_are_near(points, count)])
    while rest.size and told < count and (is_flat or len(found) < most):
        near = rest if is_flat else _in_order(points, rest[_are_near(points[rest], 1)])
        first = near[_are_first(points[near])]
        found.append(np.sort(first))
        told, are_left[first] = told + first.size, False
        rest = rest[are_left[rest]]
    return np.concatenate([*found, np.sort(rest)])[:count]


def _in_order(points: Points, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places of *points* so sorted that none beats one before it."""
    return places[np.lexsort(points[places].T[::-1])]


_SAMPLE, _CORNERS = 1 << 12, (1 / 256, 1 / 64, 1 / 16, 1 / 4)
"""Points that tell where others lie, and parts of them that are tried as corners."""


def _are_near(points: Points, count: int) -> Flags:
    """(N,) True of all *points* but some that *count* others are below in every objective.

    These are on no front before those others are, nor is any that they dominate.
    """
    if len(points) > 2 * _SAMPLE:
        sample = np.sort(points[:: len(points) // _SAMPLE], axis=0)
        for part in _CORNERS:
            corner = sample[int(part * len(sample))]
            below = zip(points.T, corner, strict=True)
            if np.count_nonzero(_all_of(column <= most for column, most in below)) >= count:
                above = zip(points.T, corner, strict=True)
                return ~_all_of(column > least for column, least in above)
    return np.ones(len(points), bool)


def _all_of(flags: Iterable[Flags]) -> Flags:
    """(N,) True where all of *flags* are, column by column."""
    return reduce(np.logical_and, flags)


def _are_first(points: Points) -> Flags:
    """(N,) True where no point before dominates one of *points*, which are sorted."""
    if points.shape[1] <= 2:
        least = np.minimum.accumulate(points[:, -1])
        return np.concatenate([[True], points[1:, -1] < least[:-1]])
    front: Front[int] = Front()
    front.add_all(range(len(points)), points)
    found = np.zeros(len(points), bool)
    found[front.kept] = True  # of sorted points none beats one before it
    return found


def non_dominated(points: Points) -> Flags:
    """Mask of the points, (N, M), that no other one dominates."""
    first: Flags = fronts(points, 1) == 0
    return first


class Front(Generic[T]):
    """The points that no other one beats, of all that were added one by one.

    Attributes:
        points: (P, M) float64.
        kept: What each of them stands for.
    """

    def __init__(self) -> None:
        self.points: Points = np.zeros((0, 1))
        self.kept: list[T] = []
        # of two objectives each value, sorted by the first: the second falls from each to the next
        self._stairs: tuple[list[float], list[float]] | None = None

    def beats(self, point: Points) -> bool:
        """True if a point of the front is better than *point*, (M,): ``beaten`` of one."""
        if self._stairs is not None:
            first, second = float(point[0]), float(point[1])
            at = bisect_right(self._stairs[0], first) - 1
            if at < 0:
                return False
            best = self._stairs[1][at]
            return best < second or (best == second and self._stairs[0][at] < first)
        above = np.less_equal(self.points, point).all(axis=1)
        return bool(above.any() and (self.points[above] < point).any())

    def add(self, what: T, point: Points | Sequence[float]) -> bool:
        """Keep *point*, (M,), unless one that is there is as good; whether it was kept."""
        if self._is_matched(point):
            return False
        own = np.asarray(point, np.float64)
        left = np.flatnonzero(~no_worse(own, self.points))
        self.points = np.concatenate([self.points[left].reshape(-1, own.size), own[None]])
        self.kept = [*(self.kept[at] for at in left), what]
        if own.size == 2:
            rising = self.points[np.argsort(self.points[:, 0])]
            self._stairs = rising[:, 0].tolist(), rising[:, 1].tolist()
        return True

    def add_all(self, every: Sequence[T], points: Points) -> None:
        """``add`` of each of *points*, (N, M), one after the other."""
        begin, size = 0, 64
        while begin < len(points):
            part = points[begin : begin + size]
            for at in np.flatnonzero(~self._are_matched(part)).tolist():
                self.add(every[begin + at], part[at])
            begin, size = begin + size, min(2 * size, _AT_ONCE)

    def _are_matched(self, points: Points) -> Flags:
        """(N,) True where a point of the front is as good as one of *points*, (N, M)."""
        if not self.kept:
            return np.zeros(len(points), bool)
        if self._stairs is not None:
            first, second = map(np.array, self._stairs)
            at = np.searchsorted(first, points[:, 0], side="right") - 1
            return np.asarray((at >= 0) & (second[at] <= points[:, 1]))
        matched = np.ones((len(self.points), len(points)), bool)
        for own, other in zip(self.points.T, points.T, strict=True):
            matched &= own[:, None] <= other
        return np.asarray(matched.any(axis=0))

    def _is_matched(self, point: Points | Sequence[float]) -> bool:
        """True if a point of the front is as good as *point*, (M,)."""
        if self._stairs is None:
            return bool(np.less_equal(self.points, point).all(axis=1).any())
        first, second = float(point[0]), float(point[1])
        at = bisect_right(self._stairs[0], first) - 1
        return at >= 0 and self._stairs[1][at] <= second
