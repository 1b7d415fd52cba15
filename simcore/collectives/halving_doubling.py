"""Recursive halving and doubling: pairs at distance 1, 2, 4, ..."""

from dataclasses import dataclass

from simcore.collectives.base import (
    CollectiveAlgorithm,
    PeerRule,
    PhaseProgram,
    result_bytes,
)
from simcore.terms import CollectiveKind, TopologyKind


@dataclass(frozen=True, slots=True)
class HalvingDoubling(CollectiveAlgorithm):
    """2 log2(n) steps for an all-reduce, the size halving and then doubling again.

    Runs on powers of two; an all-to-all has no such form.

    Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
    Operations in MPICH", IJHPCA 19(1), 2005; the bookkeeping of ASTRA-sim 2.0.
    """

    astra_name = "halvingDoubling"

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        power_of_two = members >= 2 and members & (members - 1) == 0
        return power_of_two and kind is not CollectiveKind.ALL_TO_ALL

    def program(self, kind: CollectiveKind, members: int, size_bytes: int) -> PhaseProgram:
        levels = members.bit_length() - 1
        gathers = kind is CollectiveKind.ALL_GATHER
        return PhaseProgram(
            steps=2 * levels if kind is CollectiveKind.ALL_REDUCE else levels,
            parallel=1,
            reduced=levels - 1,
            first_bytes=size_bytes if gathers else size_bytes // 2,
            first_distance=members // 2 if gathers else 1,
            factor=0.5 if gathers else 2.0,
            peers=PeerRule.HALVING,
            waits_for_all=False,
            result_bytes=result_bytes(kind, size_bytes, members),
        )

    def alike(self, topology: TopologyKind, npus: int, members: int, stride: int) -> bool:
        return True  # the members of each pair are equally far apart, wherever the pair lies
