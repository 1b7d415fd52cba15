"""Scatter and gather: a broadcast or a reduce in two halves, each of which moves shares."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simcore.collectives.base import CollectiveAlgorithm, Offset, Step
from simcore.collectives.rabenseifner import Rabenseifner
from simcore.collectives.rooted.binomial import blocks, inwards, outwards
from simcore.terms import CollectiveKind


@dataclass(frozen=True, slots=True)
class ScatterGather(CollectiveAlgorithm):
    """A binomial scatter and a ring all-gather, or a reduce-scatter and a binomial gather.

    Twice the bytes of the buffer pass a member, whatever n is: for long messages.

    With a seconds per message, S bytes, a bandwidth b, r seconds to reduce a byte and n a power of
    two: (log2(n) + n - 1) a + 2 (n - 1) / n S / b for a broadcast (van de Geijn),
    2 log2(n) a + (n - 1) / n (2 S / b + r S) for a reduce (Rabenseifner).

    Source: M. Barnett et al., "Interprocessor Collective Communication Library (InterCom)", SHPCC
    1994 (van de Geijn's broadcast); R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of
    Collective Communication Operations in MPICH", IJHPCA 19(1), 2005 (sections 4.2 and 4.5).
    """

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return members >= 2 and kind in (CollectiveKind.BROADCAST, CollectiveKind.REDUCE)

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        sizes = blocks(members, members)
        if kind is CollectiveKind.BROADCAST:
            ring = Step(size=Fraction(1, members), peer=Offset(1), times=members - 1)
            return [*outwards(sizes, members), ring]
        scattered = Rabenseifner().steps(CollectiveKind.REDUCE_SCATTER, members)
        return [*scattered, *inwards(sizes, members, reduces=False)]
