"""Dissemination barrier: in each step a member tells another one, twice as far ahead."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simcore.collectives.base import CollectiveAlgorithm, Offset, Step
from simcore.terms import CollectiveKind


@dataclass(frozen=True, slots=True)
class Dissemination(CollectiveAlgorithm):
    """ceil(log2 n) steps among any n members, after which each has heard from every other.

    With a seconds per message: ceil(log2 n) a. A message holds one byte.

    Source: D. Hensgen, R. Finkel, U. Manber, "Two Algorithms for Barrier Synchronization",
    International Journal of Parallel Programming 17(1), 1988.
    """

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return members >= 2 and kind is CollectiveKind.BARRIER

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        distances = [1 << level for level in range((members - 1).bit_length())]
        return [Step(size=Fraction(1), peer=Offset(ahead)) for ahead in distances]
