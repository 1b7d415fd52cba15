"""One switch."""

from simcore.graphs.families.base import Count, Family, FamilyParameters
from simcore.graphs.graph import Wiring


class StarParameters(FamilyParameters):
    """Size of a star.

    Attributes:
        n: NPUs.
    """

    n: Count


class Star(Family):
    """Every NPU has one cable to the one switch."""

    parameters = StarParameters

    def wire(self, parameters: StarParameters) -> Wiring:
        n = parameters.n
        wiring = Wiring(n)
        switch = wiring.switches("switch", 1)
        wiring.cables("npu-switch", range(n), [switch] * n)
        return wiring

    def bisection(self, parameters: StarParameters) -> tuple[int, str] | None:
        return parameters.n // 2, "one cable for each NPU of the smaller half"
