"""Recursive doubling: pairs at distance 1, 2, 4, ... exchange all that they have."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simcore.collectives.base import CollectiveAlgorithm, Exchange, Step
from simcore.terms import CollectiveKind


@dataclass(frozen=True, slots=True)
class RecursiveDoubling(CollectiveAlgorithm):
    """log2(n) exchanges: half the latency of halving-doubling for an all-reduce, but more bytes.

    An all-reduce exchanges the whole buffer each time and reduces it; an all-gather what has come
    together so far, 1, 2, 4, ... shares. Runs on powers of two.

    With a seconds per message, S bytes at each member, a bandwidth b and r seconds to reduce a
    byte: log2(n) (a + S / b + r S) for an all-reduce, log2(n) a + (n - 1) S / b for an all-gather.

    Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
    Operations in MPICH", IJHPCA 19(1), 2005.
    """

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        power_of_two = members >= 2 and members & (members - 1) == 0
        return power_of_two and kind in (CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER)

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        masks = [1 << level for level in range(members.bit_length() - 1)]
        if kind is CollectiveKind.ALL_GATHER:
            return [Step(size=Fraction(mask), peer=Exchange(mask)) for mask in masks]
        return [Step(size=Fraction(1), peer=Exchange(mask), reduces=True) for mask in masks]
