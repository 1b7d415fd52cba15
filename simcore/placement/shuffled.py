"""Ranks anywhere, as by a scheduler that knows no network."""

import numpy as np
from pydantic import Field

from simcore.placement.base import Ints, PlacementOptions, PlacementRule, Ranks


class ShuffledOptions(PlacementOptions):
    """Options of a drawn placement.

    Attributes:
        seed: Of the draw.
        block: Ranks in a row that stay together, such as those of one host.
    """

    seed: int = Field(default=0, ge=0)
    block: int = Field(default=1, ge=1)


class Shuffled(PlacementRule):
    """Blocks of ranks in an order that is drawn; the last block may be smaller."""

    options = ShuffledOptions

    def place(self, ranks: Ranks, options: ShuffledOptions) -> Ints:
        npus = np.arange(ranks.count)
        blocks = np.split(npus, range(options.block, ranks.count, options.block))
        order = np.random.default_rng(options.seed).permutation(len(blocks))
        where = np.empty(ranks.count, np.int64)
        where[np.concatenate([blocks[one] for one in order])] = npus
        return where
