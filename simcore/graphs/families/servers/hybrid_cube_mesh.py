"""Eight NPUs as in servers with NVLink and no NVSwitch."""

from typing import Literal

import numpy as np

from simcore.graphs.families.base import Family, FamilyParameters
from simcore.graphs.graph import Wiring

_DOUBLE = {(0, 3), (1, 2), (2, 3), (4, 7), (5, 6), (6, 7), (0, 4), (1, 5)}
"""Pairs with two cables in servers with V100: `nvidia-smi topo -m` of a V100-SXM2 server."""


class HybridCubeMeshParameters(FamilyParameters):
    """Kind of server.

    Attributes:
        generation: ``v100``: some pairs have two cables; ``p100``: one each.
    """

    generation: Literal["p100", "v100"]


class HybridCubeMesh(Family):
    """Two fully connected fours; NPU i of one is joined to NPU i of the other."""

    parameters = HybridCubeMeshParameters
    npus_forward = True

    def wire(self, parameters: HybridCubeMeshParameters) -> Wiring:
        low, high = np.triu_indices(4, 1)
        four = list(zip(low.tolist(), high.tolist(), strict=True))
        pairs = [*four, *((a + 4, b + 4) for a, b in four), *((i, i + 4) for i in range(4))]
        wiring = Wiring(8)
        for pair in pairs:
            for _ in range(2 if parameters.generation == "v100" and pair in _DOUBLE else 1):
                wiring.cable("nvlink", *pair)
        return wiring
