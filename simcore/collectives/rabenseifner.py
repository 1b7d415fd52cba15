"""Rabenseifner: a reduce-scatter, then an all-gather, of as few steps as there can be."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simcore.collectives.base import CollectiveAlgorithm, Offset, Step
from simcore.terms import CollectiveKind


@dataclass(frozen=True, slots=True)
class Rabenseifner(CollectiveAlgorithm):
    """2 ceil(log2 n) steps for an all-reduce among any n members, and least bytes.

    Distances halve, rounded up: from s shares that a member still sums up it sends the s - ceil(s /
    2) last ones ceil(s / 2) members ahead, and reduces as many that come. An all-gather is the
    same backwards. Among a power of two these are the steps of recursive halving and doubling.

    With a seconds per message, S bytes at each member, a bandwidth b and r seconds to reduce a
    byte: 2 ceil(log2 n) a + (n - 1) / n (2 S / b + r S).

    Source: R. Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004; for any
    count, J. L. Träff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", 2024
    (arXiv:2410.14234).
    """

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return members >= 2 and kind in _KINDS

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        halves, left = list[tuple[int, int]](), members
        while left > 1:
            half = -(-left // 2)
            halves.append((half, left - half))
            left = half
        scattered = [
            Step(size=Fraction(shares, members), peer=Offset(ahead), reduces=True)
            for ahead, shares in halves
        ]
        whole = 1 if kind is CollectiveKind.ALL_GATHER else members
        gathered = [
            Step(size=Fraction(shares, whole), peer=Offset(members - ahead))
            for ahead, shares in reversed(halves)
        ]
        if kind is CollectiveKind.REDUCE_SCATTER:
            return scattered
        return gathered if kind is CollectiveKind.ALL_GATHER else scattered + gathered


_KINDS = (CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER)
