"""Designs that were asked for, and the objectives of those that are feasible, in few bytes each."""

from array import array
from collections.abc import Iterable, Sequence


class Archive:
    """Knows designs by their keys; see ``Genome.key``."""

    def __init__(self) -> None:
        self._rows: dict[bytes, int] = {}
        self._values = array("d")
        self._objectives = 0

    def __contains__(self, key: bytes) -> bool:
        return key in self._rows

    def add(self, keys: Iterable[bytes]) -> None:
        """Know these designs."""
        for key in keys:
            self._rows.setdefault(key, -1)

    def forget(self, key: bytes) -> None:
        """Be as if the design were not known."""
        self._rows.pop(key, None)

    def note(self, key: bytes, values: Sequence[float]) -> None:
        """Know a design with its objectives."""
        self._objectives = len(values)
        self._rows[key] = len(self._values) // max(len(values), 1)
        self._values.extend(values)

    def values(self, key: bytes) -> Sequence[float] | None:
        """Objectives that were noted of a design."""
        row = self._rows.get(key, -1)
        if row < 0:
            return None
        return self._values[row * self._objectives : (row + 1) * self._objectives]
