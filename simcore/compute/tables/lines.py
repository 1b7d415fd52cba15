"""A measured quantity along lines: one coordinate measured often, at a few values of the next."""

from collections import defaultdict

import numpy as np

from simcore.compute.tables.surface import Floats

_SAME = 1e-6
"""Logarithms to base 2 that differ by less are those of one value."""

Line = tuple[Floats, Floats]
"""Places along a line, ascending, and logarithms of the values there."""


class Lines:
    """A measured value at P points with D coordinates, which lie on lines along the first.

    Points with equal third and later coordinates form a sheet, those of a sheet with an equal
    second coordinate a line. A value is joined along both lines beside it, straight between the
    logarithms, and then across. So it rises between points wherever it rises from point to point,
    which a plane through scattered neighbours does not ensure.

    Args:
        places: (P, D), logarithms to base 2.
        values: (P,), logarithms.
    """

    def __init__(self, places: Floats, values: Floats) -> None:
        found: dict[tuple[float, ...], dict[float, list[tuple[float, float]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for place, value in zip(np.round(places, 9).tolist(), values.tolist(), strict=True):
            first, second, *others = place
            found[tuple(others)][second].append((first, value))
        self._sheets = {
            others: {second: _line(points) for second, points in sorted(lines.items())}
            for others, lines in found.items()
        }

    def at(self, wanted: Floats) -> Floats:
        """Values at the (Q, D) places *wanted*; nan where no sheet holds them or lines surround."""
        return np.array([self._one(*place) for place in np.round(wanted, 9).tolist()])

    def _one(self, first: float, second: float, *others: float) -> float:
        lines = self._sheets.get(others)
        if not lines:
            return float("nan")
        seconds = np.array(list(lines))
        right = int(np.searchsorted(seconds, second - _SAME))
        if right == len(seconds) or (right == 0 and seconds[0] > second + _SAME):
            return float("nan")
        value = _along(lines[seconds[right]], first)
        if right == 0 or seconds[right] <= second + _SAME:
            return value
        left = _along(lines[seconds[right - 1]], first)
        part = (second - seconds[right - 1]) / (seconds[right] - seconds[right - 1])
        return float(left + part * (value - left))


def _line(points: list[tuple[float, float]]) -> Line:
    ordered = np.array(sorted(points))
    return ordered[:, 0], ordered[:, 1]


def _along(line: Line, place: float) -> float:
    """Value at *place*: straight between points, that of the border beyond them."""
    return float(np.interp(place, *line))
