"""Ring: every member sends to its neighbour."""

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
class Ring(CollectiveAlgorithm):
    """2(n - 1) steps of size/n bytes for an all-reduce: least bytes sent, latency linear in n.

    An all-to-all passes everything through the neighbour: n(n - 1)/2 steps.

    Source: P. Patarasuk, X. Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of
    Workstations", JPDC 69(2), 2009; the bookkeeping of ASTRA-sim 2.0.
    """

    astra_name = "ring"

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return members >= 2

    def program(self, kind: CollectiveKind, members: int, size_bytes: int) -> PhaseProgram:
        steps = {
            CollectiveKind.ALL_REDUCE: 2 * (members - 1),
            CollectiveKind.ALL_TO_ALL: members * (members - 1) // 2,
        }.get(kind, members - 1)
        return PhaseProgram(
            steps=steps,
            parallel=1,
            reduced=members - 1,
            first_bytes=split(kind, size_bytes, members),
            first_distance=1,
            factor=1.0,
            peers=PeerRule.NEIGHBOUR,
            waits_for_all=False,
            result_bytes=result_bytes(kind, size_bytes, members),
        )
