"""Recursive halving and doubling: pairs at distance 1, 2, 4, ..."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simcore.collectives.base import CollectiveAlgorithm, Exchange, PeerRule, StateMachine, Step
from simcore.terms import EVERYWHERE, CollectiveKind


@dataclass(frozen=True, slots=True)
class HalvingDoubling(CollectiveAlgorithm):
    """2 log2(n) steps for an all-reduce, the size halving and then doubling again.

    Runs on powers of two; an all-to-all has no such form.

    Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
    Operations in MPICH", IJHPCA 19(1), 2005; the bookkeeping of ASTRA-sim 2.0.
    """

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        power_of_two = members >= 2 and members & (members - 1) == 0
        return power_of_two and kind in EVERYWHERE and kind is not CollectiveKind.ALL_TO_ALL

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        masks = [1 << level for level in range(members.bit_length() - 1)]
        if kind is CollectiveKind.ALL_GATHER:
            return [
                Step(size=Fraction(members // 2, mask), peer=Exchange(mask))
                for mask in reversed(masks)
            ]
        halving = [
            Step(size=Fraction(1, 2 * mask), peer=Exchange(mask), reduces=True) for mask in masks
        ]
        if kind is CollectiveKind.REDUCE_SCATTER:
            return halving
        return halving + [Step(size=step.size, peer=step.peer) for step in reversed(halving)]

    def machine(self, kind: CollectiveKind, members: int) -> StateMachine:
        levels = members.bit_length() - 1
        gathers = kind is CollectiveKind.ALL_GATHER
        return StateMachine(
            peers=PeerRule.HALVING,
            steps=2 * levels if kind is CollectiveKind.ALL_REDUCE else levels,
            reduced=levels - 1,
            divisor=1 if gathers else 2,
            distance=members // 2 if gathers else 1,
            shrinks=not gathers,
        )
