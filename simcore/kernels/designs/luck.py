"""Streams of luck, one for each design that is made: what becomes of it depends on no other one.

Source: splitmix64, G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators",
OOPSLA 2014.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import leaf

Luck = NDArray[np.uint64]
"""(1,) the state of a stream."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_A, _B, _C, _D = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53


@leaf
def mixed(z: Any) -> Any:
    """A number of 64 bits, each of which depends on all bits of *z*."""
    z = (z ^ (z >> _A)) * _FIRST
    z = (z ^ (z >> _B)) * _SECOND
    return z ^ (z >> _C)


@leaf
def begin(luck: Luck, seed: int, number: int) -> None:
    """Start stream *number* of those of a *seed*."""
    luck[0] = mixed(mixed(np.uint64(seed) + _GOLDEN) ^ (np.uint64(number) * _GOLDEN))


@leaf
def unit(luck: Luck) -> float:
    """A number from 0 to below 1."""
    luck[0] += _GOLDEN
    return float(mixed(luck[0]) >> _D) * _UNIT


@leaf
def below(luck: Luck, end: int) -> int:
    """A whole number from 0 to below *end*."""
    return int(unit(luck) * end)
