"""Fat tree of three tiers of equal switches."""

from typing import Self

import numpy as np
from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.graphs.families.base import Count, Family, FamilyParameters
from simcore.graphs.families.trees.leaf_spine import every_pair
from simcore.graphs.graph import Wiring


class FatTreeParameters(FamilyParameters):
    """Size of a fat tree.

    Attributes:
        k: Ports of a switch, an even number: pods.
        hosts_per_edge: NPUs of each edge switch; k / 2 unless given, more of them oversubscribe.
    """

    k: int = Field(ge=2, le=1 << 12)
    hosts_per_edge: Count | None = None

    @model_validator(mode="after")
    def _is_even(self) -> Self:
        if self.k % 2:
            raise ConfigError("k", "must be even: half of the ports lead up", got=self.k)
        return self

    @property
    def hosts(self) -> int:
        """NPUs of an edge switch."""
        return self.k // 2 if self.hosts_per_edge is None else self.hosts_per_edge


class FatTree(Family):
    """k pods of k/2 edge and k/2 aggregation switches below (k/2)^2 core switches.

    M. Al-Fares et al., "A Scalable, Commodity Data Center Network Architecture", SIGCOMM 2008.
    """

    parameters = FatTreeParameters

    def wire(self, parameters: FatTreeParameters) -> Wiring:
        k, half, hosts = parameters.k, parameters.k // 2, parameters.hosts
        wiring = Wiring(k * half * hosts)
        edge = wiring.switches("edge", k * half)
        aggregation = wiring.switches("aggregation", k * half)
        core = wiring.switches("core", half * half)
        npus = np.arange(wiring.npus)
        wiring.cables("npu-edge", npus, edge + npus // hosts)
        for pod in range(k):
            pairs = every_pair(edge + pod * half, half, aggregation + pod * half, half)
            wiring.cables("edge-aggregation", *pairs)
        above = np.arange(k * half * half)
        wiring.cables("aggregation-core", aggregation + above // half, core + above % (half * half))
        return wiring

    def levels(self, parameters: FatTreeParameters) -> tuple[int, ...]:
        return parameters.hosts, parameters.k // 2, parameters.k

    def bisection(self, parameters: FatTreeParameters) -> tuple[int, str] | None:
        """Half of the cables of the narrower tier: k^3 / 4 each between switches."""
        k = parameters.k
        npus = k * (k // 2) * parameters.hosts
        return min(npus // 2, k**3 // 8), "half of the cables of the narrower tier"
