"""Finds where the groups of many designs lie: each layout on each shape of a network, once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from simcore.bounds.machine_terms import Layout, Places

Ints = NDArray[np.int64]

_NOWHERE = -1
_UNKNOWN = -2


@dataclass(slots=True, eq=False)
class PlaceIndex:
    """A table of the places of layouts on shapes, filled as far as designs ask for them.

    A shape is a number with one digit per dimension, the position of its size among all sizes.
    """

    places: Places
    _sizes: tuple[int, ...] = ()
    _table: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    _known: dict[tuple[int, ...], int] = field(default_factory=dict)

    def find(
        self, layouts: Sequence[Layout], npus_of_link: Ints, layout: Ints, links: Ints
    ) -> Ints:
        """Number of each design's place.

        Args:
            layouts: All of them.
            npus_of_link: Per kind of link, the size of a dimension of it.
            layout: (N,) one per design, negative where there is none.
            links: (N, D) kinds of link.

        Returns:
            (N,) int64; -1 where the plan has other NPUs than the network or does not tile it.
        """
        sizes, digits = np.unique(npus_of_link, return_inverse=True)
        self._reserve(len(layouts), tuple(sizes.tolist()), links.shape[1])
        key = layout.copy()
        for d in range(links.shape[1]):
            key *= sizes.size
            key += digits[links[:, d]]
        missing = layout < 0
        if missing.any():
            key[missing] = self._table.size - 1
        found = self._table[key]
        if (found == _UNKNOWN).any():
            for number in np.unique(key[found == _UNKNOWN]).tolist():
                self._table[number] = self._place(layouts, number, links.shape[1])
            found = self._table[key]
        return found

    def _reserve(self, layouts: int, sizes: tuple[int, ...], dimensions: int) -> None:
        """Make room for all layouts on all shapes; the last entry is for no layout."""
        kept = self._table[:-1] if sizes == self._sizes else self._table[:0]
        room = layouts * len(sizes) ** dimensions - kept.size
        if sizes != self._sizes or room or not self._table.size:
            fresh = np.full(room, _UNKNOWN, np.int64)
            self._sizes, self._table = sizes, np.concatenate([kept, fresh, [_NOWHERE]])

    def _place(self, layouts: Sequence[Layout], number: int, dimensions: int) -> int:
        shape: list[int] = []
        for _ in range(dimensions):
            number, digit = divmod(number, len(self._sizes))
            shape.insert(0, self._sizes[digit])
        npus, groups = layouts[number]
        if prod(shape) != npus:
            return _NOWHERE
        key = (number, *shape)
        if key not in self._known:
            self._known[key] = self.places.add(npus, groups, shape)
        return self._known[key]
