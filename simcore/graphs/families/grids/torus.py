"""Torus of any dimension."""

from simcore.graphs.families.base import Family
from simcore.graphs.families.grids.coordinates import (
    coordinates,
    cut_of_mesh,
    grid_wiring,
    join_up,
)
from simcore.graphs.families.grids.mesh import GridParameters
from simcore.graphs.graph import Wiring


class Torus(Family):
    """A mesh whose ends are joined; a dimension of 2 has one cable, not two."""

    parameters = GridParameters
    npus_forward = True
    level_topology = "ring"

    def wire(self, parameters: GridParameters) -> Wiring:
        dims = parameters.dims
        wiring = grid_wiring(dims)
        for dim, size in enumerate(dims):
            wrapped = None
            if size > 2:
                wrapped = coordinates(dims)
                wrapped[dim] = 0
            join_up(wiring, dims, dim, wrapped)
        return wiring

    def dims(self, parameters: GridParameters) -> tuple[int, ...]:
        return parameters.dims

    def wraps(self) -> bool:
        return True

    def bisection(self, parameters: GridParameters) -> tuple[int, str] | None:
        """Twice that of a mesh, unless it goes through a dimension of 2, which does not wrap."""
        sizes = [size for size in parameters.dims if size > 1]
        if all(size == 2 for size in sizes):
            return cut_of_mesh(sizes), "Harper, 1964: a hypercube"
        if 2 in sizes and max(sizes) % 2 == 1:
            return None
        return 2 * cut_of_mesh(sizes), "formula of Aroca and Fernández Anta, 2014"
