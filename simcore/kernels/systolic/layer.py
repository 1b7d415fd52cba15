"""One layer on one array: all that SCALE-Sim's reports count.

Source: the rules of SCALE-Sim v2 (A. Samajdar et al., ISPASS 2020), as its outputs show them.
"""

import numpy as np

from simcore.kernels.jit import njit
from simcore.kernels.systolic.build import (
    INPUT,
    SET_PARTS,
    buffer_of,
    folds_of,
    input_words,
    operands_of,
    results_of,
    windows_of,
    with_empty_slots,
)
from simcore.kernels.systolic.counted import NO_FLUSH, count_plain, count_windows
from simcore.kernels.systolic.operands import Ints, Operand, enter, last_line, line_of
from simcore.kernels.systolic.walk import LINE, STALL, WHOSE, walk
from simcore.kernels.systolic.windows import Buffer, Windows
from simcore.kernels.systolic.writes import (
    DRAIN_END,
    FIRST_CYCLE,
    WRITES,
    Results,
    block,
    line_from,
)

LAYER_WORDS = 8
DATAFLOW, ROWS, COLS, IFMAP_WORDS, FILTER_WORDS, OFMAP_WORDS, BANDWIDTH = range(8, 15)
GIVEN_WORDS = 15
"""Numbers that are given: those of the layer (``windows_of``), then these; no bandwidth is 0."""

TOTAL, STALLS = 0, 1
SRAM_START, SRAM_STOP, DRAM_START, DRAM_STOP, DRAM_COUNT = range(5)
"""Numbers that are found of each operand: input, filter and output, from word 2 on."""
EACH = 5
FOUND_WORDS = 2 + 3 * EACH

_PREFETCH = 10
"""Words per cycle of the fetch before the first request, where bandwidth is no limit."""
_HIT = 1
"""Cycles until a read buffer answers."""


@njit(cache=True)
def _request_marks(marks: Ints, operand: Operand, whose: int) -> None:
    """Mark the first and the last line on which an operand is asked for."""
    place = np.zeros(3, np.int64)
    enter(operand, place, 0)
    first = line_of(operand, place)
    last = (operand.folds - 1) * operand.length
    if operand.empty.size > 0:
        last = last_line(operand)
    elif operand.is_held:
        last += operand.rows - 1
    else:
        last += operand.offset + operand.stack.height + operand.stack.last - 2
    marks[2 * whose, LINE], marks[2 * whose + 1, LINE] = first, last
    marks[2 * whose : 2 * whose + 2, WHOSE] = whose


@njit(cache=True)
def _count(operand: Operand, windows: Windows, unlike: int, room: int) -> tuple[int, int]:
    """Reads, and the line of the last flush, where bandwidth is no limit."""
    if not windows.overlap and operand.empty.size == 0:
        return count_plain(operand, room)
    if unlike < room:
        return unlike, NO_FLUSH
    return count_windows(operand, windows, room)


@njit(cache=True)
def _counted_account(size: int, reads: int, first: Ints, flush: Ints) -> tuple[int, int, int]:
    """Start and stop cycle and words of the way from memory, where bandwidth is no limit."""
    each = size // SET_PARTS
    if flush[LINE] == NO_FLUSH:
        sets = -(-reads // each)
        return -sets * each // _PREFETCH, -1, reads
    ahead = -(-(SET_PARTS // 2 * each) // _PREFETCH)
    return first[LINE] + first[STALL] - ahead, flush[LINE] + flush[STALL] + 1, reads


@njit(cache=True)
def _fetched_account(
    size: int, bandwidth: int, operand: Operand, buffer: Buffer, fetches: int
) -> tuple[int, int, int]:
    """Start and stop cycle and words of the way from memory, where bandwidth is given."""
    stack = operand.stack
    lines = -(-(stack.blocks * stack.height * stack.width) // bandwidth)
    active = (size + 1) // 2
    initial = min(-(-active // bandwidth), lines)
    words = (initial + fetches * buffer.fetch_lines) * bandwidth
    return -initial, fetches * (buffer.fetch_lines + 1) - 1, words


@njit(cache=True)
def run_layer(given: Ints) -> Ints:
    """Integers of the reports of one layer on one array.

    Args:
        given: (GIVEN_WORDS,) numbers; sizes in words, of one byte each.

    Returns:
        (FOUND_WORDS,) total cycles (the number of the last line, from 0, and stalls), stalls, and
        of input, filter and output: start and stop cycle of the buffer and of its way to memory,
        and words on that way.
    """
    dataflow, bandwidth = given[DATAFLOW], given[BANDWIDTH]
    windows = windows_of(given[:LAYER_WORDS], dataflow)
    folds = folds_of(windows, given[5], dataflow, given[ROWS], given[COLS])
    over_rows, over_cols = operands_of(folds, dataflow)
    ifmap, weights = over_rows, over_cols
    if dataflow == INPUT:
        ifmap, weights = over_cols, over_rows
    words, unlike = input_words(windows)
    slots = windows.down * windows.across * windows.filter_height
    slots *= windows.filter_width * windows.channels
    ifmap = with_empty_slots(ifmap, windows, slots - words)
    weight_words = given[5] * windows.filter_height * windows.filter_width * windows.channels
    sizes = given[IFMAP_WORDS : OFMAP_WORDS + 1]
    plain = _without_overlap(windows)
    counts, marks = np.zeros(2, np.int64), np.full((8, 3), NO_FLUSH)
    marks[:, STALL] = 0
    _request_marks(marks, ifmap, 0)
    _request_marks(marks, weights, 1)
    if bandwidth == 0:
        half = SET_PARTS // 2
        room = half * (sizes[0] // SET_PARTS)
        counts[0], marks[6, LINE] = _count(ifmap, windows, unlike, room)
        counts[1], marks[7, LINE] = count_plain(weights, half * (sizes[1] // SET_PARTS))
    buffers = (buffer_of(sizes[0], bandwidth, words), buffer_of(sizes[1], bandwidth, weight_words))
    results = results_of(folds, dataflow, sizes[2], bandwidth if bandwidth else given[COLS])
    _write_marks(marks, results)
    stall, fetches, written = walk(
        (ifmap, weights), (windows, plain), buffers, results, marks, bandwidth > 0
    )
    found = np.zeros(FOUND_WORDS, np.int64)
    found[TOTAL], found[STALLS] = results.folds * results.length - 1 + stall, stall
    for i in range(3):
        answers = _HIT if i < 2 else 0
        for j in range(2):
            mark = marks[2 * i + j]
            found[2 + EACH * i + SRAM_START + j] = mark[LINE] + mark[STALL] + answers
    for i in range(2):
        operand, buffer = (ifmap, buffers[0]) if i == 0 else (weights, buffers[1])
        if bandwidth:
            account = _fetched_account(sizes[i], bandwidth, operand, buffer, fetches[i])
        else:
            account = _counted_account(sizes[i], counts[i], marks[2 * i], marks[6 + i])
        _set_account(found, i, account)
    _set_account(found, 2, (written[FIRST_CYCLE], written[DRAIN_END], written[WRITES]))
    return found


@njit(cache=True)
def _set_account(found: Ints, whose: int, account: tuple[int, int, int]) -> None:
    first = 2 + EACH * whose + DRAM_START
    found[first], found[first + 1], found[first + 2] = account


@njit(cache=True)
def _write_marks(marks: Ints, results: Results) -> None:
    """Mark the first and the last line with a result."""
    marks[4:6, WHOSE] = 2
    marks[4, LINE] = line_from(results, 0)
    first, height, width = block(results, results.folds - 1)
    marks[5, LINE] = (results.folds - 1) * results.length + first + height + width - 2


@njit(cache=True)
def _without_overlap(windows: Windows) -> Windows:
    w = windows
    return Windows(
        w.height, w.width, w.channels, w.filter_height, w.filter_width,
        w.stride_down, w.stride_across, w.down, w.across, w.pixel_is_row, False,
    )  # fmt: skip
