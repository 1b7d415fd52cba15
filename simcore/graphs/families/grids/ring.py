"""Ring."""

from simcore.graphs.families.base import Count, Family, FamilyParameters
from simcore.graphs.families.grids.mesh import GridParameters
from simcore.graphs.families.grids.torus import Torus
from simcore.graphs.graph import Wiring


class RingParameters(FamilyParameters):
    """Size of a ring.

    Attributes:
        n: NPUs.
    """

    n: Count


class Ring(Family):
    """Each NPU is joined to the one before and the one after."""

    parameters = RingParameters
    npus_forward = True
    level_topology = "ring"

    def wire(self, parameters: RingParameters) -> Wiring:
        return Torus().wire(GridParameters(dims=(parameters.n,)))

    def dims(self, parameters: RingParameters) -> tuple[int, ...]:
        return (parameters.n,)

    def wraps(self) -> bool:
        return True

    def bisection(self, parameters: RingParameters) -> tuple[int, str] | None:
        return min(parameters.n - 1, 2), "two cables part a ring"
