"""Lower bounds that are never above the simulator's answer, for millions of designs."""

from simcore.bounds.design_bounds import DesignBounds, footprints, lower_bounds
from simcore.bounds.design_columns import DesignColumns

__all__ = ["DesignBounds", "DesignColumns", "footprints", "lower_bounds"]
