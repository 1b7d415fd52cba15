"""Quantiles drawn towards 0, of which bands are made.

With e the distances of rows from what is known of them otherwise, of weights w, the shrunken
quantile of a *part* is the b that has the least

    sum of w (part - [e < b]) (e - b)  +  pull b^2 / 2:

the quantile itself where the rows weigh far more than the pull, 0 where they weigh far less.

Source: R. Koenker, "Quantile Regression for Longitudinal Data", J. Multivariate Anal. 91, 2004
(effects of groups, penalised).
"""

import numpy as np

from simcore.validation.bands.spread import Floats, Ints

LIKENESS = 0.3
"""r, correlation of the sizes of residuals of one source: 0.13 among the training runs and 0.39
among the load tests of configs/validation (analysis of variance, one way); one value for both."""


def shrunken_quantile(values: Floats, weights: Floats, part: float, pull: float) -> float:
    """The shrunken quantile of *values*: where pull b = part W - (weight of values below b)."""
    order = np.argsort(values, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(weights[order])])
    line = (part * below[-1] - below) / pull
    return float(np.max(np.minimum(np.append(values[order], np.inf), line)))


def quantile(values: Floats, weights: Floats, part: float) -> float:
    """The value that *part* of the weight lies at or below."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order]) >= part * weights.sum() - 1e-12
    return float(values[order][int(np.argmax(reached))])


def independent(sources: Ints) -> Floats:
    """Weights of rows by their sources: c rows of one count as c / (1 + (c - 1) r).

    Source: L. Kish, "Survey Sampling", 1965, section 5.4 (design effect).
    """
    counts = np.bincount(sources)[sources]
    return np.asarray(1 / (1 + (counts - 1) * LIKENESS), np.float64)
