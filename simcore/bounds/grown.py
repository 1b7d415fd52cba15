"""Tables that grow row by row, and are read as arrays in between."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Grown:
    """Rows of a table, packed once each: reading it costs the rows since it was last read.

    Args:
        dtype: Of a row, or of its numbers.
        shape: Of the numbers of a row; (): a row is one value.
    """

    def __init__(self, dtype: DTypeLike, shape: tuple[int, ...] = ()) -> None:
        self._shape = shape
        self._held: NDArray[Any] = np.empty((0, *self._shape), dtype)
        self._packed, self._waiting = 0, list[Any]()

    def __len__(self) -> int:
        return self._packed + len(self._waiting)

    def append(self, row: Any) -> None:
        """Add a row."""
        self._waiting.append(row)

    def extend(self, rows: Iterable[Any]) -> None:
        """Add some rows."""
        self._waiting.extend(rows)

    def join(self, rows: NDArray[Any]) -> None:
        """Add the rows of an array."""
        begin = len(self.array())
        self._reserve(begin + len(rows))
        self._packed = begin + len(rows)
        self._held[begin : self._packed] = rows

    def array(self) -> NDArray[Any]:
        """All rows; what is added later does not change it."""
        if self._waiting:
            size = len(self)
            self._reserve(size)
            self._held[self._packed : size] = np.array(self._waiting, self._held.dtype)
            self._packed = size
            self._waiting.clear()
        return self._held[: self._packed]

    def _reserve(self, size: int) -> None:
        """Make room for so many rows."""
        if size > len(self._held):
            room = np.empty((max(size, 2 * len(self._held)), *self._shape), self._held.dtype)
            room[: self._packed] = self._held[: self._packed]
            self._held = room

    def array_and(self, last: Any) -> NDArray[Any]:
        """All rows, and a *last* one that is none of them."""
        rows = self.array()
        return np.concatenate([rows, np.array([last], rows.dtype)])
