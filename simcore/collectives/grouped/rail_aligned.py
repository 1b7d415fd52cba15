"""Rail-aligned: an all-to-all whose blocks change places inside servers first."""

from collections.abc import Sequence
from dataclasses import dataclass

from simcore.collectives.base import CollectiveAlgorithm, Step
from simcore.collectives.grouped.blue_connect import exchanged
from simcore.collectives.grouped.hierarchical import group_size
from simcore.terms import CollectiveKind


@dataclass(frozen=True, slots=True)
class RailAligned(CollectiveAlgorithm):
    """Blocks go to the member of one's own server on the rail of their receiver, then along it.

    Servers hold k members, n = k m. Inside, k - 1 messages of S / k bytes; then m - 1 of S / m
    along the rail: between servers a member sends m - 1 messages, not n - k, and none changes its
    rail there.

    With a seconds per message, S bytes at each member and a bandwidth b: (k - 1) (a + S / (k b)) +
    (m - 1) (a + S / (m b)).

    Attributes:
        inner: Members of a server; None: 8, or the largest divisor of n below. Among counts that
            it does not divide, and primes, the direct algorithm stands in.

    Source: NVIDIA, "Doubling all2all Performance with NVIDIA Collective Communication Library
    2.12", 2022 (PXN: messages for one rail are put together inside the server).
    """

    inner: int | None = None

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return kind is CollectiveKind.ALL_TO_ALL and group_size(self.inner, members) > 0

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        inner = group_size(self.inner, members)
        return exchanged((inner, members // inner))
