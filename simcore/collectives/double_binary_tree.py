"""Double binary tree: reduce up a tree, broadcast down; chunks alternate between two trees."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simcore.collectives.base import CollectiveAlgorithm, PeerRule, StateMachine, Step, Table
from simcore.terms import EVERYWHERE, CollectiveKind


@dataclass(frozen=True, slots=True)
class DoubleBinaryTree(CollectiveAlgorithm):
    """2 log2(n) levels, the whole chunk on every edge; roots, inner members and leaves differ.

    Whatever the phase, the tree performs a whole all-reduce, as in ASTRA-sim 2.0.

    Source: P. Sanders, J. Speck, J. Larsson Träff, "Two-tree algorithms for full bandwidth
    broadcast, reduction and scan", Parallel Computing 35(12), 2009.
    """

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        power_of_two = members >= 2 and members & (members - 1) == 0
        return power_of_two and kind in EVERYWHERE and kind is not CollectiveKind.ALL_TO_ALL

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        """One of the two trees, edge by edge of each level: members do not wait for the others'."""
        parents = tree_parents(members)
        levels = [[place for place in parents if place & -place == 1 << level]
                  for level in range(members.bit_length() - 1)]  # fmt: skip
        up, down = list[Step](), list[Step]()
        for places in levels:
            for half in (places[::2], places[1::2]):  # a parent hears one child at a time
                if not half:
                    continue
                pairs = {place: parents[place] for place in half}
                up.append(_step(pairs, members, reduces=True))
                down.append(_step({b: a for a, b in pairs.items()}, members, reduces=False))
        return [*up, *reversed(down)]

    def machine(self, kind: CollectiveKind, members: int) -> StateMachine:
        return StateMachine(peers=PeerRule.TREE)


def tree_parents(members: int) -> dict[int, int]:
    """Parent of each member but the root, which is member 0, in the minimal tree."""
    parents = {}
    for place in range(1, members):
        step = place & -place
        if step == members // 2:
            parents[place] = 0
        else:
            parents[place] = place - step if place & (2 * step) else place + step
    return parents


def _step(receivers: dict[int, int], members: int, *, reduces: bool) -> Step:
    table = Table(tuple(receivers.get(member) for member in range(members)))
    return Step(size=Fraction(1), peer=table, reduces=reduces)
