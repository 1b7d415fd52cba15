"""Designs that were asked for, and the objectives of those that are feasible, in few bytes each."""

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dse.samplers.design.columns.genomes import Flags, Floats, Keys
from simcore import add_keys, best_design, find_keys

_FIRST = 1 << 10
"""Places of a new table; it is made larger before more than half of them are taken."""

_UNNOTED, _FORGOTTEN = -2, -3
"""Notes of a design that is known, and of one that is not known any more."""


class KeyTable:
    """Whole numbers that are noted of keys, from 0 on, about 12 to 24 bytes each."""

    def __init__(self) -> None:
        self._keys: Keys = np.zeros(_FIRST, np.int64)
        self._notes = np.zeros(_FIRST, np.int32)
        self._taken = 0
        self._one, self._its_note = np.zeros(1, np.int64), np.zeros(1, np.int32)

    @property
    def columns(self) -> tuple[Keys, NDArray[np.int32]]:
        """Keys and notes, as kernels read them; of the moment."""
        return self._keys, self._notes

    def find(self, keys: Keys) -> NDArray[np.int32]:
        """(N,) the note of each key; -1: there is none."""
        found = np.empty(keys.size, np.int32)
        find_keys(self._keys, self._notes, keys, found)
        return found

    def put(self, keys: Keys, notes: NDArray[np.int32]) -> int:
        """Note something of each of *keys*, in place of what was noted before.

        Returns:
            Number of keys of which nothing was noted.
        """
        if 2 * (self._taken + keys.size) > self._keys.size:
            self._grow(self._taken + keys.size)
        added = int(add_keys(self._keys, self._notes, keys, notes))
        self._taken += added
        return added

    def get(self, key: int) -> int:
        """The note of one key; -1: there is none."""
        self._one[0] = key
        find_keys(self._keys, self._notes, self._one, self._its_note)
        return int(self._its_note[0])

    def set(self, key: int, note: int) -> None:
        """``put`` for one key."""
        self._one[0], self._its_note[0] = key, note
        self.put(self._one, self._its_note)

    def note(self, key: int, note: int) -> bool:
        """Note something of one key, unless something is noted; whether that was done."""
        is_new = self.get(key) < 0
        if is_new:
            self.set(key, note)
        return is_new

    def _grow(self, keys: int) -> None:
        size = 1 << (4 * keys - 1).bit_length()
        held = np.flatnonzero(self._keys)
        old = self._keys[held], self._notes[held]
        self._keys, self._notes = np.zeros(size, np.int64), np.zeros(size, np.int32)
        add_keys(self._keys, self._notes, *old)


class Archive:
    """Knows designs by their keys; see ``Genome.key``."""

    def __init__(self) -> None:
        self._table = KeyTable()
        self._values = array("d")
        self._objectives = 0

    def __contains__(self, key: int) -> bool:
        return self._table.get(key) not in (-1, _FORGOTTEN)

    def best(
        self,
        keys: Keys,
        opened: Flags,
        left: Flags,
        told: tuple[Floats, Floats, float],
    ) -> int:
        """Number of the most promising of some designs that is not known here; -1: all are.

        Args:
            keys: (N,) of the designs.
            opened: (N,) those that may not be known; the others that are met are closed.
            left: (N,) those that may be chosen.
            told: Promise, weights, and what the sum counts, as of ``best_design``.
        """
        return int(best_design(*told, opened, left, keys, *self._table.columns, _UNNOTED))

    def knows(self, keys: Keys) -> Flags:
        """(N,) True of keys of designs that are known."""
        notes = self._table.find(keys)
        return np.asarray((notes != -1) & (notes != _FORGOTTEN))

    def add(self, keys: Keys) -> None:
        """Know these designs."""
        new = keys[~self.knows(keys)]
        self._table.put(new, np.full(new.size, _UNNOTED, np.int32))

    def add_one(self, key: int) -> None:
        """Know one design."""
        if key not in self:
            self._table.set(key, _UNNOTED)

    def forget(self, key: int) -> None:
        """Be as if the design were not known."""
        self._table.set(key, _FORGOTTEN)

    def note(self, key: int, values: Sequence[float]) -> None:
        """Know a design with its objectives."""
        self._objectives = len(values)
        row = len(self._values) // max(len(values), 1)
        self._table.set(key, row)
        self._values.extend(values)

    def values(self, key: int) -> Sequence[float] | None:
        """Objectives that were noted of a design."""
        row = self._table.get(key)
        if row < 0:
            return None
        return self._values[row * self._objectives : (row + 1) * self._objectives]
