"""Recursive doubling: at distance 1, 2, 4, ... members send all that they have."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simcore.collectives.base import CollectiveAlgorithm, Exchange, Offset, Step
from simcore.collectives.bruck import Bruck
from simcore.terms import CollectiveKind


@dataclass(frozen=True, slots=True)
class RecursiveDoubling(CollectiveAlgorithm):
    """ceil(log2 n) steps: half the latency of halving-doubling for an all-reduce, but more bytes.

    Among a power of two, pairs exchange: in an all-reduce the whole buffer, which they reduce; in
    an all-gather what has come together so far, 1, 2, 4, ... shares.

    Among others a member sends sums over windows of 1, 2, 4, ... members, ending with itself. The
    binary digits of n say which windows make up the whole: a second sum, over the members of the
    lower digits, goes along where a digit is 1. An all-gather is that of Bruck.

    With a seconds per message, S bytes at each member, a bandwidth b and r seconds to reduce a
    byte: ceil(log2 n) a + m (S / b + r S) for an all-reduce, where m is floor(log2 n) plus the
    digits of n that are 1, less one; ceil(log2 n) a + (n - 1) S / b for an all-gather.

    Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
    Operations in MPICH", IJHPCA 19(1), 2005; for any count, A. Bar-Noy, S. Kipnis, B. Schieber, "An
    Optimal Algorithm for Computing Census Functions in Message-Passing Systems", PPL 3(1), 1993.
    """

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return members >= 2 and kind in (CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER)

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        masks = [1 << level for level in range(members.bit_length() - 1)]
        gathers = kind is CollectiveKind.ALL_GATHER
        if members & (members - 1) == 0:
            sizes = [Fraction(mask if gathers else 1) for mask in masks]
            return [
                Step(size=size, peer=Exchange(mask), reduces=not gathers)
                for size, mask in zip(sizes, masks, strict=True)
            ]
        return Bruck().steps(kind, members) if gathers else _census(members, masks)


def _census(members: int, windows: Sequence[int]) -> list[Step]:
    """Steps of an all-reduce among a count that is no power of two."""
    both = [bool(members & window) and members % window > 0 for window in windows]
    doubled = [
        Step(size=Fraction(1 + also), peer=Offset(window), reduces=True)
        for window, also in zip(windows, both, strict=True)
    ]
    return [*doubled, Step(size=Fraction(1), peer=Offset(2 * windows[-1]), reduces=True)]
