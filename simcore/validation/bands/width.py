"""Widths of bands at a class, a model and a machine.

Every level of a chain has its say, whether or not the others agree (``Constants.reach``). Where the
model was measured on the accelerator, its rows have the last word: first those of the pair, then
those of them that share all levels, each as far as they outweigh the pull towards what is known
without them. So a new pair gets the band of its levels, and a known one its own.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from simcore.validation.bands.quantile import shrunken_quantile
from simcore.validation.bands.spread import Constants, Floats, Ints, Mask, Spread, Spreads

PULL = 2.0
"""Rows of a pair of model and accelerator that weigh as much as all that is known without them."""
FINEST = 0.002
"""Residuals below count as this much: about what runs repeat to."""
LEAST = 0.02
"""Least distance to which a band reaches to each side: runs repeat no better."""

Place = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Widths:
    """Widths from the rows of a table, or from those that are kept.

    Attributes:
        spreads: The table.
        constants: Fitted to the same rows.
        kept: Rows that may speak; None: all.
    """

    spreads: Spreads
    constants: Constants
    kept: Mask | None = None

    def at(self, levels: tuple[str, ...], place: Place) -> float:
        """Reach of a band to each side, on the logarithm of the time."""
        reach = self.constants.reach(self.spreads.chain, levels) + self._near(levels, place[0])
        doublings = self.spreads.doublings(self._spread_at(levels), place)
        return max(LEAST, float(np.exp(reach)) * (1 + self.constants.growth * doublings))

    def of_groups(self, judged: Ints) -> Floats:
        """Widths at the groups with these numbers."""
        groups = [self.spreads.groups[int(at)] for at in judged]
        return np.array([self.at(group.levels, group.place) for group in groups], np.float64)

    def _near(self, levels: tuple[str, ...], size: float) -> float:
        """Addition of rows of this size of a model on this accelerator."""
        cluster = levels[self.spreads.chain.levels.index(self.spreads.chain.cluster)]
        added = self._own(self._apart.get((cluster, size), ()), 0.0)
        return added + self._own(self._apart.get((*levels, size), ()), added)

    def _own(self, apart: Sequence[float], known: float) -> float:
        """Addition of rows, that far *apart* from their levels, to what is *known* of them."""
        if not apart:
            return 0.0
        values = np.array(apart, np.float64) - known
        return shrunken_quantile(values, np.ones(values.size), self.constants.known, PULL)

    @cached_property
    def _spread_at(self) -> Callable[[tuple[str, ...]], Spread]:
        """The class around levels that has rows; each is worked out once."""
        return cache(lambda levels: self.spreads.at(levels, self.kept))

    @cached_property
    def _apart(self) -> dict[tuple[str | float, ...], list[float]]:
        """Logarithms of sizes of residuals, from what their levels say of them.

        By accelerator and size of the model, and by all levels and size.
        """
        table, found = self.spreads, defaultdict[tuple[str | float, ...], list[float]](list)
        at = table.chain.levels.index(table.chain.cluster)
        every = sizes(table.values)
        rows = np.arange(every.size) if self.kept is None else np.flatnonzero(self.kept)
        of_group = np.split(
            every[rows], np.searchsorted(table.group[rows], range(1, len(table.groups)))
        )
        for group, own in zip(table.groups, of_group, strict=True):
            apart = (own - self.constants.reach(table.chain, group.levels)).tolist()
            found[group.levels[at], group.place[0]] += apart
            found[*group.levels, group.place[0]] += apart
        return dict(found)


def sizes(residuals: Floats) -> Floats:
    """Logarithms of the sizes of residuals."""
    return np.asarray(np.log(np.maximum(np.abs(residuals), FINEST)), np.float64)
