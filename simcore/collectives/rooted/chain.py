"""Pipelined chain: each member passes on piece after piece to the next one."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simcore.collectives.base import CollectiveAlgorithm, Span, Step
from simcore.terms import CollectiveKind


@dataclass(frozen=True, slots=True)
class Chain(CollectiveAlgorithm):
    """n - 2 + p steps of a p-th of the buffer: for long messages, near to the time of one of them.

    With a seconds per message, S bytes, a bandwidth b and r seconds to reduce a byte:
    (n - 2 + p) (a + S / (p b)) for a broadcast, and (n - 1) r S / p more for a reduce, as pieces
    are reduced while others are under way. Least where p = sqrt((n - 2) S / (a b)).

    Attributes:
        pieces: p; None: as many as there are members.

    Source: R. A. van de Geijn, "On Global Combine Operations", J. Parallel Distrib. Comput. 22(2),
    1994, and J. Watts, R. van de Geijn, "A Pipelined Broadcast for Multidimensional Meshes",
    Parallel Processing Letters 5(2), 1995 (pipelined broadcast along a line).
    """

    pieces: int | None = None

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return members >= 2 and kind in (CollectiveKind.BROADCAST, CollectiveKind.REDUCE)

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        pieces, reduces = self.pieces or members, kind is CollectiveKind.REDUCE
        found = []
        for step in range(members - 2 + pieces):
            first, last = max(0, step - pieces + 1), min(step, members - 2)
            peer = Span(ahead=1, first=first, count=last - first + 1)
            if reduces:  # from the last member to the first
                peer = Span(ahead=-1, first=members - 1 - last, count=peer.count)
            found.append(Step(size=Fraction(1, pieces), peer=peer, reduces=reduces))
        return found
