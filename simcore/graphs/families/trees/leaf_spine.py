"""Leaves and spines, in one or several planes."""

import numpy as np

from simcore.graphs.families.base import Count, Family, FamilyParameters
from simcore.graphs.graph import Ints, Wiring


class LeafSpineParameters(FamilyParameters):
    """Size of a leaf-spine network.

    Attributes:
        leaves: Leaf switches of a plane.
        npus_per_leaf: NPUs of each leaf.
        spines: Spine switches of a plane.
        links_per_pair: Cables between a leaf and a spine.
        planes: Copies of the network; an NPU has a port in each.
    """

    leaves: Count
    npus_per_leaf: Count
    spines: Count
    links_per_pair: Count = 1
    planes: Count = 1


def every_pair(low: int, lows: int, high: int, highs: int, parallel: int = 1) -> tuple[Ints, Ints]:
    """Ends of cables from each of *lows* nodes from *low* on to each of *highs* from *high* on."""
    a = np.repeat(np.arange(low, low + lows), highs * parallel)
    b = np.tile(np.repeat(np.arange(high, high + highs), parallel), lows)
    return a, b


class LeafSpine(Family):
    """Two tiers: NPUs hang on leaves, and each leaf on each spine."""

    parameters = LeafSpineParameters

    def wire(self, parameters: LeafSpineParameters) -> Wiring:
        p = parameters
        wiring = Wiring(p.leaves * p.npus_per_leaf)
        npus = np.arange(wiring.npus)
        for _ in range(p.planes):
            leaf = wiring.switches("leaf", p.leaves)
            spine = wiring.switches("spine", p.spines)
            wiring.cables("npu-leaf", npus, leaf + npus // p.npus_per_leaf)
            pairs = every_pair(leaf, p.leaves, spine, p.spines, p.links_per_pair)
            wiring.cables("leaf-spine", *pairs)
        return wiring

    def levels(self, parameters: LeafSpineParameters) -> tuple[int, ...]:
        return parameters.npus_per_leaf, parameters.leaves

    def bisection(self, parameters: LeafSpineParameters) -> tuple[int, str] | None:
        """Half of the cables above or below the leaves, whichever are fewer."""
        p = parameters
        if p.leaves % 2:
            return None
        above = p.leaves * p.spines * p.links_per_pair
        narrowest = p.planes * min(above, p.leaves * p.npus_per_leaf) // 2
        return narrowest, "half of the cables of the narrower tier"
