"""Places of words in the order in which they stream: along anti-diagonals of stacked blocks.

A rectangle of *height* x *width* slots is passed diagonal by diagonal (row + column ascending),
within one from the lowest column on. Blocks of equal height are stacked; the last may be narrower,
its missing columns hold nothing.
"""

from typing import NamedTuple

from simcore.kernels.jit import njit


class Stack(NamedTuple):
    """Blocks of one operand, one on top of the other.

    Attributes:
        blocks: Their number, at least 1.
        height: Rows of each.
        width: Columns of each but the last.
        last: Columns of the last, in [1, width].
    """

    blocks: int
    height: int
    width: int
    last: int


@njit(cache=True)
def _triangle(side: int) -> int:
    return side * (side + 1) // 2 if side > 0 else 0


@njit(cache=True)
def slots_before(diagonal: int, height: int, width: int) -> int:
    """Slots of a rectangle on the diagonals before *diagonal*."""
    corner = _triangle(diagonal) - _triangle(diagonal - height)
    return corner - _triangle(diagonal - width) + _triangle(diagonal - height - width)


@njit(cache=True)
def diagonal_of(slot: int, height: int, width: int) -> int:
    """Diagonal of a rectangle on which its *slot*-th slot lies, counted from 0."""
    low, high = 0, height + width - 2
    short = min(height, width)
    guess = min(max((slot + short * (short - 1) // 2) // short, low), high)
    if slots_before(guess, height, width) <= slot < slots_before(guess + 1, height, width):
        return guess
    while low < high:
        middle = (low + high + 1) >> 1
        if slots_before(middle, height, width) <= slot:
            low = middle
        else:
            high = middle - 1
    return low


@njit(cache=True)
def stacked_before(stack: Stack, diagonal: int) -> int:
    """Slots of the stack on the diagonals before *diagonal*."""
    above = (stack.blocks - 1) * stack.height
    found = slots_before(diagonal, above, stack.width) if above else 0
    return found + slots_before(diagonal - above, stack.height, stack.last)


@njit(cache=True)
def block_width(stack: Stack, block: int) -> int:
    """Columns of a block that hold words."""
    return stack.last if block == stack.blocks - 1 else stack.width


@njit(cache=True)
def slot_of(stack: Stack, block: int, row: int, column: int) -> int:
    """Rank of a slot in the order of the whole stack."""
    diagonal = block * stack.height + row + column
    first = max(0, diagonal - stack.blocks * stack.height + 1)
    missing = diagonal - (stack.blocks - 1) * stack.height  # last column that may be missing
    found = column - first
    gone = min(missing, column - 1) - max(stack.last, first) + 1
    if gone > 0:
        found -= gone
    return stacked_before(stack, diagonal) + found


@njit(cache=True)
def _column_of(stack: Stack, diagonal: int, nth: int) -> int:
    """Column of the *nth* slot that holds a word on a diagonal."""
    column = max(0, diagonal - stack.blocks * stack.height + 1) + nth
    missing = diagonal - (stack.blocks - 1) * stack.height
    if missing >= stack.last and column >= stack.last:
        start = max(stack.last, column - nth)
        column += missing - start + 1
    return column


@njit(cache=True)
def find_in_block(stack: Stack, block: int, slot: int) -> tuple[int, int]:
    """Row and column of the first slot of a block at or after *slot*; row -1: there is none."""
    top = block * stack.height
    width = block_width(stack, block)
    low, high = top, top + stack.height + width - 2
    if slot <= slot_of(stack, block, 0, 0):
        return 0, 0
    if slot >= stacked_before(stack, high + 1):
        return -1, 0
    side = stack.width
    guess = min(max((slot + side * (side - 1) // 2) // side, low), high)
    if stacked_before(stack, guess) <= slot < stacked_before(stack, guess + 1):
        low = guess
    else:
        while low < high:
            middle = (low + high + 1) >> 1
            if stacked_before(stack, middle) <= slot:
                low = middle
            else:
                high = middle - 1
    column = _column_of(stack, low, slot - stacked_before(stack, low))
    if column > min(width - 1, low - top):
        low += 1
        column = 0
        if low > top + stack.height + width - 2:
            return -1, 0
    column = max(column, low - top - stack.height + 1, 0)
    return low - top - column, column
