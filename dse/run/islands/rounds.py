"""Rounds of islands, and the numbers of their trials.

A round is one turn of all islands. Its trials are numbered place by place, and island by island at
each place: so the first trials of a study are the same ones however many there will be.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 16
"""Designs that an island proposes at once: a lesson of `design`, which learns nothing between."""

_GROWN, _PART, _LONGEST = 320, 10, 1024
"""Trials of an island from which on its rounds grow: to so small a part of them, and so long at
most. A message and a wait for others then cost less, and more designs are evaluated at once."""

_REMEMBERED = 8
"""Rounds of islands of which all numbers are kept."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """Numbers of the trials of all rounds.

    All islands make as many trials of a round, unless it is told how many each makes (``settle``).

    Attributes:
        islands: Number of islands.
        length: Trials of each island in a round, the first ones at least.
        grows: Whether later rounds are longer: for searches that learn from ever more results at
            once (``Proposer.in_lessons``), which know all but a tenth of them then.
    """

    islands: int
    length: int
    grows: bool = False
    _begins: list[int] = field(default_factory=lambda: [0], init=False, repr=False, compare=False)
    """First trials of the rounds of a mean island, as many as were asked for."""
    _shares: list[Sequence[int]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )
    """Trials of each island, by round, of those that are settled."""
    _firsts: list[Sequence[int]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )
    """Trials that each island has made before each of these rounds, and before the next one."""
    _kept: dict[tuple[int, int], Sequence[int]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Numbers of trials by island and round, of some whose islands make unlike many."""
    _are_even: list[bool] = field(default_factory=list, init=False, repr=False, compare=False)
    """Flags of the settled rounds: all islands make as many."""

    def __post_init__(self) -> None:
        self._firsts.append((0,) * self.islands)

    def anew(self) -> "Rounds":
        """Copy of the rounds, none of which is settled."""
        return Rounds(islands=self.islands, length=self.length, grows=self.grows)

    @property
    def settled(self) -> int:
        """Number of the first round that is not settled."""
        return len(self._shares)

    def settle(self, turn: int, shares: Sequence[int]) -> None:
        """Let the islands make *shares* of the first round that is not settled.

        Nothing changes where round *turn* is settled already: several orders tell of one round.
        """
        if turn < self.settled:
            return
        assert turn == self.settled, "rounds are settled one after the other"
        assert sum(shares) == self.size(turn), "a round keeps its size"
        self._shares.append(tuple(shares))
        self._are_even.append(len(set(shares)) == 1)
        pairs = zip(self._firsts[-1], shares, strict=True)
        self._firsts.append(tuple([before + own for before, own in pairs]))

    def begin(self, turn: int) -> int:
        """Trials of all islands before round *turn*."""
        return self._mean_begin(turn) * self.islands

    def size(self, turn: int) -> int:
        """Trials of round *turn*, of all islands."""
        return self.begin(turn + 1) - self.begin(turn)

    def shares(self, turn: int) -> Sequence[int]:
        """Trials of each island in round *turn*."""
        if turn < self.settled:
            return self._shares[turn]
        return (self.size(turn) // self.islands,) * self.islands

    def first(self, island: int, turn: int) -> int:
        """Trials that an island has made before round *turn*."""
        known = min(turn, self.settled)
        further = self._mean_begin(turn) - self._mean_begin(known)
        return self._firsts[known][island] + further

    def turn(self, island: int, own: int) -> int:
        """Round of the trial that is *own* of an island."""
        further = own - self._firsts[-1][island]
        if further < 0:
            return bisect_right(self._firsts, own, key=lambda firsts: firsts[island]) - 1
        mean = self._mean_begin(self.settled) + further
        while self._begins[-1] <= mean:
            self._mean_begin(len(self._begins))
        return bisect_right(self._begins, mean) - 1

    def number(self, island: int, own: int) -> int:
        """Number in the study of the trial that is *own* of an island, both from 0."""
        turn = self.turn(island, own)
        return self.numbers(island, turn)[own - self.first(island, turn)]

    def numbers(self, island: int, turn: int) -> Sequence[int]:
        """Numbers in the study of an island's trials of round *turn*."""
        if turn < self.settled and not self._are_even[turn]:
            return self._uneven(island, turn)
        begin = self.begin(turn)
        return range(begin + island, begin + self.size(turn), self.islands)

    def owners(self, turn: int) -> NDArray[np.int64]:
        """Islands that make the trials of round *turn*, in the order of their numbers."""
        shares = np.array(self.shares(turn))
        has_one = np.arange(shares.max())[:, None] < shares
        return np.nonzero(has_one)[1]

    def share(self, island: int, turn: int, limit: int) -> int:
        """Trials of an island in round *turn* of a study of *limit* trials."""
        return bisect_left(self.numbers(island, turn), limit)

    def proposed(self, island: int, told: int) -> int:
        """Trials that an island has proposed once it knows the outcomes of *told* ones."""
        turn = self.turn(island, told)
        first, end = self.first(island, turn), self.first(island, turn + 1)
        if self.size(turn) > self.length * self.islands:
            return end
        return min(first + ((told - first) // _AT_ONCE + 1) * _AT_ONCE, end)

    def _uneven(self, island: int, turn: int) -> Sequence[int]:
        """Numbers of an island's trials of round *turn*, of which not all make as many."""
        found = self._kept.get((island, turn))
        if found is None:
            shares = np.array(self._shares[turn])
            places = np.arange(shares[island])
            more = self.islands - np.searchsorted(np.sort(shares), places, side="right")
            before = island - np.searchsorted(np.sort(shares[:island]), places, side="right")
            first = self.begin(turn) + np.cumsum(more) - more  # of each place
            if len(self._kept) >= _REMEMBERED:
                self._kept.pop(next(iter(self._kept)))
            found = self._kept[island, turn] = (first + before).tolist()
        return found

    def _mean_begin(self, turn: int) -> int:
        """Trials that an island has made before round *turn*, in the mean of all."""
        while len(self._begins) <= turn:
            own = self._begins[-1]
            grown = min(own // _PART, _LONGEST) if self.grows and own >= _GROWN else 0
            self._begins.append(own + max(self.length, grown))
        return self._begins[turn]
