"""Widths of bands at a class, a model and a machine.

Every level of a chain has its say, whether or not the others agree (``Constants.reach``). Where the
model was measured on the accelerator, its rows have the last word: first those of the pair, then
those of them that share all levels, each as far as they outweigh the pull towards what is known
without them. So a new pair gets the band of its levels, and a known one its own.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from simcore.validation.bands.quantile import shrunken_quantile
from simcore.validation.bands.spread import Constants, Floats, Ints, Mask, Spreads

PULL = 2.0
"""Rows of a pair of model and accelerator that weigh as much as all that is known without them."""
FINEST = 0.002
"""Residuals below count as this much: about what runs repeat to."""
LEAST = 0.02
"""Least distance to which a band reaches to each side: runs repeat no better."""

Place = tuple[float, float]
_Rows = tuple[str | float, ...]
_Near = Callable[[_Rows, float, float], float]


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
        return self._reach(levels, place, cache(self._near), self.constants.known)

    def of_groups(self, judged: Ints, known: float | None = None) -> Floats:
        """Widths at the groups with these numbers, with the constants' ``known`` or another one."""
        part = self.constants.known if known is None else known
        near = cache(self._near)  # groups of several sources share it
        groups = [self.spreads.groups[int(at)] for at in judged]
        found = [self._reach(group.levels, group.place, near, part) for group in groups]
        return np.array(found, np.float64)

    def _reach(self, levels: tuple[str, ...], place: Place, near: _Near, known: float) -> float:
        of_levels, doublings = self._of_levels(levels, place)
        cluster = levels[self.spreads.chain.levels.index(self.spreads.chain.cluster)]
        size = place[0]
        added = near((cluster, size), 0.0, known)
        reach = of_levels + (added + near((*levels, size), added, known))
        return max(LEAST, float(np.exp(reach)) * (1 + self.constants.growth * doublings))

    @cached_property
    def _of_levels(self) -> Callable[[tuple[str, ...], Place], tuple[float, float]]:
        """Reach that levels tell of a place, and its doublings from the nearest row."""
        table, constants = self.spreads, self.constants
        spread_at = cache(lambda levels: table.at(levels, self.kept))
        return cache(
            lambda levels, place: (
                constants.reach(table.chain, levels),
                table.doublings(spread_at(levels), place),
            )
        )

    def _near(self, rows: _Rows, said: float, known: float) -> float:
        """Addition of rows of a size of model on an accelerator to what is *said* of them."""
        apart = self._apart.get(rows)
        if apart is None:
            return 0.0
        return shrunken_quantile(apart - said, np.ones(apart.size), known, PULL)

    @cached_property
    def _apart(self) -> dict[_Rows, Floats]:
        """Logarithms of sizes of residuals, from what their levels say of them.

        By accelerator and size of the model, and by all levels and size.
        """
        table, found = self.spreads, defaultdict[_Rows, list[Floats]](list)
        at = table.chain.levels.index(table.chain.cluster)
        every = sizes(table.values)
        rows = np.arange(every.size) if self.kept is None else np.flatnonzero(self.kept)
        of_group = np.split(
            every[rows], np.searchsorted(table.group[rows], range(1, len(table.groups)))
        )
        for group, own in zip(table.groups, of_group, strict=True):
            if own.size:
                apart = own - self.constants.reach(table.chain, group.levels)
                found[group.levels[at], group.place[0]].append(apart)
                found[*group.levels, group.place[0]].append(apart)
        return {rows: np.concatenate(parts) for rows, parts in found.items()}


def sizes(residuals: Floats) -> Floats:
    """Logarithms of the sizes of residuals."""
    return np.asarray(np.log(np.maximum(np.abs(residuals), FINEST)), np.float64)
