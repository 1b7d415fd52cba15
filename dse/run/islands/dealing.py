"""Trials of islands in the rounds to come, such that all have as much to do.

What a search proposes decides how much it has to do: a design that is known or proven to be beaten
takes a fifth of the time of one that is evaluated. By chance one of two islands evaluated a fifth
more designs than the other, which waited for it. How much there is to do is counted, never timed,
so that a study's rows stay the same on whatever machine.
"""

from collections.abc import Sequence

import numpy as np

from dse.run.islands.island import AHEAD
from dse.run.islands.rounds import Rounds
from dse.study.stretch import Flags
from simcore import plain_sum

_EVALUATED = 5.0
"""Time of a trial that is evaluated, by that of another; of a design of a millisecond, the least
that islands are for."""

_LEAST, _MOST = 0.5, 1.5
"""Share of an island that is aimed at, by the mean one, at least and at most.

All shares are then made to add up to the round, which leaves each a third of the mean at least.
"""

Floats = list[float]


class Dealing:
    """Settles *rounds* one after the other, as soon as an island may begin them."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._work: Floats = [0.0] * rounds.islands
        self._each: Floats = [0.0] * rounds.islands  # of late, per trial

    def conclude(self, turn: int, are_cheap: Flags) -> None:
        """Settle the round that may begin once round *turn* is known.

        Args:
            turn: The round.
            are_cheap: Flags of its trials that were not evaluated.
        """
        rounds, new = self._rounds, turn + 1 + AHEAD
        self._count(turn, are_cheap)
        while rounds.settled < new:
            rounds.settle(rounds.settled, rounds.shares(rounds.settled))
        even = rounds.shares(new)
        rounds.settle(new, even if even[0] <= rounds.length else self._dealt(turn, new))

    def _count(self, turn: int, are_cheap: Flags) -> None:
        owners, islands = self._rounds.owners(turn), self._rounds.islands
        weights = np.where(are_cheap, 1.0, _EVALUATED)
        work = np.bincount(owners, weights, islands).tolist()
        counts = np.bincount(owners, minlength=islands).tolist()
        for island, (own, count) in enumerate(zip(work, counts, strict=True)):
            each = own / count
            self._work[island] += own
            self._each[island] = 0.5 * (self._each[island] + each) if turn else each

    def _dealt(self, turn: int, new: int) -> Sequence[int]:
        """Trials of each island with which all have done as much after round *new*, if they can."""
        rounds, every = self._rounds, range(self._rounds.islands)
        under_way = [rounds.first(one, new) - rounds.first(one, turn + 1) for one in every]
        work = [self._work[one] + self._each[one] * under_way[one] for one in every]
        size, mean = rounds.size(new), rounds.size(new) / rounds.islands
        speed = [1.0 / each for each in self._each]
        done = [work[one] * speed[one] for one in every]  # in trials
        level = (size + plain_sum(done)) / plain_sum(speed)
        wanted = [(level - work[one]) * speed[one] for one in every]
        return _whole([min(max(own, _LEAST * mean), _MOST * mean) for own in wanted], size)


def _whole(parts: Floats, size: int) -> Sequence[int]:
    """Whole numbers in the proportion of *parts* that add up to *size*."""
    total, passed, found = plain_sum(parts), 0.0, list[int]()
    for part in parts:
        passed += part
        found.append(round(size * passed / total) - sum(found))
    return found
