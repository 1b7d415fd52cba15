"""Direct: every member sends to every other, a window of them at a time."""

from dataclasses import dataclass

from simcore.collectives.base import (
    CollectiveAlgorithm,
    PeerRule,
    PhaseProgram,
    result_bytes,
    split,
)
from simcore.terms import CollectiveKind


@dataclass(frozen=True, slots=True)
class Direct(CollectiveAlgorithm):
    """One round of n - 1 messages at once (two for an all-reduce): least latency.

    Attributes:
        window: Messages under way at once; None: all n - 1.

    Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
    Operations in MPICH", IJHPCA 19(1), 2005 (pairwise exchange); the bookkeeping of ASTRA-sim 2.0.
    """

    window: int | None = None
    astra_name = "direct"

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return members >= 2

    def program(self, kind: CollectiveKind, members: int, size_bytes: int) -> PhaseProgram:
        peers = members - 1
        parallel = peers if self.window is None else min(self.window, peers)
        whole = kind is CollectiveKind.ALL_REDUCE
        return PhaseProgram(
            steps=2 * peers if whole else peers,
            parallel=parallel,
            reduced=parallel,
            first_bytes=split(kind, size_bytes, members),
            first_distance=1,
            factor=1.0,
            peers=PeerRule.ROTATING,
            waits_for_all=whole,
            result_bytes=result_bytes(kind, size_bytes, members),
        )
