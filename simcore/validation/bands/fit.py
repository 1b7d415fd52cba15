"""Fits the constants of a chain to residuals of rows that nothing alike was known of.

Each row is judged by the rows of other sources with another pair of accelerator and model: a row
that was left out stands for a new prediction. Sources weigh alike.

- ``pull``, ``likeness`` and ``growth`` are those under which the left-out sizes of residuals are
  the likeliest, taken for Laplace distributed around 0: heavy tails, one scale.
- ``unseen``: mean left-out size over spread, where so many levels of the class had rows.
- ``low`` and ``high``: the quantiles of left-out residuals over their widths, a tenth beyond each.

Source: V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random World", 2005 (bands from
ranks of left-out residuals); R. Barber et al., "Predictive inference with the jackknife+", Ann.
Statist. 49, 2021.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from simcore.validation.bands.residuals import Chain, Group
from simcore.validation.bands.spread import Constants, Floats, Ints, Mask, Spread, Spreads

WITHIN = 0.8
"""Part of measured times that a band is to hold."""

PULLS = (1.0, 2.0, 4.0, 8.0, 16.0)
LIKENESSES = (0.03, 0.1, 0.3, 1.0)
GROWTHS = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Values that are tried. Growth is never nothing: what is farther is known less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Rows that were left out, with what the others say of them.

    Attributes:
        residuals: ln(measured / predicted).
        sources: Number of each row's source.
        sizes: Spread at its class.
        depths: Levels of its class that have rows of others.
        doublings: To the nearest of these.
        groups: Number of each row's group.
    """

    residuals: Floats
    sources: Ints
    sizes: Floats
    depths: Ints
    doublings: Floats
    groups: Ints

    def weights(self) -> Floats:
        """Weights of the rows: 1 for each source as a whole."""
        return np.asarray(1 / np.bincount(self.sources)[self.sources], np.float64)

    def widths(self, constants: Constants) -> Floats:
        """Widths of the bands of the rows, before quantiles."""
        unseen = np.array(constants.unseen)[self.depths]
        return np.asarray(self.sizes * unseen * (1 + constants.growth * self.doublings), np.float64)

    def inside(self, constants: Constants) -> Mask:
        """True for rows inside their bands."""
        scaled = self.residuals / self.widths(constants)
        return np.asarray((-constants.low <= scaled) & (scaled <= constants.high), np.bool_)


def left_out(
    spreads: Spreads,
    constants: Constants,
    *,
    among: Mask | None = None,
    of: Mask | None = None,
) -> LeftOut:
    """Rows, each judged by others alone.

    Args:
        spreads: The table.
        constants: Of its chain.
        among: Rows that may speak; by default all.
        of: Rows to judge; by default those that may speak.
    """
    known = np.ones(spreads.values.size, np.bool_) if among is None else among
    found: list[tuple[int, Spread, float]] = []
    for at, kept in _others(spreads, known, known if of is None else of):
        group = spreads.groups[at]
        spread = spreads.at(group.levels, constants, kept)
        found.append((at, spread, spreads.doublings(spread, group.place)))
    row_of = {at: number for number, (at, _, _) in enumerate(found)}
    rows = np.flatnonzero(np.isin(spreads.group, list(row_of)))
    number = np.array([row_of[int(at)] for at in spreads.group[rows]], np.int64)
    sources = np.unique(spreads.source[rows], return_inverse=True)[1]
    return LeftOut(
        residuals=spreads.values[rows],
        sources=np.asarray(sources, np.int64),
        sizes=np.array([spread.size for _, spread, _ in found])[number],
        depths=np.array([spread.depth for _, spread, _ in found], np.int64)[number],
        doublings=np.array([doublings for _, _, doublings in found])[number],
        groups=spreads.group[rows],
    )


def _others(spreads: Spreads, known: Mask, judged: Mask) -> Iterator[tuple[int, Mask]]:
    """Each group of judged rows, and the known rows that may speak for it."""
    first = np.searchsorted(spreads.group, np.arange(len(spreads.groups)))
    for at, row in enumerate(first):
        if judged[row]:
            alike = (spreads.source == spreads.source[row]) | (spreads.pair == spreads.pair[row])
            kept = known & ~alike
            if kept.any():
                yield at, kept


def fitted(chain: Chain, groups: Sequence[Group], among: Mask | None = None) -> Constants:
    """The constants of a chain; those that make left-out rows the likeliest."""
    spreads, levels = Spreads(chain, groups), len(chain.levels) + 1
    best, least = None, np.inf
    for pull, likeness in product(PULLS, LIKENESSES):
        tried = Constants(
            pull=pull, likeness=likeness, growth=0, unseen=(1.0,) * levels, low=1, high=1
        )
        found = left_out(spreads, tried, among=among)
        for growth in GROWTHS:
            constants = tried.model_copy(update={"growth": growth})
            constants = constants.model_copy(update={"unseen": _unseen(found, constants)})
            loss = _loss(found, constants)
            if loss < least - 1e-9:
                best, least = (constants, found), loss
    if best is None:
        raise ValueError("a band needs rows of two sources at least")
    constants, found = best
    low, high = _quantiles(found, constants)
    return constants.model_copy(update={"low": low, "high": high})


def _loss(found: LeftOut, constants: Constants) -> float:
    """Mean negative log likelihood of sizes, exponential around their widths."""
    widths = found.widths(constants)
    return float(
        np.average(np.log(widths) + np.abs(found.residuals) / widths, weights=found.weights())
    )


def _unseen(found: LeftOut, constants: Constants) -> tuple[float, ...]:
    """Factors by depth: never below 1, and no smaller where fewer levels have rows."""
    ratio = np.abs(found.residuals) / found.widths(constants)
    weights, factors = found.weights(), [1.0]
    for depth in reversed(range(len(constants.unseen) - 1)):
        there = found.depths <= depth
        own = float(np.average(ratio[there], weights=weights[there])) if there.any() else 1.0
        factors.append(max(factors[-1], own))
    return tuple(round(factor, 3) for factor in reversed(factors))


def _quantiles(found: LeftOut, constants: Constants) -> tuple[float, float]:
    """Ends of the band in widths."""
    scaled, weights = found.residuals / found.widths(constants), found.weights()
    beyond = (1 - WITHIN) / 2
    low, high = (quantile(scaled, weights, part) for part in (beyond, 1 - beyond))
    return round(max(0.0, -low), 3), round(max(0.0, high), 3)


def quantile(values: Floats, weights: Floats, part: float) -> float:
    """The value that *part* of the weight lies at or below."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order]) >= part * weights.sum() - 1e-12
    return float(values[order][int(np.argmax(reached))])
