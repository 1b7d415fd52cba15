"""Twisted torus."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.graphs.families.base import Count, Family, FamilyParameters
from simcore.graphs.families.grids.coordinates import coordinates, grid_wiring, join_up
from simcore.graphs.graph import Wiring


class TwistedParameters(FamilyParameters):
    """Shape of a twisted torus.

    Attributes:
        dims: NPUs in each dimension, 2 or more.
        twist: Steps in the last dimension that going around another one adds.
    """

    dims: Annotated[tuple[Count, ...], Field(min_length=2, max_length=16)]
    twist: int = Field(ge=0)

    @model_validator(mode="after")
    def _has_dimensions(self) -> Self:
        if min(self.dims) < 2:
            raise ConfigError("dims", "must be 2 or more each", got=list(self.dims))
        return self


class TwistedTorus(Family):
    """Going around any dimension but the last also leads *twist* steps along the last.

    Sizes k, k, 2 k with a twist of k are meant as the twisted slices of TPU v4 (N. Jouppi et al.,
    "TPU v4", ISCA 2023): derived, not checked against Google's wiring.
    """

    parameters = TwistedParameters
    npus_forward = True

    def wire(self, parameters: TwistedParameters) -> Wiring:
        dims = parameters.dims
        wiring = grid_wiring(dims)
        last = len(dims) - 1
        for dim, size in enumerate(dims):
            wrapped = None
            if dim < last or size > 2:
                wrapped = coordinates(dims)
                wrapped[dim] = 0
                if dim < last:
                    wrapped[last] += parameters.twist
            join_up(wiring, dims, dim, wrapped)
        return wiring
