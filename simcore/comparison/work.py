"""Work of an NPU at each instant: one thing, so that times sum to the whole."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple


@dataclass(frozen=True, slots=True, order=True)
class Work:
    """Kind of work, and the pass that it serves.

    Attributes:
        kind: ``products``, ``attention``, ``all-reduce``, ``messages``, ``idle`` and so on.
        phase: ``forward``, ``backward`` or ``optimizer``; empty where that is not told.
    """

    kind: str
    phase: str = ""

    def __str__(self) -> str:
        return f"{self.kind}, {self.phase}" if self.phase not in ("", self.kind) else self.kind


IDLE = Work("idle")
COMPUTES, COMMUNICATES, WAITS = range(3)
"""Ranks of slices: of those at one instant, the first one has it. Kernels of messages wait for
their partner beside whatever else runs, so that they come last."""


class Slice(NamedTuple):
    """Work from *start_ns* to *end_ns*; *rank*: which of several at an instant has it."""

    start_ns: int
    end_ns: int
    rank: int
    work: Work


def spent_ns(slices: Iterable[Slice], begin_ns: int, end_ns: int) -> Counter[Work]:
    """Nanoseconds of each kind of work from *begin_ns* to *end_ns*; the rest is idle.

    Communication beside computation is hidden, and counts as nothing. Of slices of one rank the
    earliest has the instant.
    """
    spent: Counter[Work] = Counter()
    running: list[tuple[int, int, int, Work]] = []
    now = begin_ns
    for number, one in enumerate(sorted(slices)):
        if one.end_ns > begin_ns and one.start_ns < end_ns:
            now = _go_on(running, now, max(one.start_ns, begin_ns), spent)
            heappush(running, (one.rank, number, one.end_ns, one.work))
    _go_on(running, now, end_ns, spent)
    return spent


def _go_on(
    running: list[tuple[int, int, int, Work]], now: int, until: int, spent: Counter[Work]
) -> int:
    """Book the time from *now* to *until*, where nothing begins."""
    while now < until:
        while running and running[0][2] <= now:
            heappop(running)
        work, stop = (running[0][3], min(running[0][2], until)) if running else (IDLE, until)
        spent[work] += stop - now
        now = stop
    return now
