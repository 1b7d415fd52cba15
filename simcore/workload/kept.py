"""A memory that is bounded by the bytes that it takes."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    """What knows how much memory it takes."""

    @property
    def size_bytes(self) -> int:
        """Memory taken by its arrays."""


K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Sized)


class Kept(Generic[K, V]):
    """The values used last.

    Args:
        limit_bytes: Memory that they may take; the last one is always kept.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes, self._bytes = limit_bytes, 0
        self._known: OrderedDict[K, V] = OrderedDict()

    def of(self, key: K, make: Callable[[], V]) -> V:
        """The value of *key*, made if it is not known."""
        found = self._known.pop(key, None)
        if found is None:
            found = make()
            self._bytes += found.size_bytes
        self._known[key] = found
        while self._bytes > self._limit_bytes and len(self._known) > 1:
            _, oldest = self._known.popitem(last=False)
            self._bytes -= oldest.size_bytes
        return found
