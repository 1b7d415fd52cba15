"""Ranks where they are: rank i on NPU i."""

import numpy as np

from simcore.placement.base import Ints, PlacementOptions, PlacementRule, Ranks


class AsIs(PlacementRule):
    """Rank i on NPU i, so that the plan's order of axes decides."""

    def place(self, ranks: Ranks, options: PlacementOptions) -> Ints:
        return np.arange(ranks.count)
