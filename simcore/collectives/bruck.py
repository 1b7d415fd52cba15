"""Bruck: all-to-all and all-gather in as few steps as there are bits in the count of members."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simcore.collectives.base import CollectiveAlgorithm, Offset, Step
from simcore.terms import CollectiveKind


@dataclass(frozen=True, slots=True)
class Bruck(CollectiveAlgorithm):
    """ceil(log2 n) steps among any n members: least latency, for small messages.

    In step k of an all-to-all a member passes on, 2^k members ahead, each of its n blocks whose
    number has bit k: n/2 blocks if n is a power of two. In step k of an all-gather it sends what it
    has, 2^k shares, 2^k members back; in the last step only the n - 2^k that are lacking.

    With a seconds per message, S bytes at each member and a bandwidth b, n a power of two:
    log2(n) (a + S / (2 b)) for an all-to-all, log2(n) a + (n - 1) S / b for an all-gather.

    Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient Algorithms for
    All-to-All Communications in Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997 (index
    and concatenation with radix 2 and one port).
    """

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return members >= 2 and kind in (CollectiveKind.ALL_TO_ALL, CollectiveKind.ALL_GATHER)

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        distances = [1 << level for level in range((members - 1).bit_length())]
        if kind is CollectiveKind.ALL_GATHER:
            return [
                Step(size=Fraction(min(back, members - back)), peer=Offset(members - back))
                for back in distances
            ]
        return [
            Step(size=Fraction(_numbers_with(bit, members), members), peer=Offset(bit))
            for bit in distances
        ]


def _numbers_with(bit: int, members: int) -> int:
    """Count of those numbers from 0 to *members* - 1 that have *bit* set."""
    whole, rest = divmod(members, 2 * bit)
    return whole * bit + max(0, rest - bit)
