"""Direct: every member sends to every other, a window of them at a time."""

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
class Direct(CollectiveAlgorithm):
    """One round of n - 1 messages at once (two for an all-reduce): least latency.

    Attributes:
        window: Messages under way at once; None: all n - 1.

    Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
    Operations in MPICH", IJHPCA 19(1), 2005 (pairwise exchange); the bookkeeping of ASTRA-sim 2.0.
    """

    window: int | None = None

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return members >= 2 and kind in EVERYWHERE

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        size = Fraction(1, share(kind, members))
        reduces = kind in (CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER)
        others = [Offset(ahead) for ahead in range(1, members)]
        steps = [Step(size=size, peer=other, reduces=reduces) for other in others]
        if kind is CollectiveKind.ALL_REDUCE:
            steps += [Step(size=size, peer=other) for other in others]
        return steps

    def machine(self, kind: CollectiveKind, members: int) -> StateMachine:
        peers = members - 1
        parallel = peers if self.window is None else min(self.window, peers)
        whole = kind is CollectiveKind.ALL_REDUCE
        return StateMachine(
            peers=PeerRule.ROTATING,
            steps=2 * peers if whole else peers,
            parallel=parallel,
            reduced=parallel,
            divisor=share(kind, members),
            waits_for_all=whole,
        )
