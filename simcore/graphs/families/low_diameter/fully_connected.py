"""A cable between each two NPUs."""

import numpy as np

from simcore.graphs.families.base import Count, Family, FamilyParameters
from simcore.graphs.graph import Wiring


class FullyConnectedParameters(FamilyParameters):
    """Size of a full mesh.

    Attributes:
        n: NPUs.
    """

    n: Count


class FullyConnected(Family):
    """A cable between each two NPUs."""

    parameters = FullyConnectedParameters
    npus_forward = True
    level_topology = "fully_connected"

    def wire(self, parameters: FullyConnectedParameters) -> Wiring:
        wiring = Wiring(parameters.n)
        wiring.cables("link", *np.triu_indices(parameters.n, 1))
        return wiring

    def bisection(self, parameters: FullyConnectedParameters) -> tuple[int, str] | None:
        n = parameters.n
        return (n // 2) * (n - n // 2), "every pair across"
