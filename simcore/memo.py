"""Memory of what runs have in common: each step's answers by what they depend on, one budget."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

V = TypeVar("V")

SMALL_BYTES = 1024
"""Estimate of what an answer takes that does not say it."""


class Memo:
    """Answers of the steps of a run, those used last; the ones unused the longest make room.

    Args:
        limit_bytes: What all answers may take together; the one used last is always kept. An
            answer with ``size_bytes`` says once what it takes or will usually grow to.
    """

    def __init__(self, limit_bytes: int = 5 * 2**26) -> None:
        self._limit_bytes, self._taken_bytes = limit_bytes, 0
        self._known: OrderedDict[tuple[str, Hashable], tuple[object, int]] = OrderedDict()

    def of(self, step: str, key: Hashable, make: Callable[[], V]) -> V:
        """The answer of *step* for *key*, all that it depends on; made if it is not kept."""
        place = step, key
        found = self._known.get(place)
        if found is None:
            return self.put(step, key, make())
        self._known.move_to_end(place)
        return cast("V", found[0])

    def put(self, step: str, key: Hashable, answer: V) -> V:
        """Keep *answer* in the place of what *step* gave for *key* before, and hand it back."""
        size_bytes = getattr(answer, "size_bytes", SMALL_BYTES)
        _, before_bytes = self._known.pop((step, key), (None, 0))
        self._known[step, key] = answer, size_bytes
        self._taken_bytes += size_bytes - before_bytes
        while self._taken_bytes > self._limit_bytes and len(self._known) > 1:
            _, (_, gone_bytes) = self._known.popitem(last=False)
            self._taken_bytes -= gone_bytes
        return answer
