"""Hypercube."""

from typing import Annotated

import numpy as np
from pydantic import Field

from simcore.graphs.families.base import Family, FamilyParameters
from simcore.graphs.graph import Wiring


class HypercubeParameters(FamilyParameters):
    """Size of a hypercube.

    Attributes:
        d: Dimensions of two NPUs each.
    """

    d: Annotated[int, Field(ge=1, le=24)]


class Hypercube(Family):
    """NPUs whose numbers differ in one bit are joined."""

    parameters = HypercubeParameters
    npus_forward = True

    def wire(self, parameters: HypercubeParameters) -> Wiring:
        wiring = Wiring(1 << parameters.d)
        npus = np.arange(wiring.npus)
        for k in range(parameters.d):
            low = npus[npus >> k & 1 == 0]
            wiring.cables(f"dim{k}", low, low + (1 << k))
        return wiring

    def dims(self, parameters: HypercubeParameters) -> tuple[int, ...]:
        return (2,) * parameters.d

    def bisection(self, parameters: HypercubeParameters) -> tuple[int, str] | None:
        return 1 << (parameters.d - 1), "Harper, 1964"
