"""Facts that several processes need, each worked out by one of them and told to the others."""

import pickle
from collections.abc import Callable, Hashable, Mapping
from typing import Generic, TypeVar, cast

Key = TypeVar("Key", bound=Hashable)
Fact = TypeVar("Fact")


class FactBook(Generic[Key]):
    """Packed facts: those that other processes told, and those that they have not been told yet.

    A fact depends on nothing but its key, so that whoever is told it is spared the time, no more.
    """

    __slots__ = ("_new", "_told")

    def __init__(self) -> None:
        self._told: dict[Key, bytes] = {}
        self._new: dict[Key, bytes] | None = None

    def worked_out(self) -> dict[Key, bytes]:
        """Facts that were worked out here since this was last asked; before the first time none."""
        found, self._new = self._new or {}, {}
        return found

    def take(self, facts: Mapping[Key, bytes]) -> None:
        """Take facts that another process has worked out."""
        self._told |= facts

    def fact(self, key: Key, make: Callable[[], Fact]) -> Fact:
        """The fact of *key*, which is asked for once: as it was told, or else made here."""
        told = self._told.pop(key, None)
        if told is not None:
            return cast("Fact", pickle.loads(told))
        made = make()
        if self._new is not None:
            self._new[key] = pickle.dumps(made, pickle.HIGHEST_PROTOCOL)
        return made
