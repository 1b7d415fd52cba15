"""A memory of what was used last, within a bound."""

from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    """What knows how much memory it takes."""

    @property
    def size_bytes(self) -> int:
        """Memory taken by its arrays."""


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def in_bytes(value: Sized) -> int:
    """Weigh *value* by the memory that it takes."""
    return value.size_bytes


def _each_as_one(_: object) -> int:
    return 1


class Recent(Generic[K, V]):
    """The values used last; those unused the longest make room for new ones.

    Args:
        limit: What they may weigh together; the value used last is kept whatever it weighs.
        weight: What a value weighs, which is asked when it is put; each weighs 1 if not given.
    """

    def __init__(self, limit: int, weight: Callable[[V], int] = _each_as_one) -> None:
        self._limit, self._weight, self._total = limit, weight, 0
        self._known: dict[K, tuple[V, int]] = {}

    def get(self, key: K) -> V | None:
        """The value of *key*, if it is kept."""
        found = self._known.pop(key, None)
        if found is None:
            return None
        self._known[key] = found
        return found[0]

    def put(self, key: K, value: V) -> V:
        """Keep *value* in the place of what *key* had, weighed anew, and hand it back."""
        _, before = self._known.pop(key, (None, 0))
        weight = self._weight(value)
        self._known[key] = value, weight
        self._total += weight - before
        while self._total > self._limit and len(self._known) > 1:
            _, gone = self._known.pop(next(iter(self._known)))
            self._total -= gone
        return value

    def of(self, key: K, make: Callable[[], V]) -> V:
        """The value of *key*, made if it is not kept."""
        found = self.get(key)
        return self.put(key, make()) if found is None else found
