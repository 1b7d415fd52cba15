"""Pairwise exchange: every member sends to every other, one at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simcore.collectives.base import CollectiveAlgorithm, Exchange, Offset, Step
from simcore.terms import CollectiveKind


@dataclass(frozen=True, slots=True)
class Pairwise(CollectiveAlgorithm):
    """n - 1 steps of size/n bytes, each straight to the member that needs them: least bytes.

    Among a power of two, members change blocks in pairs, with the one whose number differs in the
    bits of 1, 2, ..., n - 1; among others, a member sends so many ahead and receives from as many
    behind. No two messages of a step go to one member, so a switch carries them all at once.

    With a seconds per message, S bytes at each member, a bandwidth b and r seconds to reduce a
    byte: (n - 1) (a + S / (n b)) for an all-to-all, and (n - 1) r S / n more for a reduce-scatter.

    Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
    Operations in MPICH", IJHPCA 19(1), 2005 (all-to-all and reduce-scatter of long messages).
    """

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return members >= 2 and kind in (CollectiveKind.ALL_TO_ALL, CollectiveKind.REDUCE_SCATTER)

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        size, reduces = Fraction(1, members), kind is CollectiveKind.REDUCE_SCATTER
        if members & (members - 1) == 0 and not reduces:
            peers: list[Exchange | Offset] = [Exchange(mask) for mask in range(1, members)]
        else:
            peers = [Offset(ahead) for ahead in range(1, members)]
        return [Step(size=size, peer=peer, reduces=reduces) for peer in peers]
