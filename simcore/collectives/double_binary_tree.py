"""Double binary tree: reduce up a tree, broadcast down; chunks alternate between two trees."""

from dataclasses import dataclass

from simcore.collectives.base import CollectiveAlgorithm, PhaseProgram
from simcore.terms import CollectiveKind, TopologyKind


@dataclass(frozen=True, slots=True)
class DoubleBinaryTree(CollectiveAlgorithm):
    """2 log2(n) levels, the whole chunk on every edge; roots, inner members and leaves differ.

    Whatever the phase, the tree performs a whole all-reduce, as in ASTRA-sim 2.0.

    Source: P. Sanders, J. Speck, J. Larsson Träff, "Two-tree algorithms for full bandwidth
    broadcast, reduction and scan", Parallel Computing 35(12), 2009.
    """

    astra_name = "doubleBinaryTree"

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        power_of_two = members >= 2 and members & (members - 1) == 0
        return power_of_two and kind is not CollectiveKind.ALL_TO_ALL

    def program(self, kind: CollectiveKind, members: int, size_bytes: int) -> PhaseProgram | None:
        return None

    def alike(self, topology: TopologyKind, npus: int, members: int, stride: int) -> bool:
        return False
