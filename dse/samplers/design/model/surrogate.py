"""Gaussian processes over genomes, which guess objectives of designs not yet simulated.

Source: C. Rasmussen and C. Williams, "Gaussian Processes for Machine Learning", MIT Press 2006,
algorithm 2.1, equation 5.8 and section 5.1 (a length scale per knob).
"""

from math import exp
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

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


_CONSTANT = 0.5
"""Part of a sum of effects that is the same for all: of its square, single knobs have half."""

_PILE = 384
"""Points that are outlined at once, as products of matrices that are no larger than others."""

_NO_SUMS = np.zeros(0, np.int64)

_AT_ONCE = 48
"""Points that are guessed at once: so few that one thread does it, as with the blocks."""


class GaussianProcess:
    """One output with a Matern 5/2 kernel whose length scales are learned step by step.

    Attributes:
        noise: Variance that the kernel leaves unexplained, in units of *spread* squared.
        spread: Standard deviation of the output among what was learned.
    """

    noise = _NOISE

    def __init__(self, owner: NDArray[np.int64], sums: NDArray[np.int64] = _NO_SUMS) -> None:
        """Know nothing.

        Args:
            owner: (F,) which knob each coordinate belongs to; a knob has one length scale.
            sums: (D,) likewise of the coordinates behind these, whose products say how alike knobs
                are: part of the output is a sum of effects of knobs and of pairs of them.
        """
        self._owner, self._sums = owner, sums
        self._logs = np.full(int(owner.max(initial=0)) + 1, _FIRST_LOG)
        self._usual = np.full(self._logs.size, _USUAL_LOG)
        if self._sums.size:
            self._logs, self._usual = np.append(self._logs, 0.0), np.append(self._usual, 0.0)

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
        scaled, self._part = self._scaled(points, self._logs), self._share(self._logs)
        self._rows, self._is_row = in_blocks(scaled), in_blocks(np.ones((len(points), 1)))
        self._root = _root(scaled, self._owner.size, self._part)
        self._half = self._root.solve(in_blocks(((values - self._mean) / self.spread)[:, None]))

    def guess(self, points: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation, (N,) float64 each, at *points*, (N, F)."""
        mean, variance = np.empty(len(points)), np.empty(len(points))
        for first in range(0, len(points), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            scaled = self._scaled(points[part], self._logs)
            kernel = _kernel(self._rows, scaled, self._owner.size, self._part)
            reach = self._root.solve(self._is_row * kernel)
            mean[part] = (reach * self._half).sum(axis=(0, 1))
            variance[part] = 1.0 - (reach**2).sum(axis=(0, 1))
        deviation = np.sqrt(np.maximum(variance, 1e-9))
        return mean * self.spread + self._mean, deviation * self.spread

    def outline(self, points: Singles) -> tuple[Floats, Floats]:
        """Mean and standard deviation, (N,) float64 each, at *points*, (N, F), for a shortlist.

        In single precision, and as unsure as a model that knows one point alone, the most alike.
        """
        rows = self._rows.astype(np.float32)
        weights = self._root.solve_back(self._half).transpose(0, 2, 1).astype(np.float32)
        filled = np.zeros((-(-len(points) // _PILE) * _PILE, points.shape[1]), np.float32)
        filled[: len(points)] = self._scaled(points, self._logs)
        piles = filled.reshape(-1, _PILE // _AT_ONCE, 1, _AT_ONCE, points.shape[1])
        last = int(self._is_row[-1].sum())
        mean, most = np.empty(len(filled)), np.empty(len(filled))
        for at, pile in enumerate(piles):
            kernel = _kernel(rows, pile, self._owner.size, self._part)
            kernel[:, -1, last:] = 0.0
            part = slice(at * _PILE, (at + 1) * _PILE)
            mean[part] = (weights @ kernel).sum(axis=(1, 2)).ravel()
            most[part] = kernel.max(axis=(1, 2)).ravel()
        mean, most = mean[: len(points)], most[: len(points)]
        deviation = np.sqrt(np.maximum(1.0 - most**2 / (1.0 + self.noise), 1e-9))
        return mean * self.spread + self._mean, deviation * self.spread

    def reach(self, scaled: Floats) -> Floats:
        """(R, N): products of its columns are what is known in common of points, see ``scaled``."""
        result = np.empty((self._rows.shape[0] * SIZE, len(scaled)))
        for first in range(0, len(scaled), _AT_ONCE):
            own = scaled[first : first + _AT_ONCE]
            kernel = _kernel(self._rows, own, self._owner.size, self._part)
            part = self._root.solve(self._is_row * kernel)
            result[:, first : first + _AT_ONCE] = part.reshape(-1, len(own))
        return result

    def mean_at(self, reach: Floats) -> Floats:
        """(N,) means at points with *reach*, (R, N)."""
        mean = (reach * self._half.reshape(-1, 1)).sum(axis=0)
        return np.asarray(mean * self.spread + self._mean)

    def alike(self, at: int, scaled: Floats) -> Floats:
        """(N,) the kernel between the point of row *at* and all of *scaled*, (N, F)."""
        return np.asarray(_kernel(scaled[at : at + 1], scaled, self._owner.size, self._part)[0])

    def scaled(self, points: Floats) -> Floats:
        """*points*, (N, F), in the lengths of the model."""
        return self._scaled(points, self._logs)

    def _share(self, logs: Floats) -> float:
        """Part of the variance that is of sums of effects."""
        return 1.0 / (1.0 + exp(-logs[-1])) if self._sums.size else 0.0

    def _scaled(self, points: NDArray[Any], logs: Floats) -> Floats:
        """*points* in length scales, and what sums are of in the roots of their weights."""
        lengths = np.exp(logs)
        factors = 1.0 / lengths[self._owner]
        if self._sums.size:
            knobs = 1.0 / lengths[:-1]
            roots = np.sqrt((1.0 - _CONSTANT) * knobs / knobs.sum())
            factors = np.concatenate([factors, roots[self._sums]])
        return np.asarray(points * factors)

    def _likelihood(self, logs: Floats, points: Floats, target: Floats) -> float:
        """Logarithm of the likelihood of *target* times that of the scales, less a constant."""
        root = _root(self._scaled(points, logs), self._owner.size, self._share(logs))
        half = root.solve(in_blocks(target[:, None]))
        prior = -0.5 * ((logs - self._usual) ** 2).sum()
        return float(prior - 0.5 * (half**2).sum() - root.log_determinant)


def _root(points: Floats, first: int, part: float) -> Root:
    """Root of the kernel matrix between *points*, (N, F), with ones where there is no point."""
    rows = in_blocks(points)
    is_point = in_blocks(np.ones((len(points), 1)))[:, :, 0]
    kernel = np.zeros((len(rows), len(rows), SIZE, SIZE))
    for at in range(len(rows)):  # what is above the diagonal is not looked at
        kernel[at, : at + 1] = _kernel(rows[at], rows[: at + 1], first, part)
    if len(points) % SIZE:
        kernel[-1] *= is_point[-1][:, None]
        kernel[-1, -1] *= is_point[-1]
    for at in range(len(rows)):
        kernel[at, at][np.diag_indices(SIZE)] += _NOISE + 1.0 - is_point[at]
    return Root(kernel)


def _kernel(a: NDArray[Any], b: NDArray[Any], first: int, part: float) -> NDArray[Any]:
    """The kernel between scaled points (..., N, F) and (..., K, F), as (..., N, K).

    Args:
        a: Points.
        b: Other points.
        first: Coordinates of the length scales; those behind are of sums of effects.
        part: Part of the variance that is of sums.
    """
    whole = _matern(_squares(a[..., :first], b[..., :first]))
    if not part:
        return whole
    sums = a[..., first:] @ np.swapaxes(b[..., first:], -1, -2)
    sums += _CONSTANT
    sums *= sums
    sums *= part
    whole *= 1.0 - part
    whole += sums
    return whole


def _squares(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Squared distances between (..., N, F) and (..., K, F), as (..., N, K)."""
    result = a @ np.swapaxes(-2.0 * b, -1, -2)
    own, other = (np.einsum("...f,...f->...", points, points) for points in (a, b))
    result += own[..., :, None]
    result += other[..., None, :]
    return np.asarray(np.maximum(result, 0.0, out=result))


def _matern(square: NDArray[Any]) -> NDArray[Any]:
    """The kernel at distances with *square*, which is used up."""
    distance = np.sqrt(np.multiply(square, 5.0, out=square))
    square /= 3.0
    square += distance
    square += 1.0
    square *= np.exp(np.negative(distance, out=distance), out=distance)
    return square
