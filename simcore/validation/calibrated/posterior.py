"""Posterior of a site's residuals, given some of its runs.

Scaled residuals of the runs of a site, z = ln(measured / predicted) / width of the band, are
jointly normal with mean 0, the covariance of ``place.py`` between runs, and a part of their own.
Given runs with z, another one has the mean k' K^-1 z, and of its variance v is left the part
1 - c k' K^-1 k / v, c being what bands believe of it: runs far away move nothing.

Source: D. Lindley, A. Smith, "Bayes Estimates for the Linear Model", J. R. Statist. Soc. B 34,
1972; C. Rasmussen, C. Williams, "Gaussian Processes for Machine Learning", 2006, equations 2.25,
2.26 and, for each run from the others, 5.12.
"""

from collections.abc import Sequence

import numpy as np

from simcore.validation.bands.shipped import Likeness
from simcore.validation.bands.spread import Floats
from simcore.validation.calibrated.place import RunPlace, shared

MOST = 3.0
"""Widths of bands beyond which a residual moves predictions no further: one run decides nothing."""


class Posterior:
    """Knowledge of a site from some of its runs.

    Attributes:
        places: Of the runs.
        scaled: Their residuals over the widths of their bands, clipped.
    """

    def __init__(
        self, places: Sequence[RunPlace], scaled: Sequence[float], likeness: Likeness
    ) -> None:
        self.places, self._likeness = tuple(places), likeness
        self.scaled: Floats = np.clip(np.array(scaled, np.float64), -MOST, MOST)
        self._inverse = np.linalg.inv(_covariance(self.places, likeness))

    def at(self, places: Sequence[RunPlace]) -> tuple[Floats, Floats]:
        """Means of the scaled residuals of other runs, and the parts of their variances left."""
        between = shared(places, self.places, self._likeness)
        means = between @ self._inverse @ self.scaled
        explained = np.einsum("ij,jk,ik->i", between, self._inverse, between)
        fall = self._likeness.believed * explained / self._likeness.variance
        return means, np.clip(1 - fall, 0.0, 1.0)

    def gains(self, places: Sequence[RunPlace], widths: Floats) -> Floats:
        """Fall of the variances at all *places* together, were one of them measured, for each.

        Bands at the places reach *widths* to each side.

        Source: D. Cohn, "Neural Network Exploration Using Optimal Experiment Design", 1994,
        section 3; for normal variables exact.
        """
        between = shared(places, self.places, self._likeness)
        known = shared(places, places, self._likeness) - between @ self._inverse @ between.T
        known = known * np.outer(widths, widths)
        total = np.diag(known) + _own(self._likeness) * widths**2
        return np.asarray((known**2).sum(axis=0) / total, np.float64)

    def without_each(self) -> Floats:
        """Mean of each of the runs, given the others alone."""
        return np.asarray(
            self.scaled - self._inverse @ self.scaled / np.diag(self._inverse), np.float64
        )


def _covariance(places: Sequence[RunPlace], likeness: Likeness) -> Floats:
    """Covariance of runs, what each has for itself included."""
    between = shared(places, places, likeness)
    return np.asarray(between + _own(likeness) * np.eye(len(places)), np.float64)


def _own(likeness: Likeness) -> float:
    """Variance that each run has for itself."""
    return likeness.variance * (1 - likeness.shared)
