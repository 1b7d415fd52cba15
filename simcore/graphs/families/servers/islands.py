"""Fully connected islands, joined by single cables."""

from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.graphs.families.base import Family, FamilyParameters, Sizes
from simcore.graphs.graph import Wiring


class IslandsParameters(FamilyParameters):
    """Sizes of islands.

    Attributes:
        sizes: NPUs of each island.
        joins: Pairs of NPUs with a cable between them, besides those within islands.
    """

    sizes: Sizes
    joins: tuple[tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]], ...] = ()

    @model_validator(mode="after")
    def _joins_npus(self) -> Self:
        npus = sum(self.sizes)
        for a, b in self.joins:
            if max(a, b) >= npus or a == b:
                rule = f"must be pairs of different NPUs, 0 to {npus - 1}"
                raise ConfigError("joins", rule, got=[a, b])
        return self


class Islands(Family):
    """Unequal islands, such as four and six NPUs joined by one cable."""

    parameters = IslandsParameters
    npus_forward = True

    def wire(self, parameters: IslandsParameters) -> Wiring:
        wiring = Wiring(sum(parameters.sizes))
        first = 0
        for size in parameters.sizes:
            low, high = np.triu_indices(size, 1)
            wiring.cables("island", first + low, first + high)
            first += size
        for a, b in parameters.joins:
            wiring.cable("join", a, b)
        return wiring
