"""Gaussian processes over genomes, which guess objectives of designs not yet simulated.

Source: C. Rasmussen and C. Williams, "Gaussian Processes for Machine Learning", MIT Press 2006,
algorithm 2.1, equation 5.8 and section 5.1 (a length scale per knob).
"""

from random import Random

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_NOISE = 1e-4
"""Variance that the kernel leaves unexplained; keeps it positive definite where points are twins."""

_USUAL_LOG = 0.7
"""Natural logarithm of the length scale that is likeliest before anything is known."""

_SMALL = 48
"""Triangles up to this size are inverted at once."""


class GaussianProcess:
    """One output with a Matern 5/2 kernel whose length scales are learned step by step."""

    def __init__(self, owner: NDArray[np.int64]) -> None:
        """*owner*, (F,): which knob each coordinate belongs to; a knob has one length scale."""
        self._owner = owner
        self._logs = np.full(int(owner.max(initial=0)) + 1, 0.4)

    def learn_scales(self, points: Floats, values: Floats, tries: int, random: Random) -> None:
        """Try *tries* random steps of the length scales and keep those that are likelier.

        Args:
            points: (N, F) float64; some of the points are enough.
            values: (N,) float64.
            tries: Steps to try.
            random: Where the steps come from.
        """
        target = (values - values.mean()) / (values.std() + 1e-12)
        known = self._likelihood(self._logs, points, target)
        for _ in range(tries):
            logs = self._logs.copy()
            if random.random() < 0.2:
                logs += random.gauss(0.0, 0.5)
            else:
                logs[int(random.random() * logs.size)] += random.gauss(0.0, 1.0)
            found = self._likelihood(logs, points, target)
            if found > known:
                self._logs, known = logs, found

    def fit(self, points: Floats, values: Floats) -> None:
        """Learn the output from *points*, (N, F), and *values*, (N,)."""
        self._mean, self._spread = float(values.mean()), float(values.std()) + 1e-12
        self._scaled = points / np.exp(self._logs)[self._owner]
        self._inverse_root = inverse_of_triangle(_root(self._scaled))
        half = self._inverse_root @ ((values - self._mean) / self._spread)
        self._weights = self._inverse_root.T @ half

    def guess(self, points: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation, (N,) float64 each, at *points*, (N, F)."""
        kernel = _matern(_squares(points / np.exp(self._logs)[self._owner], self._scaled))
        mean = kernel @ self._weights * self._spread + self._mean
        reach = self._inverse_root @ kernel.T
        variance = np.maximum(1.0 - (reach**2).sum(axis=0), 1e-9)
        return mean, np.sqrt(variance) * self._spread

    def _likelihood(self, logs: Floats, points: Floats, target: Floats) -> float:
        """Logarithm of the likelihood of *target* times that of the scales, less a constant."""
        root = _root(points / np.exp(logs)[self._owner])
        half = np.linalg.solve(root, target)
        prior = -0.5 * ((logs - _USUAL_LOG) ** 2).sum()
        return float(prior - 0.5 * (half**2).sum() - np.log(np.diag(root)).sum())


def inverse_of_triangle(lower: Floats) -> Floats:
    """The inverse of a lower triangular matrix, by halves."""
    if len(lower) <= _SMALL:
        return np.asarray(np.linalg.inv(lower))
    half = len(lower) // 2
    first = inverse_of_triangle(lower[:half, :half])
    second = inverse_of_triangle(lower[half:, half:])
    result = np.zeros_like(lower)
    result[:half, :half], result[half:, half:] = first, second
    result[half:, :half] = -second @ (lower[half:, :half] @ first)
    return result


def _root(scaled: Floats) -> Floats:
    kernel = _matern(_squares(scaled, scaled))
    kernel[np.diag_indices_from(kernel)] += _NOISE
    return np.asarray(np.linalg.cholesky(kernel))


def _squares(a: Floats, b: Floats) -> Floats:
    return np.maximum((a**2).sum(1)[:, None] + (b**2).sum(1)[None, :] - 2.0 * a @ b.T, 0.0)


def _matern(square: Floats) -> Floats:
    distance = np.sqrt(5.0 * square)
    return np.asarray((1.0 + distance + distance**2 / 3.0) * np.exp(-distance))
