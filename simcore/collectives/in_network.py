"""In-network reduction: the switches add up what passes through them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simcore.collectives.base import CollectiveAlgorithm, PeerRule, StateMachine, Step, Switch
from simcore.terms import CollectiveKind

IN_NETWORK = "in_network"
"""Its name in files."""


@dataclass(frozen=True, slots=True)
class InNetwork(CollectiveAlgorithm):
    """An all-reduce in one step: every member sends its buffer up and receives the sum.

    A ring sends 2(n - 1)/n times the buffer, this one time. Reduces nothing on the members.

    Source: R. Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)", COMHPC 2016;
    B. Klenk et al., "An In-Network Architecture for Accelerating Shared-Memory Multiprocessor
    Collectives", ISCA 2020.
    """

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return members >= 2 and kind is CollectiveKind.ALL_REDUCE

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        return (Step(size=Fraction(1), peer=Switch()),)

    def machine(self, kind: CollectiveKind, members: int) -> StateMachine:
        return StateMachine(peers=PeerRule.NEIGHBOUR, steps=1)
