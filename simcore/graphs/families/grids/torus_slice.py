"""Slice of a machine of cubes that optical circuit switches join to a torus."""

from typing import Annotated

import numpy as np
from pydantic import Field

from simcore.graphs.families.base import Family, FamilyParameters, Sizes
from simcore.graphs.families.grids.coordinates import coordinates, grid_wiring, numbers
from simcore.graphs.families.grids.mesh import GridParameters
from simcore.graphs.families.grids.torus import Torus
from simcore.graphs.graph import Wiring


class TorusSliceParameters(FamilyParameters):
    """Shape of a slice.

    Attributes:
        cubes: Cubes in each dimension.
        cube: NPUs along each side of a cube, in as many dimensions.
        twist: Steps in the last dimension that going around another one adds.
    """

    cubes: Sizes
    cube: Annotated[int, Field(ge=3, le=64)] = 4
    twist: Annotated[int, Field(ge=0)] = 0

    @property
    def sizes(self) -> tuple[int, ...]:
        """NPUs in each dimension."""
        return tuple(cubes * self.cube for cubes in self.cubes)


class TorusSlice(Family):
    """A torus of cubes: cables within a cube are copper, those between faces optical.

    Faces meet in circuit switches, which are set before a job, so that cubes anywhere in the
    machine make a slice of any shape, and stay as they are during it.
    N. Jouppi et al., "TPU v4: An Optically Reconfigurable Supercomputer for Machine Learning with
    Hardware Support for Embeddings", ISCA 2023, arXiv:2304.01433: cubes of 4 x 4 x 4.
    """

    parameters = TorusSliceParameters
    npus_forward = True
    level_topology = "ring"
    through_circuits = "optical"

    def wire(self, parameters: TorusSliceParameters) -> Wiring:
        dims = parameters.sizes
        wiring = grid_wiring(dims)
        here = coordinates(dims)
        npus = np.arange(wiring.npus)
        for dim, size in enumerate(dims):
            there = here.copy()
            there[dim] += 1
            around = here[dim] == size - 1
            if dim < len(dims) - 1:
                there[-1, around] += parameters.twist
            there %= np.array(dims)[:, None]
            face = here[dim] % parameters.cube == parameters.cube - 1
            for kind, own in (("copper", ~face), ("optical", face)):
                wiring.cables(kind, npus[own], numbers(there, dims)[own])
        return wiring

    def dims(self, parameters: TorusSliceParameters) -> tuple[int, ...]:
        return () if parameters.twist else parameters.sizes

    def wraps(self) -> bool:
        return True

    def bisection(self, parameters: TorusSliceParameters) -> tuple[int, str] | None:
        """Cut of a torus, unless the slice is twisted."""
        if parameters.twist:
            return None
        return Torus().bisection(GridParameters(dims=parameters.sizes))
