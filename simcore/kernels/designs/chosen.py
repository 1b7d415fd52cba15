"""The most promising of many designs that wait to be asked for."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.designs.known import slot_of
from simcore.kernels.designs.tables import Ints
from simcore.kernels.jit import njit

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@njit(cache=True)
def best_design(
    promise: Floats,
    weights: Floats,
    of_sum: float,
    opened: Flags,
    left: Flags,
    keys: Ints,
    table: Ints,
    notes: NDArray[np.int32],
    least: int,
) -> int:
    """Number of the design of the least value that is *opened* and *left*, and not known; or -1.

    The value is the greatest weighted promise and a part of their sum (augmented Chebyshev). Of
    equal values the first one counts.

    Args:
        promise: (M, N) of each objective; (0, N): the first design is the best.
        weights: (M,) what each objective counts.
        of_sum: Part of the sum that counts beside the maximum.
        opened: (N,) designs that may not be known; those that are found to be are closed.
        left: (N,) designs that may be chosen.
        keys: (N,) their keys.
        table: Keys of what is known, as of ``add_keys``.
        notes: Their notes.
        least: Least note of a design that is known.
    """
    terms, designs = promise.shape
    values = np.empty(designs)
    for n in range(designs):
        values[n] = n if opened[n] and left[n] else np.inf
        if terms and values[n] == n:
            most = total = promise[0, n] * weights[0]
            for m in range(1, terms):
                term = promise[m, n] * weights[m]
                most, total = max(most, term), total + term
            values[n] = most + of_sum * total
    while designs:
        at = values.argmin()
        if values[at] == np.inf:
            break
        slot = slot_of(table, keys[at])
        if table[slot] != keys[at] or notes[slot] < least:
            return at
        opened[at], values[at] = False, np.inf
    return -1
