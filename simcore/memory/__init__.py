"""What a plan needs in memory."""

from simcore.memory.footprint import (
    Footprint,
    StageFootprint,
    footprint,
    layer_activation_bytes,
)

__all__ = [
    "Footprint",
    "StageFootprint",
    "footprint",
    "layer_activation_bytes",
]
