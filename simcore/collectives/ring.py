"""Ring: every member sends to its neighbour."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simcore.collectives.base import (
    CollectiveAlgorithm,
    Offset,
    PeerRule,
    StateMachine,
    Step,
    share,
)
from simcore.terms import EVERYWHERE, CollectiveKind


@dataclass(frozen=True, slots=True)
class Ring(CollectiveAlgorithm):
    """2(n - 1) steps of size/n bytes for an all-reduce: least bytes sent, latency linear in n.

    An all-to-all passes everything through the neighbour: n(n - 1)/2 steps.

    Source: P. Patarasuk, X. Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of
    Workstations", JPDC 69(2), 2009; the bookkeeping of ASTRA-sim 2.0.
    """

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return members >= 2 and kind in EVERYWHERE

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        size = Fraction(1, share(kind, members))
        reduces = kind in (CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER)
        round_ = Step(size=size, peer=Offset(1), reduces=reduces, times=members - 1)
        if kind is CollectiveKind.ALL_REDUCE:
            return (round_, Step(size=size, peer=Offset(1), times=members - 1))
        if kind is CollectiveKind.ALL_TO_ALL:
            return (Step(size=size, peer=Offset(1), times=members * (members - 1) // 2),)
        return (round_,)

    def machine(self, kind: CollectiveKind, members: int) -> StateMachine:
        return StateMachine(
            peers=PeerRule.NEIGHBOUR,
            steps=sum(step.times for step in self.steps(kind, members)),
            reduced=members - 1,
            divisor=share(kind, members),
        )
