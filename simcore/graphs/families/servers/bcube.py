"""BCube: NPUs with a port in each level of small switches."""

from typing import Annotated

import numpy as np
from pydantic import Field

from simcore.graphs.families.base import Count, Family, FamilyParameters
from simcore.graphs.graph import Wiring


class ServerCentricParameters(FamilyParameters):
    """Size of a server-centric network.

    Attributes:
        n: NPUs of a switch.
        k: Highest level, from 0.
    """

    n: Count
    k: Annotated[int, Field(ge=0, le=16)]


class BCube(Family):
    """n^(k+1) NPUs; a switch of level l joins those whose numbers differ in digit l alone.

    C. Guo et al., "BCube", SIGCOMM 2009.
    """

    parameters = ServerCentricParameters
    npus_forward = True

    def wire(self, parameters: ServerCentricParameters) -> Wiring:
        n, k = parameters.n, parameters.k
        wiring = Wiring(n ** (k + 1))
        npus = np.arange(wiring.npus)
        for level in range(k + 1):
            first = wiring.switches(f"level{level}", n**k)
            others = npus // n ** (level + 1) * n**level + npus % n**level
            wiring.cables(f"level{level}", npus, first + others)
        return wiring
