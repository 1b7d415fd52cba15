"""Dragonfly+: groups that are leaf-spine networks."""

from typing import Self

import numpy as np
from pydantic import model_validator

from simcore.graphs.families.base import Count, Family, FamilyParameters
from simcore.graphs.families.low_diameter.dragonfly import check_groups, join_groups
from simcore.graphs.families.trees.leaf_spine import every_pair
from simcore.graphs.graph import Wiring


class DragonflyPlusParameters(FamilyParameters):
    """Size of a dragonfly+.

    Attributes:
        p: NPUs of a leaf.
        leaves: Leaves of a group.
        spines: Spines of a group.
        h: Global ports of a spine.
        groups: Groups; spines h + 1 unless given.
    """

    p: Count
    leaves: Count
    spines: Count
    h: Count
    groups: Count | None = None

    @model_validator(mode="after")
    def _has_ports(self) -> Self:
        check_groups(self.groups, self.spines * self.h)
        return self


class DragonflyPlus(Family):
    """Groups of leaves and spines, whose spines are joined across groups.

    A. Shpiner et al., "Dragonfly+: Low Cost Topology for Scaling Datacenters", HiPINEB 2017.
    """

    parameters = DragonflyPlusParameters

    def wire(self, parameters: DragonflyPlusParameters) -> Wiring:
        p, leaves, spines, h = parameters.p, parameters.leaves, parameters.spines, parameters.h
        groups = parameters.groups or spines * h + 1
        wiring = Wiring(groups * leaves * p)
        leaf = wiring.switches("leaf", groups * leaves)
        spine = wiring.switches("spine", groups * spines)
        npus = np.arange(wiring.npus)
        wiring.cables("npu-leaf", npus, leaf + npus // p)
        for group in range(groups):
            pairs = every_pair(leaf + group * leaves, leaves, spine + group * spines, spines)
            wiring.cables("leaf-spine", *pairs)
        first = [spine + group * spines for group in range(groups)]
        join_groups(wiring, first, spines * h, h)
        return wiring

    def levels(self, parameters: DragonflyPlusParameters) -> tuple[int, ...]:
        p, leaves, ports = parameters.p, parameters.leaves, parameters.spines * parameters.h
        return p, leaves, parameters.groups or ports + 1
