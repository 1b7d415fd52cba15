"""Memory that a plan needs."""

from simcore.memory.footprint import (
    Footprint,
    LayerActivations,
    StageFootprint,
    footprint,
)

__all__ = [
    "Footprint",
    "LayerActivations",
    "StageFootprint",
    "footprint",
]
