"""Lower bounds that are never above the simulator's answer, for millions of designs."""

from simcore.bounds.design_bounds import DesignBounds
from simcore.bounds.design_columns import DesignColumns
from simcore.bounds.listed import footprints, lower_bounds

__all__ = ["DesignBounds", "DesignColumns", "footprints", "lower_bounds"]
