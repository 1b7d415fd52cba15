"""Cholesky factors in square blocks, so small that the linear algebra below works on one thread.

Threads do not pay for matrices of a few hundred rows: where other programs want the cores too, they
cost many times the work that they share, and their number must not decide what a search proposes.
"""

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
