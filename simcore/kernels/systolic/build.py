"""Operands, buffers and results of a layer on an array, from plain numbers."""

from typing import NamedTuple

import numpy as np

from simcore.kernels.jit import njit
from simcore.kernels.systolic.operands import Ints, Operand
from simcore.kernels.systolic.order import Stack
from simcore.kernels.systolic.windows import Buffer, Windows, empty_slots
from simcore.kernels.systolic.writes import Results

OUTPUT, WEIGHT, INPUT = range(3)
"""Dataflows, by the operand that stays in the array."""

SET_PARTS = 100
"""Parts of a buffer that are counted together."""


class Folds(NamedTuple):
    """A product on an array: which of its dimensions lie where.

    Attributes:
        across, down, time: Dimensions over the rows, the columns and the steps.
        rows, cols: Of the array.
        row_folds, col_folds: Parts of the first two.
        length: Lines of a fold.
    """

    across: int
    down: int
    time: int
    rows: int
    cols: int
    row_folds: int
    col_folds: int
    length: int


@njit(cache=True)
def windows_of(layer: Ints, dataflow: int) -> Windows:
    """Windows of a layer: height and width of input and filter, channels, filters, strides."""
    height, width, filter_height, filter_width = layer[0], layer[1], layer[2], layer[3]
    stride_down, stride_across = layer[6], layer[7]
    down = -(-(height - filter_height + stride_down) // stride_down)
    across = -(-(width - filter_width + stride_across) // stride_across)
    overlap = (down > 1 and stride_down < filter_height) or (
        across > 1 and stride_across < filter_width
    )
    return Windows(
        height, width, layer[4], filter_height, filter_width,
        stride_down, stride_across, down, across, dataflow == WEIGHT, overlap,
    )  # fmt: skip


@njit(cache=True)
def _inside(size: int, window: int, stride: int, count: int) -> tuple[int, int]:
    """Elements of all windows along one side that lie inside; how many of them differ."""
    last = max(0, min(window, size - (count - 1) * stride))
    every = (count - 1) * window + last
    if stride >= window:
        return every, every
    return every, min(size, (count - 1) * stride + window)


@njit(cache=True)
def input_words(windows: Windows) -> tuple[int, int]:
    """Elements of all windows that lie in the input; words of it that they are."""
    w = windows
    down, rows = _inside(w.height, w.filter_height, w.stride_down, w.down)
    across, columns = _inside(w.width, w.filter_width, w.stride_across, w.across)
    return down * across * w.channels, rows * columns * w.channels


@njit(cache=True)
def folds_of(windows: Windows, filters: int, dataflow: int, rows: int, cols: int) -> Folds:
    """Folds of a layer on an array."""
    m = windows.down * windows.across
    k = windows.filter_height * windows.filter_width * windows.channels
    across, down, time = m, filters, k
    length = k + rows + cols - 2
    if dataflow != OUTPUT:
        across, down, time = k, filters, m
        if dataflow == INPUT:
            down, time = m, filters
        length = time + 2 * rows + cols - 2
    row_folds, col_folds = -(-across // rows), -(-down // cols)
    return Folds(across, down, time, rows, cols, row_folds, col_folds, length)


@njit(cache=True)
def _stack(blocks: int, height: int, width: int, total: int) -> Stack:
    return Stack(blocks, height, width, total - (blocks - 1) * width)


@njit(cache=True)
def operands_of(folds: Folds, dataflow: int) -> tuple[Operand, Operand]:
    """Operand over the rows of the array, and the one over its columns; no slot is empty."""
    f = folds
    none, count = np.empty(0, np.int64), f.row_folds * f.col_folds
    is_held = dataflow != OUTPUT
    height, offset = (f.across, f.rows) if is_held else (f.time, 0)
    over_rows = Operand(
        _stack(f.row_folds, f.time, f.rows, f.across), False, False, offset,
        f.rows, f.row_folds, count, f.length, none, none,
    )  # fmt: skip
    over_cols = Operand(
        _stack(f.col_folds, height, f.cols, f.down), is_held, True, 0,
        f.rows, f.row_folds, count, f.length, none, none,
    )  # fmt: skip
    return over_rows, over_cols


@njit(cache=True)
def with_empty_slots(operand: Operand, windows: Windows, count: int) -> Operand:
    """The input, of whose slots *count* are empty."""
    if count == 0:
        return operand
    empty, words_before = empty_slots(operand, windows, count)
    o = operand
    return Operand(
        o.stack, o.is_held, o.by_column, o.offset, o.rows, o.row_folds, o.folds, o.length,
        empty, words_before,
    )  # fmt: skip


@njit(cache=True)
def buffer_of(size: int, bandwidth: int, words: int) -> Buffer:
    """Read buffer of *size* words for an operand of *words*; a bandwidth of 0 is no limit."""
    active = -(-size // 2)
    each = -(-size // SET_PARTS)
    groups = words // each + 1
    held = min(groups, -(-active // each))
    ahead = min(groups - held, -(-(size - active) // each))
    return Buffer(each, groups, held, ahead, -(-(size - active) // max(1, bandwidth)))


@njit(cache=True)
def results_of(folds: Folds, dataflow: int, size: int, bandwidth: int) -> Results:
    """Results of the array, and the buffer of *size* words that takes them."""
    f = folds
    return Results(
        dataflow == OUTPUT,
        f.rows, f.across - (f.row_folds - 1) * f.rows,
        f.cols, f.down - (f.col_folds - 1) * f.cols,
        f.time, f.row_folds, f.row_folds * f.col_folds, f.length,
        size, size // 2, bandwidth,
    )  # fmt: skip
