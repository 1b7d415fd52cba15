"""Random numbers in independent streams: MRG32k3a.

Source: L'Ecuyer, Simard, Chen and Kelton, "An object-oriented random-number package with many long
streams and substreams", Operations Research 50 (2002). A stream is six words: the latest three
values of each of its two recurrences. Streams lie 2^127 values apart, substreams 2^76. The network
simulator of the reference draws from the same generator: a number for a mark is the first of a
stream of its own.
"""

from functools import cache

import numpy as np

from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.layout import Ints

STREAM_WORDS = 6
MODULI = (4294967087, 4294944443)
STEPS = ((0, 1403580, -810728), (527612, 0, -1370589))
"""Factors, in each recurrence, of the latest value, the one before, and the one before that."""

_M1, _M2 = MODULI


_Matrix = list[list[int]]


def start_of_stream(seed: int, stream: int, substream: int) -> list[int]:
    """Six words of the start of a substream of a stream.

    Args:
        seed: Every value before the first stream, of both recurrences.
        stream: Number of the stream, from 0 on.
        substream: Its number in the stream, from 0 on.
    """
    words = []
    for part, modulus in enumerate(MODULI):
        jump = _power(part, (stream << 127) + (substream << 76))
        words += [sum(row) * seed % modulus for row in jump]
    return words


def _power(part: int, exponent: int) -> _Matrix:
    """Matrix that moves one recurrence on by *exponent* values."""
    power = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    for bit in range(exponent.bit_length()):
        if exponent >> bit & 1:
            power = _product(power, _squared(part, bit), MODULI[part])
    return power


@cache
def _squared(part: int, times: int) -> _Matrix:
    """Matrix that moves one recurrence on by 2 to the power of *times* values."""
    modulus = MODULI[part]
    if times == 0:
        return [[0, 1, 0], [0, 0, 1], [factor % modulus for factor in STEPS[part][::-1]]]
    half = _squared(part, times - 1)
    return _product(half, half, modulus)


def _product(one: _Matrix, two: _Matrix, modulus: int) -> _Matrix:
    return [
        [sum(row[k] * two[k][column] for k in range(3)) % modulus for column in range(3)]
        for row in one
    ]


_NEXT_STREAM = np.array([_power(0, 1 << 127), _power(1, 1 << 127)], np.int64)


@kernel
def first_of_next_stream(arena: Ints, at: int) -> float:
    """First number of the stream at *at*, in (0, 1); then the next stream stands there."""
    one, two = _next_values(arena, at)
    _move_on(arena, at)
    return _uniform(one, two)


@kernel
def next_uniform(arena: Ints, at: int) -> float:
    """Next number of the stream at *at*, in (0, 1)."""
    one, two = _next_values(arena, at)
    for part, value in ((at, one), (at + 3, two)):
        arena[part] = arena[part + 1]
        arena[part + 1] = arena[part + 2]
        arena[part + 2] = value
    return _uniform(one, two)


@kernel
def _next_values(arena: Ints, at: int) -> tuple[int, int]:
    one = (1403580 * arena[at + 1] - 810728 * arena[at]) % _M1
    two = (527612 * arena[at + 5] - 1370589 * arena[at + 3]) % _M2
    return one, two


@kernel
def _uniform(one: int, two: int) -> float:
    difference = one - two if one > two else one - two + _M1
    return difference * 2.328306549295727688e-10


@kernel
def _move_on(arena: Ints, at: int) -> None:
    """Move to the next stream; products of 32 bits by 32 need all 64, so they have no sign."""
    for part in range(2):
        modulus = np.uint64(_M1 if part == 0 else _M2)
        first = at + 3 * part
        values = np.uint64(arena[first]), np.uint64(arena[first + 1]), np.uint64(arena[first + 2])
        for row in range(3):
            total = np.uint64(0)
            for column in range(3):
                factor = np.uint64(_NEXT_STREAM[part, row, column])
                total += factor * values[column] % modulus
            arena[first + row] = np.int64(total % modulus)
