"""A Gaussian process over genomes, which guesses objectives of designs not yet simulated.

Source: C. Rasmussen and C. Williams, "Gaussian Processes for Machine Learning", MIT Press 2006,
algorithm 2.1 and equation 5.8.
"""

import numpy as np
from numpy.typing import NDArray

from dse.samplers.design.genome import Genome, GenomeSpace

Floats = NDArray[np.float64]

_NOISE = 1e-4
"""Variance that the kernel leaves unexplained; keeps it positive definite where designs are twins."""


class Features:
    """Genomes as points: ordered knobs by their place on a scale, words as one of many."""

    def __init__(self, space: GenomeSpace) -> None:
        tables = []
        for knob in space.knobs:
            size = len(knob.choices)
            if knob.coordinates is not None:
                scale = knob.coordinates
                spread = np.ptp(scale) or 1.0
                own = np.append((scale - scale.min()) / spread, 0.5)[:, None]
            else:
                own = np.concatenate([np.eye(size), np.zeros((1, size))]) / np.sqrt(2.0)
            tables.append(own)
        self._tables = tables
        self.width = sum(t.shape[1] for t in tables) + len(space.reals)

    def of(self, genomes: list[Genome]) -> Floats:
        """(N, F) float64."""
        codes = np.array([genome.codes for genome in genomes], np.int64)
        columns = [table[codes[:, at]] for at, table in enumerate(self._tables)]
        columns.append(np.array([genome.reals for genome in genomes]).reshape(len(genomes), -1))
        return np.concatenate(columns, axis=1)


class GaussianProcess:
    """One or more outputs that share a Matern 5/2 kernel of one length scale.

    Attributes:
        scale: The length scale, in units of the features; the likeliest one of those offered.
    """

    def __init__(self, points: Floats, values: Floats, scales: tuple[float, ...]) -> None:
        self._points = points
        self._mean, self._spread = values.mean(axis=0), values.std(axis=0) + 1e-12
        target = (values - self._mean) / self._spread
        square = _squares(points, points)
        fits = [_Fit(square, target, scale) for scale in scales]
        best = max(fits, key=lambda fit: fit.likelihood)
        self.scale, self._inverse_root = best.scale, best.inverse_root
        self._weights = best.inverse_root.T @ best.half

    def guess(self, points: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation, (N, M) float64 each, at *points*, (N, F)."""
        kernel = _matern(_squares(points, self._points) / self.scale**2)
        mean = kernel @ self._weights * self._spread + self._mean
        reach = self._inverse_root @ kernel.T
        variance = np.maximum(1.0 - (reach**2).sum(axis=0), 1e-9)
        return mean, np.sqrt(variance)[:, None] * self._spread


class _Fit:
    """Cholesky factor of the kernel at one length scale, and how likely the data are with it."""

    def __init__(self, square: Floats, target: Floats, scale: float) -> None:
        kernel = _matern(square / scale**2)
        kernel[np.diag_indices_from(kernel)] += _NOISE
        root = np.linalg.cholesky(kernel)
        self.scale = scale
        self.inverse_root = np.linalg.inv(root)
        self.half = self.inverse_root @ target
        outputs = target.shape[1]
        self.likelihood = float(
            -0.5 * (self.half**2).sum() - outputs * np.log(np.diag(root)).sum()
        )


def _squares(a: Floats, b: Floats) -> Floats:
    return np.maximum((a**2).sum(1)[:, None] + (b**2).sum(1)[None, :] - 2.0 * a @ b.T, 0.0)


def _matern(square: Floats) -> Floats:
    distance = np.sqrt(5.0 * square)
    return np.asarray((1.0 + distance + distance**2 / 3.0) * np.exp(-distance))
