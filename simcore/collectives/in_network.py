"""In-network reduction: the switches add up what passes through them."""

from dataclasses import dataclass

from simcore.collectives.base import CollectiveAlgorithm, PeerRule, PhaseProgram
from simcore.terms import CollectiveKind


@dataclass(frozen=True, slots=True)
class InNetwork(CollectiveAlgorithm):
    """An all-reduce in one step: every member sends its buffer up and receives the sum.

    A ring sends 2(n - 1)/n times the buffer, this one time. Reduces nothing on the members.

    Source: R. Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)", COMHPC 2016;
    B. Klenk et al., "An In-Network Architecture for Accelerating Shared-Memory Multiprocessor
    Collectives", ISCA 2020.
    """

    astra_name = "inNetwork"

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return members >= 2 and kind is CollectiveKind.ALL_REDUCE

    def program(self, kind: CollectiveKind, members: int, size_bytes: int) -> PhaseProgram:
        return PhaseProgram(
            steps=1,
            parallel=1,
            reduced=1,
            first_bytes=size_bytes,
            first_distance=1,
            factor=1.0,
            peers=PeerRule.NEIGHBOUR,
            waits_for_all=False,
            result_bytes=size_bytes,
        )
