"""Mesh of any dimension."""

from simcore.graphs.families.base import Family, FamilyParameters, Sizes
from simcore.graphs.families.grids.coordinates import cut_of_mesh, grid_wiring, join_up
from simcore.graphs.graph import Wiring


class GridParameters(FamilyParameters):
    """Shape of a grid.

    Attributes:
        dims: NPUs in each dimension.
    """

    dims: Sizes


class Mesh(Family):
    """Each NPU is joined to the next in each dimension; the ends are not."""

    parameters = GridParameters
    npus_forward = True
    level_topology = "mesh"

    def wire(self, parameters: GridParameters) -> Wiring:
        wiring = grid_wiring(parameters.dims)
        for dim in range(len(parameters.dims)):
            join_up(wiring, parameters.dims, dim, None)
        return wiring

    def dims(self, parameters: GridParameters) -> tuple[int, ...]:
        return parameters.dims

    def bisection(self, parameters: GridParameters) -> tuple[int, str] | None:
        return cut_of_mesh(parameters.dims), "formula of Aroca and Fernández Anta, 2014"
