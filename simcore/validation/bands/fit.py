"""Fits the constants of a chain to residuals of measured rows.

Effects of levels are shrunken quantiles of the sizes of residuals, one level after the other, each
of what the others leave, until none moves: then in every value of every level so many rows lie
inside as were asked for, up to the pull. Rows weigh as many independent ones do. Asked for is a
little more than is promised, since rows of other sites than those that were fitted lie inside less
often. For rows whose model was measured on their accelerator that is not so, and the quantile of
these is the one with which rows that were given and rows that were left out, counted by source and
by row, lie inside as often as is promised.

Source: I. Gibbs, J. Cherian, E. Candes, "Conformal Prediction with Conditional Guarantees", J. R.
Statist. Soc. B, 2025 (coverage in every one of overlapping groups by quantile regression on them);
L. Breiman, J. Friedman, "Estimating Optimal Transformations for Multiple Regression and
Correlation", J. Am. Statist. Assoc. 80, 1985 (one term after the other).
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from simcore.validation.bands.quantile import independent, quantile, shrunken_quantile
from simcore.validation.bands.residuals import Chain, Group
from simcore.validation.bands.spread import Constants, Mask, Spreads
from simcore.validation.bands.width import Widths, sizes

WITHIN = 0.8
"""Part of measured times that a band is to hold."""
NEW_SITES = 0.82
"""Part that is asked for: of rows of sources that were left out, 0.80 then lie inside, of training
runs and of load tests, the mean over rows and that over sources (``benchmarks/bands.py score``)."""
KNOWN = (0.70, 0.72, 0.74, 0.76, 0.78, 0.80, 0.82, 0.84, 0.86)
"""Quantiles that are tried for rows of known pairs."""
PULL = 8.0
"""Independent rows of a value that weigh as much as the other levels."""
FEW = 0.75
"""Addition of a kind or format that no row has. Two kinds are too few to fit it: models with routed
experts spread by 0.17 where dense ones do by 0.08 (rows of measured.csv), ln 2.2."""
GROWTH = 0.01
"""Per doubling; what is farther is known less, if only by this little: 0.03 and 0.1 lower no
interval score of rows whose source was left out."""
ROUNDS, FOLDS = 12, 10


def fitted(chain: Chain, groups: Sequence[Group], among: Mask | None = None) -> Constants:
    """The constants of a chain, from all rows or from those *among* them.

    Raises:
        ValueError: There is one source alone, so that nothing is known of others.
    """
    spreads = Spreads(chain, groups)
    rows = np.ones(spreads.values.size, np.bool_) if among is None else among
    if np.unique(spreads.source[rows]).size < 2:
        raise ValueError("a band needs rows of two sources at least")
    constants = _with_effects(spreads, rows)
    held = cache(_shares_held(spreads, rows, constants))
    least = bisect_left(KNOWN[:-1], WITHIN, key=held)
    tried = KNOWN[max(0, least - 1)], KNOWN[least]
    return constants.model_copy(
        update={"known": min(tried, key=lambda part: abs(held(part) - WITHIN))}
    )


def _with_effects(spreads: Spreads, rows: Mask) -> Constants:
    """Base and effects of all levels."""
    left, weights = sizes(spreads.values[rows]), independent(spreads.source[rows])
    masks = [
        {v: of[rows] for v, of in level.items() if of[rows].any()} for level in spreads.of_level
    ]
    effects = [dict.fromkeys(level, 0.0) for level in masks]
    base = 0.0
    for _ in range(ROUNDS):
        step = quantile(left, weights, NEW_SITES)
        base, left = base + step, left - step
        for level, known in zip(masks, effects, strict=True):
            for value, inside in level.items():
                own = left[inside] + known[value]
                found = shrunken_quantile(own, weights[inside], NEW_SITES, PULL)
                left[inside], known[value] = own - found, found
    return Constants(
        base=round(base, 3),
        effects={
            name: {value: round(effect, 3) for value, effect in known.items()}
            for name, known in zip(spreads.chain.levels, effects, strict=True)
        },
        known=WITHIN,
        few=FEW,
        growth=GROWTH,
    )


def _shares_held(spreads: Spreads, rows: Mask, constants: Constants) -> Callable[[float], float]:
    """Part of rows inside their bands, given and left out, by source and by row, by ``known``."""
    fold = np.arange(rows.size) % FOLDS
    judged = [rows & (fold == number) for number in range(FOLDS)]
    of_all = Widths(spreads, constants, rows)
    of_folds = [Widths(spreads, constants, rows & ~own) for own in judged]
    weights = 1 / np.bincount(spreads.source[rows])[spreads.source[rows]]

    def held(known: float) -> float:
        left = np.zeros_like(rows)
        for own, widths in zip(judged, of_folds, strict=True):
            left |= _inside(widths, own, known)
        ways = [_inside(of_all, rows, known)[rows], left[rows]]
        return float(np.mean([[of.mean(), np.average(of, weights=weights)] for of in ways]))

    return held


def inside_of(spreads: Spreads, constants: Constants, kept: Mask, judged: Mask) -> Mask:
    """True for *judged* rows inside the bands that the *kept* ones make."""
    return _inside(Widths(spreads, constants, kept), judged, constants.known)


def _inside(widths: Widths, judged: Mask, known: float) -> Mask:
    spreads, found = widths.spreads, np.zeros(len(widths.spreads.groups))
    if widths.kept is None or widths.kept.any():
        groups = np.unique(spreads.group[judged])
        found[groups] = widths.of_groups(groups, known)
    return np.asarray(judged & (np.abs(spreads.values) <= found[spreads.group]))


def left_out(spreads: Spreads, source: str, among: Mask | None = None) -> tuple[Constants, Mask]:
    """Constants from what is known without a source, and the rows behind them.

    Neither its own rows nor those of its pairs of accelerator and model are.
    """
    own = spreads.source == spreads.sources.index(source)
    kept = ~own & ~np.isin(spreads.pair, np.unique(spreads.pair[own]))
    kept = kept if among is None else kept & among
    return fitted(spreads.chain, spreads.groups, kept), kept
