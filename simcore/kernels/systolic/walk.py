"""A layer on an array, from event to event: misses of the read buffers, drains of the write buffer.

Between events nothing stalls, so that lines are skipped. A line that misses in several buffers
waits for the slowest of them.
"""

import numpy as np

from simcore.kernels.jit import njit
from simcore.kernels.systolic.operands import Ints, Operand, enter, line_of
from simcore.kernels.systolic.windows import Buffer, Windows, to_missing
from simcore.kernels.systolic.writes import (
    FREE,
    NEVER,
    STATE_WORDS,
    Results,
    drain_rest,
    next_write,
    take_line,
)

START, LAST, FETCHES, NEXT, MOVES, DELAY = range(6)
READ_WORDS = 6
"""State of a read buffer: start of what it holds, cycle at which the last fetch is done, fetches,
line of the next miss and times that the start must move for it, delay of the current line."""

LINE, WHOSE, STALL = range(3)
"""Columns of marks: a line, the buffer whose delay on it counts too (``NOBODY``: none), and what
stalls until then come to."""
NOBODY = -1


@njit(cache=True)
def _first_miss(
    operand: Operand, windows: Windows, buffer: Buffer, state: Ints, place: Ints
) -> None:
    state[LAST], state[NEXT] = -1, NEVER
    if buffer.active < buffer.groups and enter(operand, place, 0):
        _next_miss(operand, windows, buffer, state, place)


@njit(cache=True)
def _next_miss(
    operand: Operand, windows: Windows, buffer: Buffer, state: Ints, place: Ints
) -> None:
    state[MOVES] = to_missing(operand, windows, buffer, state[START], place)
    state[NEXT] = line_of(operand, place) if state[MOVES] else NEVER


@njit(cache=True)
def _serve(
    operand: Operand, windows: Windows, buffer: Buffer, state: Ints, place: Ints, stall: int
) -> None:
    """Fetch what the line of the next miss lacks; sets the delay."""
    line, off = state[NEXT], 1
    cycle = line + stall
    while state[NEXT] == line:
        moves = state[MOVES]
        state[START] = (state[START] + moves * buffer.ahead) % buffer.groups
        state[LAST] += moves * (buffer.fetch_lines + 1)
        state[FETCHES] += moves
        off = max(off, state[LAST] - cycle)
        _next_miss(operand, windows, buffer, state, place)
    state[DELAY] = off - 1


@njit(cache=True)
def _mark(marks: Ints, line: int, delay: int, states: Ints) -> None:
    for i in range(len(marks)):
        if line < marks[i, LINE]:
            marks[i, STALL] += delay
        elif line == marks[i, LINE] and marks[i, WHOSE] != NOBODY:
            marks[i, STALL] += states[marks[i, WHOSE], DELAY]


@njit(cache=True)
def walk(
    operands: tuple[Operand, Operand],
    windows: tuple[Windows, Windows],
    buffers: tuple[Buffer, Buffer],
    results: Results,
    marks: Ints,
    is_read: bool,
) -> tuple[int, Ints, Ints]:
    """Stalls of a layer, and what the buffers have done.

    Args:
        operands: Input and filter.
        windows: Of the two; of the filter no word lies in several.
        buffers: Of the two.
        results: What the array writes.
        marks: (n, 3) lines at which stalls are to be told; the last column is filled in.
        is_read: Whether reads may stall.

    Returns:
        Stalls; fetches of the two read buffers; the state of the write buffer.
    """
    states, places = np.zeros((3, READ_WORDS), np.int64), np.zeros((2, 3), np.int64)
    written, ragged = np.zeros(STATE_WORDS, np.int64), np.empty((64, 2), np.int64)
    written[FREE] = results.size
    states[:, NEXT] = NEVER
    if is_read:
        _first_miss(operands[0], windows[0], buffers[0], states[0], places[0])
        _first_miss(operands[1], windows[1], buffers[1], states[1], places[1])
    stall = 0
    states[2, NEXT], earliest = next_write(results, written, stall, -1)
    while True:
        line = min(states[0, NEXT], states[1, NEXT], states[2, NEXT])
        if line == NEVER:
            break
        states[:, DELAY] = 0
        if states[0, NEXT] == line:
            _serve(operands[0], windows[0], buffers[0], states[0], places[0], stall)
        if states[1, NEXT] == line:
            _serve(operands[1], windows[1], buffers[1], states[1], places[1], stall)
        is_written = states[2, NEXT] == line
        if is_written:
            states[2, DELAY], ragged = take_line(results, written, ragged, line, line + stall)
        delay = max(states[0, DELAY], states[1, DELAY], states[2, DELAY])
        if delay:
            _mark(marks, line, delay, states)
            stall += delay
        if is_written or (delay and states[2, NEXT] > earliest):
            states[2, NEXT], earliest = next_write(results, written, stall, line)
    drain_rest(results, written, ragged, results.folds * results.length - 1 + stall)
    return stall, states[:2, FETCHES].copy(), written
