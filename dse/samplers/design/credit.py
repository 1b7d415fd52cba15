"""How often each move is made: in part as planned, in part as it has been of use lately."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from random import Random

_KEPT = 0.98
"""Weight of what is known about a move when more becomes known."""

_PLANNED = 0.3


class Credit:
    """Draws moves by their shares, and learns the shares."""

    def __init__(self, shares: Sequence[float]) -> None:
        self._base = [share / sum(shares) for share in shares]
        self._gain, self._used = [1.0] * len(shares), [1.0] * len(shares)
        self._sums: list[float] = []
        self._settle()

    def draw(self, random: Random) -> int:
        """The number of a move."""
        return bisect_right(self._sums, random.random() * self._sums[-1])

    def learn(self, moves: Sequence[int], *, is_progress: bool) -> None:
        """A design made by *moves* has been evaluated; was it better than what was known?"""
        for at in set(moves):
            self._used[at] = _KEPT * self._used[at] + 1.0
            self._gain[at] = _KEPT * self._gain[at] + is_progress
        if moves:
            self._settle()

    def _settle(self) -> None:
        triples = zip(self._gain, self._used, self._base, strict=True)
        rates = [gain / used * base for gain, used, base in triples]
        total = sum(rates)
        pairs = zip(rates, self._base, strict=True)
        self._sums = list(
            accumulate(_PLANNED * base + (1 - _PLANNED) * rate / total for rate, base in pairs)
        )
