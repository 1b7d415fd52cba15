"""A measured quantity between its points: share of a bound, over the logarithms of a shape."""

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NEAREST = 12
"""Points that are weighed where they form no grid."""
_CLOSE = 0.05
"""Distance below which a point decides almost alone, in factors of 2."""
_RIDGE = 0.1
"""Part of the points' own spread by which their slope is held back, lest few of them decide it."""


class Surface:
    """A measured value at P points with D coordinates, all above 0.

    The points of a full grid, a few of which may be missing, are joined by multilinear
    interpolation of the logarithm of the value over the logarithms of the coordinates; others by
    a plane through the nearest ``NEAREST``. Outside of what was measured the value is that of the
    border.

    Source: W. Cleveland, "Robust Locally Weighted Regression and Smoothing Scatterplots", Journal
    of the American Statistical Association 74, 1979.

    Args:
        points: (P, D).
        values: (P,), above 0.
    """

    def __init__(self, points: Floats, values: Floats) -> None:
        places = np.log2(points)
        self._low, self._high = places.min(axis=0), places.max(axis=0)
        self._places, self._values = places, np.log(values)
        self._grid = Grid.of(places, self._values)

    def at(self, points: Floats) -> tuple[Floats, Floats]:
        """Values at the Q *points*, (Q, D), and how far they lie outside, in factors of 2."""
        return self.at_places(np.log2(points))

    def at_places(self, wanted: Floats) -> tuple[Floats, Floats]:
        """``at`` of points given by their logarithms to base 2."""
        inside = self.inside(wanted)
        beyond = np.abs(wanted - inside).max(axis=1)
        found = self._near(inside) if self._grid is None else self._grid.at(inside)
        return np.exp(found), beyond

    def inside(self, wanted: Floats) -> Floats:
        """The nearest places to those *wanted* among all that were measured."""
        return np.asarray(np.minimum(np.maximum(wanted, self._low), self._high))

    def not_below(self, wanted: Floats) -> Floats:
        """The places *wanted*, moved up to the least that was measured along each dimension."""
        return np.asarray(np.maximum(wanted, self._low))

    @property
    def is_grid(self) -> bool:
        """True if the points form a grid, but for a few."""
        return self._grid is not None

    def _near(self, wanted: Floats) -> Floats:
        """Local linear regression: a plane through the nearest points, the nearer the heavier."""
        distance = np.sqrt(((wanted[:, None, :] - self._places[None]) ** 2).sum(axis=2))
        count = min(NEAREST, self._values.size)
        nearest = np.argpartition(distance, count - 1, axis=1)[:, :count]
        near = np.take_along_axis(distance, nearest, axis=1)
        weight = 1 / (near + _CLOSE) ** 2
        weight /= weight.sum(axis=1, keepdims=True)
        step, value = self._places[nearest] - wanted[:, None, :], self._values[nearest]
        mean_step, mean = np.einsum("qk,qkd->qd", weight, step), (weight * value).sum(axis=1)
        step, value = step - mean_step[:, None, :], value - mean[:, None]
        dimensions = self._places.shape[1]
        spread = ((weight * near**2).sum(axis=1) / dimensions + _CLOSE**2) * _RIDGE
        square = np.einsum("qk,qki,qkj->qij", weight, step, step)
        square += spread[:, None, None] * np.eye(dimensions)
        slope = np.linalg.solve(square, np.einsum("qk,qkd,qk->qd", weight, step, value)[..., None])
        return np.asarray(mean - (slope[..., 0] * mean_step).sum(axis=1))


LEAST_FILLED = 0.6
"""Part of a grid that must be measured; the rest takes the value of its neighbour."""


class Grid:
    """Values on a full grid, joined by multilinear interpolation.

    Args:
        axes: Coordinates along each dimension, ascending.
        values: One per point of the grid.
    """

    def __init__(self, axes: Sequence[Floats], values: Floats) -> None:
        self._values = values.ravel()
        strides = np.array(values.strides) // values.itemsize
        # an axis of one point has no other corner
        self._axes = [
            (column, axis, np.diff(axis), int(stride))
            for column, (axis, stride) in enumerate(zip(axes, strides, strict=True))
            if axis.size > 1
        ]
        steps = [(0, stride) for *_, stride in self._axes]
        self._corners = np.array([sum(corner) for corner in product(*steps)], np.int64)[:, None]

    @classmethod
    def of(cls, places: Floats, values: Floats) -> "Grid | None":
        """The grid of these points, holes filled from the nearest of their row; None: no grid."""
        axes = [np.unique(column) for column in places.T]
        shape = tuple([axis.size for axis in axes])
        if np.prod(shape) * LEAST_FILLED > values.size:
            return None
        grid = np.full(shape, np.nan)
        pairs = zip(axes, places.T, strict=True)
        grid[tuple([np.searchsorted(axis, column) for axis, column in pairs])] = values
        for axis in range(len(shape)):
            grid = np.apply_along_axis(_filled, axis, grid)
        return cls(axes, np.ascontiguousarray(grid))

    def at(self, wanted: Floats) -> Floats:
        """Values at the (Q, D) places *wanted*, which lie inside."""
        weight = np.ones((1, len(wanted)))
        first = np.zeros(len(wanted), np.int64)
        for column, axis, width, stride in self._axes:
            place = wanted[:, column]
            index = np.minimum(axis.searchsorted(place, side="right") - 1, axis.size - 2)
            parts = np.empty((2, len(wanted)))
            np.divide(place - axis[index], width[index], out=parts[1])
            np.subtract(1, parts[1], out=parts[0])
            first += stride * index
            weight = (weight[:, None] * parts).reshape(-1, len(wanted))
        # one corner after the other: a sum in pairs would end in other digits
        return np.asarray(np.add.accumulate(weight * self._values[first + self._corners])[-1])


def _filled(row: Floats) -> Floats:
    known = np.flatnonzero(~np.isnan(row))
    if known.size == 0:
        return row
    return np.interp(np.arange(row.size), known, row[known])
