"""Ranks whose heaviest traffic has the shortest ways."""

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from simcore.placement.base import Floats, Ints, PlacementOptions, PlacementRule, Ranks

if TYPE_CHECKING:  # a file that names a placement compiles nothing
    from simcore.kernels.placement.swaps import Pairs

_MOST_LOOKED = 400_000_000
"""Partners that all swaps of one placement look at: some seconds."""


class GreedyOptions(PlacementOptions):
    """Options of a placement by traffic.

    Attributes:
        tries: Placements from which swaps begin, beside the ranks as they are; of the first the
            rank of most traffic begins, of the others one that is drawn.
        seed: Of what is drawn.
        swaps: Whether swaps follow.
    """

    tries: int = Field(default=1, ge=1, le=64)
    seed: int = Field(default=0, ge=0)
    swaps: bool = True


class Greedy(PlacementRule):
    """Rank after rank where it costs least, then swaps of two for as long as they save cost.

    The cost is bytes times distance, added up over all pairs: the quadratic assignment problem.
    Swaps of pairs are the search of E. Buffa, G. Armour, T. Vollmann, "Allocating Facilities with
    CRAFT", Harvard Business Review 42(2), 1964. Ranks as they are begin one of the searches, so
    that the outcome never costs more.
    """

    weighs_traffic = True
    options = GreedyOptions

    def place(self, ranks: Ranks, options: GreedyOptions) -> Ints:
        from simcore.kernels.placement.swaps import place_greedily, swap_ranks

        pairs = pairs_of(ranks.traffic, ranks.distance)
        sent = ranks.traffic.sum(axis=0) + ranks.traffic.sum(axis=1)
        order = np.argsort(-sent, kind="stable")
        generator = np.random.default_rng(options.seed)
        best = np.arange(ranks.count)
        least = ranks.cost(best)
        for number in range(options.tries + 1):
            where = np.arange(ranks.count)
            if number:
                where = place_greedily(pairs, order)
                order = generator.permutation(ranks.count)
            if options.swaps:
                swap_ranks(pairs, where, ranks.cost(where), _MOST_LOOKED)
            cost = ranks.cost(where)
            if cost < least * (1.0 - 1e-9):
                best, least = where, cost
        return best


def pairs_of(traffic: Floats, distance: Floats) -> "Pairs":
    """The (n, n) bytes from rank to rank as the kernels take them, with the NPUs' *distance*."""
    from simcore.kernels.placement.swaps import Pairs

    both = traffic + traffic.T
    np.fill_diagonal(both, 0.0)
    rank, partner = np.nonzero(both)
    return Pairs(
        offsets=np.searchsorted(rank, np.arange(len(traffic) + 1)).astype(np.int64),
        partner=partner,
        out=traffic[rank, partner],
        back=traffic[partner, rank],
        distance=np.ascontiguousarray(distance),
    )
