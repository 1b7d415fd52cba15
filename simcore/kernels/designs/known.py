"""Designs known again by a key of 64 bits, by the million: an open hash table in two arrays.

Of a million designs two have the same key once in some forty million studies.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.designs.luck import mixed
from simcore.kernels.designs.tables import Codes, Ints
from simcore.kernels.jit import njit

EMPTY = 0
"""Key of no design: where the table has none."""

_ODD = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True)
def keys_of_designs(dimensions: Codes, codes: Codes, reals: NDArray[np.uint64], keys: Ints) -> None:
    """Set *keys*, (N,), to those of designs: numbers of dimensions, codes, and bits of reals."""
    for n in range(len(codes)):
        word = np.uint64(dimensions[n])
        for knob in range(codes.shape[1]):
            word = mixed(word ^ np.uint64(codes[n, knob] + 2)) + _ODD
        for at in range(reals.shape[1]):
            word = mixed(word ^ reals[n, at]) + _ODD
        key = np.int64(word >> np.uint64(1))
        keys[n] = key if key != EMPTY else 1


@njit(cache=True)
def slot_of(table: Ints, key: int) -> int:
    """Place of *key*, or one where there is room for it; the size of a table is a power of two."""
    at = key & (table.size - 1)
    while table[at] != EMPTY and table[at] != key:
        at = (at + 1) & (table.size - 1)
    return at


@njit(cache=True)
def find_keys(table: Ints, notes: NDArray[np.int32], keys: Ints, found: NDArray[np.int32]) -> None:
    """Set *found*, (N,), to the note of each key, or -1 where the table has none."""
    for n in range(keys.size):
        at = slot_of(table, keys[n])
        found[n] = notes[at] if table[at] != EMPTY else -1


@njit(cache=True)
def add_keys(table: Ints, notes: NDArray[np.int32], keys: Ints, values: NDArray[np.int32]) -> int:
    """Note *values* of *keys*; gives how many of the keys are new. There must be room."""
    new = 0
    for n in range(keys.size):
        at = slot_of(table, keys[n])
        new += table[at] == EMPTY
        table[at], notes[at] = keys[n], values[n]
    return new
