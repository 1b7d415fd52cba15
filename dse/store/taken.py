"""Numbers of the trials in a store, of which some are packed: a byte for each."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
        self._set(numbers, _PLAIN)

    def are_free(self, numbers: Numbers) -> bool:
        """True if none of *numbers* is taken."""
        every = np.asarray(numbers, np.int64)
        within = every[every < len(self._states)]
        return bool(every.max(initial=0) < _MOST and not self._states[within].any())

    def are_packed(self, numbers: Numbers) -> bool:
        """True if a row with one of *numbers* is packed."""
        every = np.asarray(numbers, np.int64)
        return bool((self._states[every[every < len(self._states)]] == _PACKED).any())

    def add(self, numbers: Numbers) -> None:
        """Take *numbers* for rows by themselves."""
        self._set(np.asarray(numbers, np.int64), _PLAIN)

    def add_packed(self, numbers: NDArray[np.int64]) -> None:
        """Take *numbers*, which are free, for packed rows."""
        self._set(numbers, _PACKED)

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
            larger = np.zeros(1 << (end - 1).bit_length(), np.uint8)
            larger[: len(self._states)] = self._states
            self._states = larger
        self._states[numbers] = state
