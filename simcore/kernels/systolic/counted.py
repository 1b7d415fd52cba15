"""Words that come from memory where bandwidth is an answer, not a limit.

The buffer remembers the words that came in until it is half full, then forgets all of them (a
*flush*). A word that it does not remember is read from memory. Each function returns these reads
and the line of the last flush, ``NO_FLUSH`` if there is none.
"""

import numpy as np

from simcore.kernels.jit import njit
from simcore.kernels.systolic.operands import (
    COLUMN,
    FOLD,
    ROW,
    Ints,
    Operand,
    block_of,
    line_of,
)
from simcore.kernels.systolic.order import block_width, diagonal_of
from simcore.kernels.systolic.windows import Windows

NO_FLUSH = -1


@njit(cache=True)
def line_of_request(operand: Operand, number: int) -> int:
    """Line of the *number*-th request for a word, from 0, where no slot is empty."""
    stack = operand.stack
    if operand.is_held:
        block = min(number // (stack.height * stack.width), stack.blocks - 1)
        width = block_width(stack, block)
        row = (number - block * stack.height * stack.width) // width  # in the order of requests
        down = row // operand.rows
        bottom = min((down + 1) * operand.rows, stack.height) - 1
        place = np.array([block * operand.row_folds + down, 0, 0])
        place[ROW] = bottom - (row - down * operand.rows)
        return line_of(operand, place)
    each = ((stack.blocks - 1) * stack.width + stack.last) * stack.height
    if operand.by_column:  # each block as often as there are row folds, one after another
        block = min(number // (stack.height * stack.width * operand.row_folds), stack.blocks - 1)
        number -= block * stack.height * stack.width * operand.row_folds
        size = stack.height * block_width(stack, block)
        fold, number = block * operand.row_folds + number // size, number % size
    else:  # all blocks, one after another, as often as there are column folds
        block = min(number % each // (stack.height * stack.width), stack.blocks - 1)
        fold = number // each * operand.row_folds + block
        number = number % each - block * stack.height * stack.width
    width = block_width(stack, block_of(operand, fold))
    return fold * operand.length + operand.offset + diagonal_of(number, stack.height, width)


@njit(cache=True)
def count_plain(operand: Operand, room: int) -> tuple[int, int]:
    """Reads of an operand of which each word lies in one slot, and each slot holds one.

    Args:
        operand: One without empty slots.
        room: Words after which the buffer forgets.
    """
    stack = operand.stack
    words = ((stack.blocks - 1) * stack.width + stack.last) * stack.height
    if operand.by_column and not operand.is_held:
        return _count_repeated(operand, room)
    if words < room:
        return words, NO_FLUSH
    if not operand.is_held:  # in a circle longer than the buffer nothing is found again
        words *= operand.folds // operand.row_folds
    return words, line_of_request(operand, words // room * room - 1)


@njit(cache=True)
def _count_repeated(operand: Operand, room: int) -> tuple[int, int]:
    """Reads where each block comes as often as there are row folds before the next one."""
    stack, again = operand.stack, operand.row_folds
    reads, held, asked, flush = 0, 0, 0, NO_FLUSH
    for block in range(stack.blocks):
        words = stack.height * block_width(stack, block)
        if words >= room:
            total = held + words * again
            reads += words * again
            flush = asked + total // room * room - held
            held = total % room
        elif held + words < room:
            reads += words
            held += words
        else:  # a flush within the first pass; what came before it comes again in the next one
            before = room - held
            flush = asked + before
            reads += words + (before if again > 1 else 0)
            held = words if again > 1 else words - before
        asked += words * again
    if flush == NO_FLUSH:
        return reads, NO_FLUSH
    return reads, line_of_request(operand, flush - 1)


@njit(cache=True)
def count_windows(operand: Operand, windows: Windows, room: int) -> tuple[int, int]:
    """Reads of an input whose words lie in several windows, or of which some slots are empty.

    Each pass over all blocks begins with what came in since the last flush. So a pass that begins
    after the same flush as an earlier one goes like that one.
    """
    folds = operand.folds if operand.is_held else operand.row_folds
    passes = operand.folds // folds
    tables = _addresses(windows)
    stamps = np.full(windows.height * windows.width * windows.channels, -1, np.int64)
    state = np.zeros(3, np.int64)  # words held, flushes, place of the last flush in its pass
    starts, ends = np.empty(passes, np.int64), np.empty(passes, np.int64)
    each = np.empty(passes, np.int64)
    reads, flush, walked, turn = 0, NO_FLUSH, 0, 0
    while turn < passes:
        start = state[2] if state[1] else NO_FLUSH
        like = NO_FLUSH
        for old in range(walked):
            if starts[old] == start and turn > 0:
                like = old
                break
        if like == NO_FLUSH:
            flushes = state[1]
            each[walked] = _pass(operand, windows, room, tables, stamps, state)
            starts[walked] = start if turn > 0 else -2
            ends[walked] = state[2] if state[1] > flushes else NO_FLUSH
            like = walked
            walked += 1
        reads += each[like]
        if ends[like] != NO_FLUSH:
            state[2] = ends[like]
            flush = turn * folds * operand.length + ends[like] // _STEP
        turn += 1
    return reads, flush


_STEP = 1 << 20
"""Most words of a line; places in a pass are numbered by line and word."""


@njit(cache=True)
def _addresses(windows: Windows) -> Ints:
    """Three tables, (2, n) each as flat rows: address, row and column of windows and elements."""
    line = windows.filter_width * windows.channels
    pixels, elements = windows.down * windows.across, windows.filter_height * line
    found = np.empty((6, max(pixels, elements)), np.int64)
    for pixel in range(pixels):
        y = pixel // windows.across * windows.stride_down
        x = pixel % windows.across * windows.stride_across
        found[0, pixel] = (y * windows.width + x) * windows.channels
        found[1, pixel], found[2, pixel] = y, x
    for element in range(elements):
        y, x = element // line, element % line // windows.channels
        channel = element % windows.channels
        found[3, element] = (y * windows.width + x) * windows.channels + channel
        found[4, element], found[5, element] = y, x
    return found


@njit(cache=True)
def _pass(
    operand: Operand, windows: Windows, room: int, tables: Ints, stamps: Ints, state: Ints
) -> int:
    """Reads of one pass over all blocks."""
    stack, reads = operand.stack, 0
    folds = operand.folds if operand.is_held else operand.row_folds
    place = np.zeros(3, np.int64)
    for fold in range(folds):
        block = block_of(operand, fold)
        width, first = block_width(stack, block), block * stack.width
        place[FOLD] = fold
        if operand.is_held:
            top = fold % operand.row_folds * operand.rows
            bottom = min(top + operand.rows, stack.height)
            lines = bottom - top
        else:
            lines = stack.height + width - 1
        for line in range(lines):
            low, high, row = max(0, line - stack.height + 1), min(width - 1, line), line
            if operand.is_held:
                low, high, row = 0, width - 1, bottom - 1 - line
            place[ROW], place[COLUMN] = row - (0 if operand.is_held else low), low
            number = line_of(operand, place) * _STEP
            for column in range(low, high + 1):
                pixel, element = first + column, row
                if not operand.is_held:
                    element = row - column
                if windows.pixel_is_row:
                    pixel, element = element, pixel
                y = tables[1, pixel] + tables[4, element]
                x = tables[2, pixel] + tables[5, element]
                if y >= windows.height or x >= windows.width:
                    continue
                address = tables[0, pixel] + tables[3, element]
                if stamps[address] == state[1]:
                    continue
                stamps[address] = state[1]
                reads += 1
                state[0] += 1
                if state[0] >= room:
                    state[0], state[1] = 0, state[1] + 1
                    state[2] = number + column
    return reads
