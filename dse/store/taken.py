"""Numbers of the trials in a store, of which some are packed: five bytes for each."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dse.store.rows import Total

Numbers = Sequence[int] | NDArray[np.int64]

_FREE, _PLAIN, _PACKED = range(3)

_FIRST = 1 << 10
_MOST = 1 << 31
"""Number from which on all count as taken: no search gets there."""


class Taken:
    """Tells which numbers are taken, and which of them by packed rows."""

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        """*numbers*: of rows that are not packed."""
        self._states = np.zeros(_FIRST, np.uint8)
        self._checksums = np.zeros(_FIRST, np.uint32)  # of packed rows
        self._set(numbers, _PLAIN)

    def are_free(self, numbers: Numbers) -> bool:
        """True if none of *numbers* is taken."""
        every = np.asarray(numbers, np.int64)
        within = every[every < len(self._states)]
        return bool(every.max(initial=0) < _MOST and not self._states[within].any())

    def add(self, numbers: Numbers) -> Total:
        """Take *numbers* for rows by themselves.

        Returns:
            Number and checksum of the packed rows in whose place these are from now on.
        """
        if len(numbers) == 1 and numbers[0] < len(self._states):
            return self._add_one(int(numbers[0]))
        every = np.unique(np.asarray(numbers, np.int64))
        within = every[every < len(self._states)]
        gone = within[self._states[within] == _PACKED]
        self._set(every, _PLAIN)
        return Total(gone.size, int(self._checksums[gone].sum(dtype=np.uint64)))

    def _add_one(self, number: int) -> Total:
        """``add`` for one number, of rows that come one by one."""
        was_packed = self._states[number] == _PACKED
        self._states[number] = _PLAIN
        return Total(1, int(self._checksums[number])) if was_packed else Total()

    def add_packed(self, numbers: NDArray[np.int64], checksums: NDArray[np.uint32]) -> None:
        """Take *numbers*, which are free, for packed rows with these *checksums*."""
        self._set(numbers, _PACKED)
        self._checksums[numbers] = checksums

    def unpack(self) -> None:
        """Note that no rows are packed any more."""
        np.minimum(self._states, _PLAIN, out=self._states)

    def forget_from(self, number: int) -> None:
        """Free all numbers from *number* on."""
        self._states[number:] = _FREE

    def _set(self, numbers: NDArray[np.int64], state: int) -> None:
        numbers = numbers[numbers < _MOST]
        end = int(numbers.max(initial=0)) + 1
        if end > len(self._states):
            further = (1 << (end - 1).bit_length()) - len(self._states)
            self._states = np.concatenate([self._states, np.zeros(further, np.uint8)])
            self._checksums = np.concatenate([self._checksums, np.zeros(further, np.uint32)])
        self._states[numbers] = state
