"""Words of an operand that a read buffer serves: their order, and which are asked for when.

A *slot* is a place in the order in which the buffer fetches, words and places without one alike; a
*word* is the same without those. A *group* is as many words as the buffer counts together.

A *place* is an array of fold, row and column: a slot of the block that a fold works on. An operand
that streams through the array meets its blocks along their diagonals; one that is held in it is
brought in row by row, the last row of the fold first.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.systolic.order import Stack, block_width, find_in_block, slot_of

Ints = NDArray[np.int64]

FOLD, ROW, COLUMN = range(3)


class Operand(NamedTuple):
    """One of the two operands of a product on an array.

    Attributes:
        stack: Its blocks.
        is_held: It stays in the array while the other one streams.
        by_column: Its block changes with the column fold, not with the row fold.
        offset: Line of a fold on which it begins to stream.
        rows: Rows of the array.
        row_folds, folds: Folds down; folds in all.
        length: Lines of each.
        empty: Slots without a word, ascending.
        words_before: For each of them, words before it.
    """

    stack: Stack
    is_held: bool
    by_column: bool
    offset: int
    rows: int
    row_folds: int
    folds: int
    length: int
    empty: Ints
    words_before: Ints


@njit(cache=True)
def block_of(operand: Operand, fold: int) -> int:
    """Block that a fold works on."""
    return fold // operand.row_folds if operand.by_column else fold % operand.row_folds


@njit(cache=True)
def slot_in(operand: Operand, block: int, row: int, column: int) -> int:
    """Slot at a row and column of a block."""
    stack = operand.stack
    if operand.is_held:
        first = block * stack.height * stack.width
        return first + row * block_width(stack, block) + column
    return slot_of(stack, block, row, column)


@njit(cache=True)
def slot_at(operand: Operand, place: Ints) -> int:
    """Slot at a place."""
    return slot_in(operand, block_of(operand, place[FOLD]), place[ROW], place[COLUMN])


@njit(cache=True)
def word_of(operand: Operand, slot: int) -> int:
    """Words before a slot: its own number where it holds one."""
    if operand.empty.size == 0:
        return slot
    return slot - np.searchsorted(operand.empty, slot)


@njit(cache=True)
def slot_of_word(operand: Operand, word: int) -> int:
    """Slot that holds a word."""
    if operand.empty.size == 0:
        return word
    return word + np.searchsorted(operand.words_before, word, side="right")


@njit(cache=True)
def line_of(operand: Operand, place: Ints) -> int:
    """Line, counted over all folds, on which the word at a place is asked for."""
    begin = place[FOLD] * operand.length
    if operand.is_held:
        bottom = (place[FOLD] % operand.row_folds + 1) * operand.rows - 1
        return begin + bottom - place[ROW]
    return begin + operand.offset + place[ROW] + place[COLUMN]


@njit(cache=True)
def seek(operand: Operand, place: Ints, slot: int) -> bool:
    """Move to the first word of the place's fold from *slot* on; False: that fold has none."""
    if operand.is_held:
        return _seek_in_row(operand, place, slot)
    block = block_of(operand, place[FOLD])
    while True:
        row, column = find_in_block(operand.stack, block, slot)
        if row < 0:
            return False
        slot = slot_of(operand.stack, block, row, column)
        held = slot_of_word(operand, word_of(operand, slot))
        if held == slot:
            place[ROW], place[COLUMN] = row, column
            return True
        slot = held


@njit(cache=True)
def _seek_in_row(operand: Operand, place: Ints, slot: int) -> bool:
    """Move to the first word from *slot* on in the place's row or, below it, in a later one."""
    block = block_of(operand, place[FOLD])
    width = block_width(operand.stack, block)
    top = place[FOLD] % operand.row_folds * operand.rows
    while True:
        first = slot_in(operand, block, place[ROW], 0)
        held = slot_of_word(operand, word_of(operand, max(slot, first)))
        if held < first + width:
            place[COLUMN] = held - first
            return True
        if place[ROW] == top:
            return False
        place[ROW] -= 1
        slot = 0


@njit(cache=True)
def enter(operand: Operand, place: Ints, fold: int) -> bool:
    """Move to the first word of *fold*, or of a later one; False: there is none."""
    while fold < operand.folds:
        place[FOLD], place[ROW], place[COLUMN] = fold, 0, 0
        if operand.is_held:
            bottom = (fold % operand.row_folds + 1) * operand.rows
            place[ROW] = min(bottom, operand.stack.height) - 1
        if seek(operand, place, slot_at(operand, place)):
            return True
        fold += 1
    return False


@njit(cache=True)
def move_on(operand: Operand, place: Ints, slot: int) -> bool:
    """Move to the first word from *slot* on in the place's fold, or to the next fold."""
    if seek(operand, place, slot):
        return True
    return enter(operand, place, place[FOLD] + 1)


@njit(cache=True)
def last_line(operand: Operand) -> int:
    """Last line on which a word of the operand is asked for."""
    place = np.zeros(3, np.int64)
    found = -1
    fold = operand.folds - 1
    while found < 0 and fold >= 0:
        block = block_of(operand, fold)
        height, width = operand.stack.height, block_width(operand.stack, block)
        low = 0
        if operand.is_held:
            low = fold % operand.row_folds * operand.rows
            height = min(height, low + operand.rows)
        place[FOLD] = fold
        for row in range(low, height):
            for column in range(width - 1, -1, -1):
                place[ROW], place[COLUMN] = row, column
                line = line_of(operand, place)
                if line <= found:
                    break
                slot = slot_at(operand, place)
                if slot_of_word(operand, word_of(operand, slot)) == slot:
                    found = line
                    break
        fold -= 1
    return found
