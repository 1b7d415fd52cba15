"""What is known of collectives already: kept as long as its owner keeps it, up to a bound."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from simcore.system.collective_time import CollectiveTime
from simcore.system.engine_input import Ints
from simcore.system.phases import Phase
from simcore.system.placement import Placement
from simcore.terms import CollectiveKind

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The latest *limit* entries; what is put beyond displaces the oldest."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value of *key*, if it is kept."""
        return self._known.get(key)

    def put(self, key: K, value: V) -> V:
        """Keep *value*, and hand it back."""
        if len(self._known) >= self._limit:
            del self._known[next(iter(self._known))]
        self._known[key] = value
        return value


Rows = Recent[tuple[str, CollectiveKind, int, bool], list[int]]
"""By algorithm, kind, members and whether these are a list: a row of ``kernels.phase_row``."""


class CollectiveCache:
    """Shared by the machines of a search: what depends on nothing but its key.

    Attributes:
        programs: The phases of a collective, whatever its size and the machine's speeds.
        rows: The program of a phase.
        times: By machine and system layer, the times of collectives.
    """

    def __init__(self, limit: int = 4096) -> None:
        self.programs: Recent[Hashable, tuple[tuple[Phase, ...], Ints]] = Recent(limit)
        self.rows: Rows = Recent(limit)
        self.times: Recent[
            Hashable, dict[tuple[CollectiveKind, Placement, int], CollectiveTime]
        ] = Recent(limit)
