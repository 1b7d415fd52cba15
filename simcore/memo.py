"""Memory of what runs have in common: each step's answers by what they depend on, one budget.

What processes tell each other of it goes through ``FactBook``.
"""

import pickle
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

SMALL_BYTES = 1024
"""Estimate of what an answer takes that does not say it."""


@dataclass(slots=True, eq=False)
class _Kept:
    """An answer, what it takes, and by number of the use when it was queued and when last used."""

    answer: object
    size_bytes: int
    queued: int
    used: int


class Key:
    """Things that an answer depends on, hashed once.

    A workload and a plan have dozens of fields each, and a dozen steps ask about both: to hash them
    at every step took a fifth of the time in which a plan is laid out.
    """

    __slots__ = ("_hash", "parts")

    def __init__(self, *parts: object) -> None:
        self.parts, self._hash = parts, hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Key):
            return NotImplemented
        return self._hash == other._hash and self.parts == other.parts


_latest = [Key(None, None)]
"""Key of the pair that was asked for last: the steps of a run ask one after the other."""


def key_of(one: object, other: object) -> Key:
    """Key of a pair, such as a workload and a plan; the pair asked for last is not hashed again."""
    latest = _latest[0]
    if latest.parts[0] is not one or latest.parts[1] is not other:
        latest = _latest[0] = Key(one, other)
    return latest


_ones: dict[int, Key] = {}
"""Keys of things that were asked for last, by their ids, which they keep as the keys hold them."""

_MOST_ONES = 16


def key_of_one(thing: object) -> Key:
    """Key of a thing that takes long to hash, such as a model; hashed again only after others."""
    found = _ones.get(id(thing))
    if found is None:
        if len(_ones) >= _MOST_ONES:
            _ones.clear()
        found = _ones[id(thing)] = Key(thing)
    return found


class Memo:
    """Answers of the steps of a run; the ones unused the longest make room.

    Keys are long, so that each is hashed but once per use: an answer stays in its place in the
    queue until that place is reached, and goes to the end if it was used since.

    Args:
        limit_bytes: What all answers may take together; the one used last is always kept. An
            answer with ``size_bytes`` says once what it takes or will usually grow to.
    """

    def __init__(self, limit_bytes: int = 5 * 2**26) -> None:
        self._limit_bytes, self._taken_bytes, self._uses = limit_bytes, 0, 0
        self._known: dict[tuple[str, Hashable], _Kept] = {}
        self._queue: deque[tuple[str, Hashable]] = deque()

    def of(self, step: str, key: Hashable, make: Callable[[], V]) -> V:
        """The answer of *step* for *key*, all that it depends on; made if it is not kept."""
        found = self._known.get((step, key))
        if found is None:
            return self.put(step, key, make())
        self._uses += 1
        found.used = self._uses
        return cast("V", found.answer)

    def put(self, step: str, key: Hashable, answer: V) -> V:
        """Keep *answer* in the place of what *step* gave for *key* before, and hand it back."""
        self._uses += 1
        place, size_bytes = (step, key), getattr(answer, "size_bytes", SMALL_BYTES)
        new = _Kept(answer, size_bytes, self._uses, self._uses)
        kept = self._known.setdefault(place, new)
        self._taken_bytes += size_bytes
        if kept is new:
            self._queue.append(place)
        else:
            self._taken_bytes -= kept.size_bytes
            kept.answer, kept.size_bytes, kept.used = answer, size_bytes, self._uses
        while self._taken_bytes > self._limit_bytes and len(self._queue) > 1:
            self._let_go()
        return answer

    def _let_go(self) -> None:
        """Let the first answer of the queue go, or put it at its end."""
        place = self._queue.popleft()
        kept = self._known[place]
        if kept.used > kept.queued or kept.used == self._uses:
            kept.queued = kept.used
            self._queue.append(place)
            return
        del self._known[place]
        self._taken_bytes -= kept.size_bytes


class FactBook(Generic[K]):
    """Packed facts: those that other processes told, and those that they have not been told yet.

    A fact depends on nothing but its key, so that whoever is told it is spared the time, no more.
    """

    __slots__ = ("_new", "_told")

    def __init__(self) -> None:
        self._told: dict[K, bytes] = {}
        self._new: dict[K, bytes] | None = None

    def worked_out(self) -> dict[K, bytes]:
        """Facts that were worked out here since this was last asked; before the first time none."""
        found, self._new = self._new or {}, {}
        return found

    def take(self, facts: Mapping[K, bytes]) -> None:
        """Take facts that another process has worked out."""
        self._told |= facts

    def fact(self, key: K, make: Callable[[], V]) -> V:
        """The fact of *key*, which is asked for once: as it was told, or else made here."""
        told = self._told.pop(key, None)
        if told is not None:
            return cast("V", pickle.loads(told))
        made = make()
        if self._new is not None:
            self._new[key] = pickle.dumps(made, pickle.HIGHEST_PROTOCOL)
        return made
