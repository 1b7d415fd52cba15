"""Expected improvement, and several designs that are chosen by it at once.

Source: D. Jones, M. Schonlau and W. Welch, "Efficient global optimization of expensive black-box
functions", Journal of Global Optimization 13, 1998, equation 15; T. Desautels, A. Krause and J.
Burdick, "Parallelizing exploration-exploitation tradeoffs in Gaussian process bandit optimization",
JMLR 15, 2014: how unsure a model is after a point is told does not depend on what is told of it.
"""

from collections.abc import Sequence
from math import erfc, pi, sqrt

import numpy as np

from dse.samplers.design.columns.genomes import Floats
from dse.samplers.design.model.surrogate import GaussianProcess

_FAR = -6.0
"""Standard deviations beyond which the first term of the tail's series is close enough."""

_LEAST_VARIANCE = 1e-12

_erfc = np.frompyfunc(erfc, 1, 1)


def log_improvement(least: float, mean: Floats, deviation: Floats) -> Floats:
    """Natural logarithm of how far below *least* a normal variable is expected to come.

    What lies above counts as no improvement.

    Args:
        least: The best that is known.
        mean: (N,) of the variables.
        deviation: (N,) standard deviations, above 0.
    """
    below = (least - mean) / deviation
    near = np.maximum(below, _FAR)
    density = np.exp(-0.5 * near**2) / sqrt(2 * pi)
    gain = density + near * 0.5 * np.asarray(_erfc(-near / sqrt(2)), np.float64)
    tail = -0.5 * below**2 - 0.5 * np.log(2 * pi) - 2.0 * np.log(np.maximum(-below, 1.0))
    return np.asarray(np.log(deviation) + np.where(below > _FAR, np.log(gain), tail))


def upper_tail(lowest: Floats) -> Floats:
    """Probability that a standard normal variable lies above *lowest*, (N,)."""
    return 0.5 * np.asarray(_erfc(lowest / sqrt(2)), np.float64)


_TABLE = np.linspace(_FAR, 8.0, 1401)
_GAINS = np.log(
    np.exp(-0.5 * _TABLE**2) / sqrt(2 * pi)
    + _TABLE * 0.5 * np.asarray(_erfc(-_TABLE / sqrt(2)), np.float64)
)


def outlined_improvement(least: float, mean: Floats, deviation: Floats) -> Floats:
    """``log_improvement`` by a table, to about three digits."""
    below = (least - mean) / deviation
    far = np.maximum(-below, 1.0)
    tail = -0.5 * far * far - 0.5 * np.log(2 * pi) - 2.0 * np.log(far)
    near = np.interp(below, _TABLE, _GAINS)
    near += np.log(np.maximum(below / _TABLE[-1], 1.0))
    return np.asarray(np.log(deviation) + np.where(below > _FAR, near, tail))


class Unsure:
    """Standard deviations of models at points, as they would be with some of these told.

    Attributes:
        means: (N, models) what the models guess.
    """

    def __init__(self, models: Sequence[GaussianProcess], points: Floats) -> None:
        """*points*, (N, F)."""
        self._models = models
        self._scaled = [model.scaled(points) for model in models]
        pairs = zip(models, self._scaled, strict=True)
        reaches = [model.reach(scaled) for model, scaled in pairs]
        self._variances = [
            np.maximum(1.0 - (reach**2).sum(axis=0), _LEAST_VARIANCE) for reach in reaches
        ]
        means = [model.mean_at(reach) for model, reach in zip(models, reaches, strict=True)]
        self.means = np.stack(means, axis=1)
        self._reaches = reaches
        self._told: list[list[Floats]] = [[] for _ in models]

    def deviations(self) -> Floats:
        """(N, models)."""
        pairs = zip(self._models, self._variances, strict=True)
        return np.stack([np.sqrt(own) * model.spread for model, own in pairs], axis=1)

    def tell(self, at: int) -> None:
        """Be as sure as if the outcome at point *at* were known."""
        for number, model in enumerate(self._models):
            reach = self._reaches[number]
            shared = model.alike(at, self._scaled[number])
            shared = shared - (reach * reach[:, [at]]).sum(axis=0)
            for row in self._told[number]:
                shared -= row * row[at]
            row = shared / np.sqrt(max(shared[at], 0.0) + model.noise)
            self._told[number].append(row)
            left = self._variances[number] - row**2
            self._variances[number] = np.maximum(left, _LEAST_VARIANCE)
