"""Linear: the root sends to every other member, or receives from it, one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simcore.collectives.base import CollectiveAlgorithm, Span, Step
from simcore.terms import CollectiveKind


@dataclass(frozen=True, slots=True)
class Linear(CollectiveAlgorithm):
    """n - 1 messages of the root: no byte passes a third member, so least bytes for a scatter.

    What comes in at the root may be under way at once. On links where messages meet they share the
    root's; on idle ones (``congestion_unaware``) they do not, so that a gather is too fast there.

    With a seconds per message, S bytes at the root and a bandwidth b: (n - 1) a + (n - 1) / n S / b
    for a scatter, (n - 1) (a + S / b) for a broadcast.

    Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
    Operations in MPICH", IJHPCA 19(1), 2005; E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn,
    "Collective communication: theory, practice, and experience", CCPE 19(13), 2007.
    """

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return members >= 2 and kind.rooted

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        size = Fraction(1, members if kind is CollectiveKind.SCATTER else 1)
        if kind in (CollectiveKind.BROADCAST, CollectiveKind.SCATTER):
            peers = [Span(ahead=other, first=0, count=1) for other in range(1, members)]
        else:
            peers = [Span(ahead=-other, first=other, count=1) for other in range(1, members)]
        reduces = kind is CollectiveKind.REDUCE
        return [Step(size=size, peer=peer, reduces=reduces) for peer in peers]
