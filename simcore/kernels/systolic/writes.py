"""The write buffer: results come in line by line, and a part drains while the next one fills.

Words form lines as wide as the way to memory. A drain closes the line that is being filled, whose
rest stays empty. *State* is an array; of closed lines that are not full, *ragged* keeps the number
and the words, oldest first.
"""

from typing import NamedTuple

import numpy as np

from simcore.kernels.jit import njit
from simcore.kernels.systolic.operands import Ints
from simcore.kernels.systolic.order import diagonal_of, slots_before

NEVER = 1 << 62

FREE, OPEN, FIRST_LINE, LINES, DRAIN_END, WRITES, FIRST_CYCLE = range(7)
FOLD, INDEX, RAGGED_FIRST, RAGGED_END = range(7, 11)
STATE_WORDS = 11


class Results(NamedTuple):
    """Results of an array, and the buffer that takes them.

    Attributes:
        is_held: Results stay in the array until a fold's products are added up.
        rows, last_row, cols, last_col: Of the array; of them, used by the last folds.
        time: Steps of a fold.
        row_folds, folds: Folds down; folds in all.
        length: Lines of each.
        size: Words of the buffer.
        half: Words of it that drain together.
        bandwidth: Words per cycle.
    """

    is_held: bool
    rows: int
    last_row: int
    cols: int
    last_col: int
    time: int
    row_folds: int
    folds: int
    length: int
    size: int
    half: int
    bandwidth: int


@njit(cache=True)
def block(results: Results, fold: int) -> tuple[int, int, int]:
    """Line of a fold on which its results begin to come, and their rows and columns.

    They come along the diagonals of the rectangle of these rows and columns.
    """
    used = results.last_row if (fold + 1) % results.row_folds == 0 else results.rows
    is_last = fold >= results.folds - results.row_folds
    width = results.last_col if is_last else results.cols
    if results.is_held:
        return results.time - 1 + results.rows - used, used, width
    return 2 * results.rows - 1, results.time, width


@njit(cache=True)
def line_ahead(results: Results, state: Ints, words: int) -> int:
    """Line of the *words*-th result from now on, the next one being the first."""
    fold, left = state[FOLD], state[INDEX] + words
    while fold < results.folds:
        first, height, width = block(results, fold)
        if left <= height * width:
            return fold * results.length + first + diagonal_of(left - 1, height, width)
        left -= height * width
        fold += 1
    return NEVER


@njit(cache=True)
def line_from(results: Results, earliest: int) -> int:
    """First line with a result from *earliest* on."""
    fold = max(earliest, 0) // results.length
    while fold < results.folds:
        first, height, width = block(results, fold)
        begin = fold * results.length + first
        if earliest <= begin + height + width - 2:
            return max(earliest, begin)
        fold += 1
    return NEVER


@njit(cache=True)
def next_write(results: Results, state: Ints, stall: int, done: int) -> tuple[int, int]:
    """Line on which a drain begins, or the array waits for one; and the earliest it may ever be.

    Later stalls may move the first, not the second. Both are ``NEVER`` if there is none.

    Args:
        results: What comes in.
        state: Of the buffer.
        stall: Cycles lost until now.
        done: Last line that is served.
    """
    keep = results.size - results.half
    earliest = line_ahead(results, state, max(1, state[FREE] - keep + 1))
    if earliest == NEVER:
        return NEVER, NEVER
    idle = max(state[DRAIN_END] - stall, done + 1)
    if earliest >= idle:
        return earliest, earliest
    full = line_ahead(results, state, max(1, state[FREE]))
    return min(full, line_from(results, idle)), earliest


@njit(cache=True)
def _take(results: Results, state: Ints, words: int) -> None:
    """Add *words* results."""
    state[FREE] -= words
    state[OPEN] += words
    state[LINES] += state[OPEN] // results.bandwidth
    state[OPEN] %= results.bandwidth


@njit(cache=True)
def take_before(results: Results, state: Ints, line: int) -> None:
    """Add the results of all lines before *line*, at which nothing happens."""
    words, fold = 0, line // results.length
    while state[FOLD] < min(fold, results.folds):
        _, height, width = block(results, state[FOLD])
        words += height * width - state[INDEX]
        state[FOLD] += 1
        state[INDEX] = 0
    if fold < results.folds:
        first, height, width = block(results, fold)
        done = slots_before(max(0, line - fold * results.length - first), height, width)
        words += done - state[INDEX]
        state[INDEX] = done
    _take(results, state, words)


@njit(cache=True)
def _close_line(state: Ints, ragged: Ints) -> Ints:
    """Close the line that is being filled; *ragged*, or a longer one in its place."""
    if state[OPEN] == 0:
        return ragged
    if state[RAGGED_END] == len(ragged):
        kept = ragged[state[RAGGED_FIRST] : state[RAGGED_END]].copy()
        ragged = np.empty((2 * len(kept) + 64, 2), np.int64)
        ragged[: len(kept)] = kept
        state[RAGGED_FIRST], state[RAGGED_END] = 0, len(kept)
    ragged[state[RAGGED_END], 0] = state[LINES]
    ragged[state[RAGGED_END], 1] = state[OPEN]
    state[RAGGED_END] += 1
    state[LINES] += 1
    state[OPEN] = 0
    return ragged


@njit(cache=True)
def drain(results: Results, state: Ints, ragged: Ints, now: int) -> Ints:
    """Begin to write one half, or what there is; the ragged lines that are left."""
    ragged = _close_line(state, ragged)
    lines = -(-results.half // results.bandwidth)
    lines = min(lines, state[LINES] - state[FIRST_LINE])
    last = state[FIRST_LINE] + lines - 1
    words = lines * results.bandwidth
    while state[RAGGED_FIRST] < state[RAGGED_END] and ragged[state[RAGGED_FIRST], 0] <= last:
        if ragged[state[RAGGED_FIRST], 0] == last:
            words -= results.bandwidth - ragged[state[RAGGED_FIRST], 1]
        state[RAGGED_FIRST] += 1
    state[FIRST_LINE] += lines
    state[DRAIN_END] = now + lines - 1
    state[FREE] += words
    if state[WRITES] == 0:
        state[FIRST_CYCLE] = now
    state[WRITES] += words
    return ragged


@njit(cache=True)
def take_line(
    results: Results, state: Ints, ragged: Ints, line: int, cycle: int
) -> tuple[int, Ints]:
    """Add the results of one line, with its waits and drains; the delay, and the ragged lines."""
    take_before(results, state, line)
    first, height, width = block(results, state[FOLD])
    end = line - state[FOLD] * results.length - first + 1
    delay = 0
    words = slots_before(end, height, width) - state[INDEX]
    keep, left = results.size - results.half, words
    while left > 0:
        now = cycle + delay
        is_draining = now < state[DRAIN_END]
        step = state[FREE] if is_draining else state[FREE] - keep + 1
        step = max(1, step)
        _take(results, state, min(step, left))
        left -= step
        if left < 0:
            break
        if is_draining:
            delay += state[DRAIN_END] - now
        else:
            ragged = drain(results, state, ragged, now)
    state[INDEX] += words
    if state[INDEX] == height * width:
        state[FOLD] += 1
        state[INDEX] = 0
    return delay, ragged


@njit(cache=True)
def drain_rest(results: Results, state: Ints, ragged: Ints, cycle: int) -> None:
    """Write what is left from *cycle* on, half by half."""
    take_before(results, state, results.folds * results.length)
    while state[OPEN] > 0 or state[FIRST_LINE] < state[LINES]:
        ragged = drain(results, state, ragged, cycle)
        cycle = state[DRAIN_END] + 1
