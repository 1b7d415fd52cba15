"""Designs as rows of small integers: a space as the kernels read it, and the rows that it holds."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.designs.luck import Luck, below
from simcore.kernels.jit import leaf, njit

Ints = NDArray[np.int64]
Codes = NDArray[np.int16]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NO_CODE = -2
"""Code of a value that a knob does not have."""


class DesignTables(NamedTuple):
    """A space of designs.

    The code of a knob is the position of its choice, -1 where it has no meaning. Knobs that rules
    tie together are a block, whose valid rows of codes are listed as keys. Lists of different
    lengths lie behind each other, list n from ``first[n]`` to ``first[n + 1]``.

    Attributes:
        counts: (C,) numbers of network dimensions, rising.
        spans: (B, 2) first knob of each block, and the one behind its last.
        radix: (K,) weight of each knob in the key of a row of its block.
        lowest: (B,) sum of the weights: by what a key of codes that are all -1 lies below 0.
        key_first, keys: Of the rows, rising, for each block and in it for each of *counts*.
        tops: (K,) position of the last choice.
        values: (K, most choices) whole numbers that codes of knobs of a product stand for.
        product_first, products: Knobs of each product.
        ladders: Other knobs whose choices have an order.
        words: Other knobs whose choices have none.
        stem_first, stems: Knobs that say the same of different network dimensions.
        ordered: Numbers of the stems whose choices have an order.
        meanings: (stems, J, J, choices) the code in the second knob of a code of the first one.
        places: (stems, slots) which knob of a stem belongs to each network dimension, or -1.
        slots: (K,) which network dimension each knob belongs to, or -1.
        loose_first, loose: Knobs of each block that may give way, in this order.
        conditional: Of each of *loose*, 1 if it may lose its meaning.
        moves, shares: Moves that the space allows, and the sums of their shares.
    """

    counts: Ints
    spans: Ints
    radix: Ints
    lowest: Ints
    key_first: Ints
    keys: Ints
    tops: Ints
    values: Ints
    product_first: Ints
    products: Ints
    ladders: Ints
    words: Ints
    stem_first: Ints
    stems: Ints
    ordered: Ints
    meanings: Ints
    places: Ints
    slots: Ints
    loose_first: Ints
    loose: Ints
    conditional: Ints
    moves: Ints
    shares: Floats


@leaf
def find_row(t: DesignTables, block: int, count: int, key: int) -> int:
    """Row of a block by its key, with ``counts[count]`` dimensions; -1: there is none."""
    place = block * t.counts.size + count
    begin, end = t.key_first[place], t.key_first[place + 1]
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if t.keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low - begin if low < end and t.keys[low] == key else -1


@leaf
def key_of(t: DesignTables, block: int, codes: Codes) -> int:
    """Key of what a block has of *codes*, (K,)."""
    key = 0
    for knob in range(t.spans[block, 0], t.spans[block, 1]):
        key += codes[knob] * t.radix[knob]
    return key


@leaf
def draw_block(t: DesignTables, block: int, count: int, codes: Codes, luck: Luck) -> None:
    """Set the codes of a block to one of its rows."""
    place = block * t.counts.size + count
    first = t.key_first[place]
    rest = t.keys[first + below(luck, t.key_first[place + 1] - first)] + t.lowest[block]
    for knob in range(t.spans[block, 0], t.spans[block, 1]):
        digit = rest // t.radix[knob]
        rest -= digit * t.radix[knob]
        codes[knob] = digit - 1


@leaf
def _mended(t: DesignTables, block: int, count: int, codes: Codes, touched: Flags) -> bool:
    """Change one more knob of a block so that its codes are valid, if one can do that.

    A knob may lose its meaning, or gain one, or has to give way: the nearest choice that fits.
    """
    key = key_of(t, block, codes)
    for at in range(t.loose_first[block], t.loose_first[block + 1]):
        knob = t.loose[at]
        if touched[knob]:
            continue
        before, best, least = codes[knob], NO_CODE, 1 << 30
        for option in range(-1, t.tops[knob] + 1):
            distance = abs(2 * (option - before) - 1)  # of equals the lower one
            if option < 0:
                if t.conditional[at] == 0 or before < 0:
                    continue
                distance = 0
            wanted = key + t.radix[knob] * (option - before)
            if distance < least and find_row(t, block, count, wanted) >= 0:
                best, least = option, distance
        if best != NO_CODE:
            codes[knob] = best
            return True
    return False


@leaf
def holds(t: DesignTables, count: int, codes: Codes, touched: Flags) -> bool:
    """True if the blocks of the knobs that were *touched* have rows with *codes*.

    Where a rule is broken that one more knob can mend, it does.
    """
    for block in range(len(t.spans)):
        is_own = False
        for knob in range(t.spans[block, 0], t.spans[block, 1]):
            if touched[knob]:
                is_own = True
                break
        is_broken = is_own and find_row(t, block, count, key_of(t, block, codes)) < 0
        if is_broken and not _mended(t, block, count, codes, touched):
            return False
    return True


@leaf
def place_of(t: DesignTables, dimensions: int) -> int:
    """Position of a number of network dimensions among *counts*."""
    for count in range(t.counts.size):
        if t.counts[count] == dimensions:
            return count
    return -1


@njit(cache=True)
def hold_designs(
    t: DesignTables, dimensions: Codes, codes: Codes, touched: Flags, held: Flags
) -> None:
    """Clear *held*, (N,), where the blocks of the *touched* knobs, (N, K), hold no such codes.

    Where one more knob can mend that, it does.
    """
    for n in range(len(codes)):
        if held[n]:
            held[n] = holds(t, place_of(t, dimensions[n]), codes[n], touched[n])
