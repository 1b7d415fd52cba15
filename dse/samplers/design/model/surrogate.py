"""Gaussian processes over genomes, which guess objectives of designs not yet simulated.

Source: C. Rasmussen and C. Williams, "Gaussian Processes for Machine Learning", MIT Press 2006,
algorithm 2.1, equation 5.8 and section 5.1 (a length scale per knob).
"""

from random import Random

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SIZE = 64
"""Rows of a block."""

_PART = 16
"""Rows of the squares on the diagonal of a block that are inverted at once."""


def in_blocks(rows: Floats) -> Floats:
    """(N, F) rows as (B, SIZE, F), filled up with zeros."""
    blocks = -(-len(rows) // SIZE)
    result = np.zeros((blocks, SIZE, rows.shape[1]))
    result.reshape(blocks * SIZE, -1)[: len(rows)] = rows
    return result


class Root:
    """The lower triangular L of a positive definite matrix ``L @ L.T``.

    Attributes:
        log_determinant: Natural logarithm of the determinant of L.
    """

    def __init__(self, matrix: Floats) -> None:
        """*matrix*, (B, B, SIZE, SIZE), is used up; blocks above the diagonal are not looked at."""
        blocks = len(matrix)
        self._below = matrix
        self._inverse = np.empty((blocks, SIZE, SIZE))
        self.log_determinant = 0.0
        for at in range(blocks):
            root = np.linalg.cholesky(matrix[at, at])
            self.log_determinant += float(np.log(np.diag(root)).sum())
            self._inverse[at] = _inverse(root)
            left = matrix[at + 1 :, at] @ self._inverse[at].T
            matrix[at + 1 :, at] = left
            for row in range(at + 1, blocks):
                columns = left[: row - at].transpose(0, 2, 1)
                matrix[row, at + 1 : row + 1] -= left[row - at - 1] @ columns

    def solve(self, right: Floats) -> Floats:
        """``inverse(L) @ right`` for (B, SIZE, R)."""
        result = np.empty_like(right)
        for at in range(len(right)):
            known = (self._below[at, :at] @ result[:at]).sum(axis=0)
            result[at] = self._inverse[at] @ (right[at] - known)
        return result

    def solve_back(self, right: Floats) -> Floats:
        """``inverse(L).T @ right`` for (B, SIZE, R)."""
        result = np.empty_like(right)
        for at in range(len(right) - 1, -1, -1):
            below = self._below[at + 1 :, at].transpose(0, 2, 1)
            known = (below @ result[at + 1 :]).sum(axis=0)
            result[at] = self._inverse[at].T @ (right[at] - known)
        return result


def _inverse(lower: Floats) -> Floats:
    """Inverse of a lower triangular block, in half the work of one that does not know that."""
    cuts = [slice(first, first + _PART) for first in range(0, SIZE, _PART)]
    squares = np.linalg.inv(np.stack([lower[cut, cut] for cut in cuts]))
    result = np.zeros_like(lower)
    for cut, square in zip(cuts, squares, strict=True):
        left = slice(cut.start)
        result[cut, cut] = square
        result[cut, left] = -square @ (lower[cut, left] @ result[left, left])
    return result


_NOISE = 1e-5
"""Variance that the kernel leaves unexplained; keeps it positive definite where points repeat.

Small enough to tell designs at the end of a front apart, which differ by a few parts in a thousand.
"""

_FIRST_LOG = 0.4
"""Natural logarithm of the length scales that learning starts from."""

_USUAL_LOG = 0.7
"""Natural logarithm of the length scale that is likeliest before anything is known."""


_AT_ONCE = 48
"""Points that are guessed at once: so few that one thread does it, as with the blocks."""


class GaussianProcess:
    """One output with a Matern 5/2 kernel whose length scales are learned step by step.

    Attributes:
        noise: Variance that the kernel leaves unexplained, in units of *spread* squared.
        spread: Standard deviation of the output among what was learned.
    """

    noise = _NOISE

    def __init__(self, owner: NDArray[np.int64]) -> None:
        """*owner*, (F,): which knob each coordinate belongs to; a knob has one length scale."""
        self._owner = owner
        self._logs = np.full(int(owner.max(initial=0)) + 1, _FIRST_LOG)

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
        self._mean, self.spread = float(values.mean()), float(values.std()) + 1e-12
        scaled = points / np.exp(self._logs)[self._owner]
        self._rows, self._is_row = in_blocks(scaled), in_blocks(np.ones((len(points), 1)))
        self._root = _root(scaled)
        self._half = self._root.solve(in_blocks(((values - self._mean) / self.spread)[:, None]))

    def guess(self, points: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation, (N,) float64 each, at *points*, (N, F)."""
        mean, variance = np.empty(len(points)), np.empty(len(points))
        for first in range(0, len(points), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            scaled = points[part] / np.exp(self._logs)[self._owner]
            reach = self._root.solve(self._is_row * _matern(_squares(self._rows, scaled)))
            mean[part] = (reach * self._half).sum(axis=(0, 1))
            variance[part] = 1.0 - (reach**2).sum(axis=(0, 1))
        deviation = np.sqrt(np.maximum(variance, 1e-9))
        return mean * self.spread + self._mean, deviation * self.spread

    def reach(self, points: Floats) -> Floats:
        """(R, N): products of its columns are what is known in common of *points*, (N, F)."""
        parts = []
        for first in range(0, len(points), _AT_ONCE):
            scaled = points[first : first + _AT_ONCE] / np.exp(self._logs)[self._owner]
            part = self._root.solve(self._is_row * _matern(_squares(self._rows, scaled)))
            parts.append(part.reshape(-1, len(scaled)))
        return np.concatenate(parts, axis=1)

    def alike(self, point: Floats, points: Floats) -> Floats:
        """(N,) the kernel between *point*, (F,), and *points*, (N, F)."""
        away = (points - point) / np.exp(self._logs)[self._owner]
        return _matern((away**2).sum(axis=1))

    def _likelihood(self, logs: Floats, points: Floats, target: Floats) -> float:
        """Logarithm of the likelihood of *target* times that of the scales, less a constant."""
        root = _root(points / np.exp(logs)[self._owner])
        half = root.solve(in_blocks(target[:, None]))
        prior = -0.5 * ((logs - _USUAL_LOG) ** 2).sum()
        return float(prior - 0.5 * (half**2).sum() - root.log_determinant)


def _root(points: Floats) -> Root:
    """Root of the kernel matrix between *points*, (N, F), with ones where there is no point."""
    rows = in_blocks(points)
    is_point = in_blocks(np.ones((len(points), 1)))[:, :, 0]
    kernel = np.zeros((len(rows), len(rows), SIZE, SIZE))
    for at in range(len(rows)):  # what is above the diagonal is not looked at
        kernel[at, : at + 1] = _matern(_squares(rows[at], rows[: at + 1]))
    if len(points) % SIZE:
        kernel[-1] *= is_point[-1][:, None]
        kernel[-1, -1] *= is_point[-1]
    for at in range(len(rows)):
        kernel[at, at][np.diag_indices(SIZE)] += _NOISE + 1.0 - is_point[at]
    return Root(kernel)


def _squares(a: Floats, b: Floats) -> Floats:
    """Squared distances between (..., N, F) and (..., K, F), as (..., N, K)."""
    products = a @ np.swapaxes(b, -1, -2)
    own, other = (np.einsum("...f,...f->...", points, points) for points in (a, b))
    return np.asarray(np.maximum(own[..., :, None] + other[..., None, :] - 2.0 * products, 0.0))


def _matern(square: Floats) -> Floats:
    distance = np.sqrt(5.0 * square)
    return np.asarray((1.0 + distance + distance**2 / 3.0) * np.exp(-distance))
