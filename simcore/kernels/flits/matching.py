"""Matchings of inputs and outputs: those of ``allocation``, and some by other rules.

A wavefront passes over the diagonals of the matrix of requests, each of which holds no two of one
input or output, and begins at the next diagonal each time, or (``NEXT_WAVEFRONT``) behind the one
of the first match. Parallel iterative matching (``RANDOM_POINTERS``) is iSLIP with pointers that
are drawn anew. ``LONELY``: an input asks for the output that the fewest ask for, which grants one.

Sources: Y. Tamir, H. Chi, "Symmetric crossbar arbiters for VLSI communication switches", IEEE
TPDS 4(1), 1993; T. Anderson, S. Owicki, J. Saxe, C. Thacker, "High-speed switch scheduling for
local-area networks", ACM TOCS 11(4), 1993; W. Dally, B. Towles, Principles and Practices of
Interconnection Networks, 2004, chapter 19.
"""

from simcore.kernels.flits.allocation import (
    ASK_WORDS,
    INPUT,
    OUTPUT,
    OUTPUT_FIRST,
    PRIORITY,
    match,
    past,
    steps,
)
from simcore.kernels.flits.network import (
    AT_ASK,
    AT_CHOSEN,
    AT_GRANTED,
    AT_USED,
    AT_WIN,
    NONE,
    Ints,
    draw,
)
from simcore.kernels.flits.network import WIDTH as WORDS
from simcore.kernels.jit import njit

WAVEFRONT, NEXT_WAVEFRONT, RANDOM_POINTERS, LONELY = range(OUTPUT_FIRST + 1, OUTPUT_FIRST + 5)
"""Kinds of allocators beside those of ``allocation``."""


@njit(cache=True, error_model="numpy")
def matched(
    m: Ints, kind: int, iterations: int, count: int, size: tuple[int, int, int, int]
) -> int:
    """Write the requests that are granted to ``AT_WIN``, as ``match`` does, by any kind."""
    if kind <= OUTPUT_FIRST or count == 0:
        return match(m, kind, iterations, count, size)
    if kind == LONELY:
        return _lonely(m, count, size)
    if kind == RANDOM_POINTERS:
        for o in range(size[1]):
            m[size[2] + o] = int(draw(m) * size[0])
        for i in range(size[0]):
            m[size[3] + i] = int(draw(m) * size[1])
        return match(m, 0, iterations, count, size)
    return _wavefront(m, count, size, kind == NEXT_WAVEFRONT)


@njit(cache=True, error_model="numpy")
def _wavefront(m: Ints, count: int, size: tuple[int, int, int, int], skips: bool) -> int:
    """Match diagonal by diagonal, urgent requests first; the first output's pointer is the front.

    The next request is looked for among those whose input and output are free: the first by
    priority, then by diagonals from the front on, then by output.
    """
    side, front = max(size[0], size[1]), m[size[2]]
    inputs, outputs = m[AT_USED] + 2 * m[WORDS], m[AT_USED] + 3 * m[WORDS]
    first, win, wins = m[AT_ASK], m[AT_WIN], 0
    while True:
        best, least, urgent = NONE, 0, 0
        for j in range(count):
            a = first + j * ASK_WORDS
            i, o = m[a + INPUT], m[a + OUTPUT]
            if m[inputs + i] or m[outputs + o]:
                continue
            far = steps((i + o) % side, front, side) * side + o
            priority = m[a + PRIORITY]
            if best == NONE or priority > urgent or (priority == urgent and far < least):
                best, least, urgent = a, far, priority
        if best == NONE:
            break
        m[inputs + m[best + INPUT]] = m[outputs + m[best + OUTPUT]] = 1
        m[win + wins] = best
        wins += 1
    diagonal = m[m[win] + INPUT] + m[m[win] + OUTPUT] if skips else front
    m[size[2]] = (diagonal + 1) % side
    for j in range(wins):
        a = m[win + j]
        m[inputs + m[a + INPUT]] = m[outputs + m[a + OUTPUT]] = 0
    return wins


@njit(cache=True, error_model="numpy")
def _lonely(m: Ints, count: int, size: tuple[int, int, int, int]) -> int:
    """Match outputs that few ask for; pointers of a match go on by one place."""
    asked, chosen, granted = m[AT_USED] + 3 * m[WORDS], m[AT_CHOSEN], m[AT_GRANTED]
    first, win, wins = m[AT_ASK], m[AT_WIN], 0
    for j in range(count):
        m[asked + m[first + j * ASK_WORDS + OUTPUT]] += 1
    for j in range(count):
        a = first + j * ASK_WORDS
        i, o, b = m[a + INPUT], m[a + OUTPUT], m[chosen + m[a + INPUT]]
        pointer = m[size[3] + i]
        if b != NONE:
            here, there = m[asked + o], m[asked + m[b + OUTPUT]]
            is_sooner = steps(o, pointer, size[1]) < steps(m[b + OUTPUT], pointer, size[1])
            if here > there or (here == there and not is_sooner):
                continue
        m[chosen + i] = a
    for j in range(count):
        a = first + j * ASK_WORDS
        i, o = m[a + INPUT], m[a + OUTPUT]
        b, pointer = m[granted + o], m[size[2] + o]
        if m[chosen + i] == a and (
            b == NONE or steps(i, pointer, size[0]) < steps(m[b + INPUT], pointer, size[0])
        ):
            m[granted + o] = a
    for j in range(count):
        a = first + j * ASK_WORDS
        i, o = m[a + INPUT], m[a + OUTPUT]
        m[asked + o] = 0
        if m[granted + o] == a:
            m[win + wins] = a
            wins += 1
            m[size[3] + i] = past(m[size[3] + i], size[1])
            m[size[2] + o] = past(m[size[2] + o], size[0])
    for j in range(count):
        a = first + j * ASK_WORDS
        m[chosen + m[a + INPUT]] = m[granted + m[a + OUTPUT]] = NONE
    return wins
