"""Parts of a circular order of words that a read buffer holds, and when a word is outside.

The buffer holds *active* groups from a start on. Where a word is asked for that lies in none of
them, the start moves on by *ahead* groups, as often as it takes.
"""

from typing import NamedTuple

import numpy as np

from simcore.kernels.jit import njit
from simcore.kernels.systolic.operands import (
    COLUMN,
    FOLD,
    ROW,
    Ints,
    Operand,
    block_of,
    enter,
    move_on,
    slot_at,
    slot_in,
    slot_of_word,
    word_of,
)
from simcore.kernels.systolic.order import block_width


class Buffer(NamedTuple):
    """A read buffer.

    Attributes:
        each: Words of a group.
        groups: Groups of the whole operand.
        active: Groups that are held.
        ahead: Groups by which the start moves on.
        fetch_lines: Lines of one fetch, each of as many words as come in per cycle.
    """

    each: int
    groups: int
    active: int
    ahead: int
    fetch_lines: int


class Windows(NamedTuple):
    """Windows of a convolution, which share words of its input.

    Attributes:
        height, width, channels: Of the input.
        filter_height, filter_width: Of a window.
        stride_down, stride_across: Between windows.
        down, across: Number of windows.
        pixel_is_row: Rows of the blocks are windows and columns their elements, not the reverse.
        overlap: Some word lies in several windows.
    """

    height: int
    width: int
    channels: int
    filter_height: int
    filter_width: int
    stride_down: int
    stride_across: int
    down: int
    across: int
    pixel_is_row: bool
    overlap: bool


@njit(cache=True)
def to_outside(operand: Operand, buffer: Buffer, start: int, place: Ints) -> bool:
    """Move to the first word, from the place on, whose own group is not held; False: none."""
    while True:
        slot = slot_at(operand, place)
        group = word_of(operand, slot) // buffer.each
        apart = group - start if group >= start else group - start + buffer.groups
        if apart >= buffer.active:
            return True
        end = start + buffer.active
        if group < start:
            end -= buffer.groups
        if operand.is_held:
            block = block_of(operand, place[FOLD])
            width = block_width(operand.stack, block)
            leaves = slot - place[COLUMN] + width  # the next row, which lies before this one
            if end < buffer.groups and slot_of_word(operand, end * buffer.each) < leaves:
                leaves = slot_of_word(operand, end * buffer.each)
            else:
                place[ROW] = _lowest_held(operand, buffer, start if group >= start else 0, place)
                leaves = slot_in(operand, block, place[ROW], width)
            if not move_on(operand, place, leaves):
                return False
        elif end < buffer.groups:
            if not move_on(operand, place, slot_of_word(operand, end * buffer.each)):
                return False
        elif not enter(operand, place, place[FOLD] + 1):
            return False


@njit(cache=True)
def _lowest_held(operand: Operand, buffer: Buffer, first_group: int, place: Ints) -> int:
    """Lowest row of the fold, up to that of the place, with no word before *first_group*."""
    block = block_of(operand, place[FOLD])
    top = place[FOLD] % operand.row_folds * operand.rows
    apart = slot_of_word(operand, first_group * buffer.each) - slot_in(operand, block, 0, 0)
    held = -(-apart // block_width(operand.stack, block))
    return min(place[ROW], max(top, held))


@njit(cache=True)
def moves_needed(buffer: Buffer, start: int, group: int) -> int:
    """Times that the start must move on until a group is held."""
    apart = group - start if group >= start else group - start + buffer.groups
    if apart < buffer.active:
        return 0
    return (apart - buffer.active) // buffer.ahead + 1


@njit(cache=True)
def moves_to_word(
    operand: Operand, windows: Windows, buffer: Buffer, start: int, place: Ints
) -> int:
    """Times that the start must move on until the word at a place is held, in any group."""
    block = block_of(operand, place[FOLD])
    slot = slot_in(operand, block, place[ROW], place[COLUMN])
    best = moves_needed(buffer, start, word_of(operand, slot) // buffer.each)
    if not windows.overlap or best == 0:
        return best
    pixel, element = block * operand.stack.width + place[COLUMN], place[ROW]
    if windows.pixel_is_row:
        pixel, element = element, pixel
    line = windows.filter_width * windows.channels
    y = pixel // windows.across * windows.stride_down + element // line
    x = pixel % windows.across * windows.stride_across + element % line // windows.channels
    channel = element % windows.channels
    high = min(y // windows.stride_down, windows.down - 1)
    low = max(0, -((windows.filter_height - 1 - y) // windows.stride_down))
    right = min(x // windows.stride_across, windows.across - 1)
    left = max(0, -((windows.filter_width - 1 - x) // windows.stride_across))
    for down in range(low, high + 1):
        row = y - down * windows.stride_down
        for across in range(left, right + 1):
            column = x - across * windows.stride_across
            pixel = down * windows.across + across
            element = row * line + column * windows.channels + channel
            if windows.pixel_is_row:
                pixel, element = element, pixel
            width = operand.stack.width
            slot = slot_in(operand, pixel // width, element, pixel % width)
            found = moves_needed(buffer, start, word_of(operand, slot) // buffer.each)
            if found < best:
                best = found
                if best == 0:
                    return 0
    return best


@njit(cache=True)
def to_missing(operand: Operand, windows: Windows, buffer: Buffer, start: int, place: Ints) -> int:
    """Move to the first word, from the place on, that is not held; its moves, 0: there is none."""
    while to_outside(operand, buffer, start, place):
        moves = moves_to_word(operand, windows, buffer, start, place)
        if moves > 0:
            return moves
        if not move_on(operand, place, after(operand, place)):
            return 0
    return 0


@njit(cache=True)
def after(operand: Operand, place: Ints) -> int:
    """Slot from which on to seek the word after that of a place."""
    return slot_at(operand, place) + 1


@njit(cache=True)
def empty_slots(operand: Operand, windows: Windows, count: int) -> tuple[Ints, Ints]:
    """Slots of window elements outside the input, ascending, and for each the words before it."""
    found = np.empty(count, np.int64)
    line, width, at = windows.filter_width * windows.channels, operand.stack.width, 0
    elements = windows.filter_height * line
    for pixel in range(windows.down * windows.across):
        top = pixel // windows.across * windows.stride_down
        left = pixel % windows.across * windows.stride_across
        if (
            top + windows.filter_height <= windows.height
            and left + windows.filter_width <= windows.width
        ):
            continue
        for element in range(elements):
            y, x = top + element // line, left + element % line // windows.channels
            if y >= windows.height or x >= windows.width:
                first, second = pixel, element
                if windows.pixel_is_row:
                    first, second = element, pixel
                found[at] = slot_in(operand, first // width, second, first % width)
                at += 1
    found.sort()
    return found, found - np.arange(count)
