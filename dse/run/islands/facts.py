"""Facts of plans on their way from the islands that have worked them out to all others."""

import pickle
from collections.abc import Sequence

from dse.evaluate.workers.crew import Shared
from dse.run.islands.messages import Report

MOST_BYTES = 1 << 28
"""Bytes of facts that are sent to all islands together: with thousands of them, few to each."""


_OF_ONE = 1 << 20
"""Bytes of facts that an island works out in its first round, about."""


class SharedFacts:
    """Facts of plans, each handed on once, and how many of them each island has been told."""

    def __init__(self, islands: int) -> None:
        self._room = MOST_BYTES // islands
        self._seen = set[tuple[int, str, int, str]]()
        self._packed: list[Shared] = []
        self._from: list[int] = []
        self._told = [0] * islands

    def are_wanted(self, island: int) -> bool:
        """True if *island* is to tell what it works out: of thousands the first one suffices."""
        return self._room > island * _OF_ONE

    @property
    def all(self) -> Sequence[Shared]:
        """All that were handed on."""
        return self._packed

    def add(self, report: Report) -> None:
        """Take what an island has worked out, as far as nobody has before, and there is room."""
        new = {of: fact for of, fact in report.facts.items() if of not in self._seen}
        if not new or self._room <= 0:
            return
        self._seen.update(new)
        self._packed.append(Shared(pickle.dumps(new)))
        self._from.append(report.island)
        self._room -= len(self._packed[-1].packed)

    def untold(self, island: int) -> Sequence[Shared]:
        """Facts of others that an island is told now, since it has not been before."""
        first, self._told[island] = self._told[island], len(self._packed)
        places = range(first, len(self._packed))
        return [self._packed[at] for at in places if self._from[at] != island]

    def forget(self, island: int) -> None:
        """Tell an island all again: it begins anew, on another worker."""
        self._told[island] = 0
        self._from = [-1 if own == island else own for own in self._from]
