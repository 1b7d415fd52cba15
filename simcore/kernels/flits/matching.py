"""Matchings of inputs and outputs: those of ``allocation``, and some by other rules.

A wavefront passes over the diagonals of the matrix of requests, each of which holds no two of one
input or output, and begins at the next diagonal each time, or (``NEXT_WAVEFRONT``) behind the one
of the first match. Parallel iterative matching (``RANDOM_POINTERS``) is iSLIP with pointers that
are drawn anew. ``LONELY``: an input asks for the output that the fewest ask for, which grants one.
``LARGEST``: no matching has more pairs; the first input with a say goes on by one each time.

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
    INPUT_WORDS,
    NONE,
    OUTPUT_WORDS,
    Ints,
    draw,
)
from simcore.kernels.flits.network import WIDTH as WORDS
from simcore.kernels.jit import njit

WAVEFRONT, NEXT_WAVEFRONT, RANDOM_POINTERS, LONELY, LARGEST = range(
    OUTPUT_FIRST + 1, OUTPUT_FIRST + 6
)
"""Kinds of allocators beside those of ``allocation``."""


@njit(cache=True, error_model="numpy")
def matched(
    m: Ints, kind: int, iterations: int, count: int, size: tuple[int, int, int, int]
) -> int:
    """Write the requests that are granted to ``AT_WIN``, as ``match`` does, by any kind."""
    if kind == LARGEST:
        return _largest(m, count, size)
    if kind <= OUTPUT_FIRST or count == 0:
        return match(m, kind, iterations, count, size)
    if kind == LONELY:
        return _lonely(m, count, size)
    if kind == RANDOM_POINTERS:
        for o in range(size[1]):
            m[size[2] + o * OUTPUT_WORDS] = int(draw(m) * size[0])
        for i in range(size[0]):
            m[size[3] + i * INPUT_WORDS] = int(draw(m) * size[1])
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
        pointer = m[size[3] + i * INPUT_WORDS]
        if b != NONE:
            here, there = m[asked + o], m[asked + m[b + OUTPUT]]
            is_sooner = steps(o, pointer, size[1]) < steps(m[b + OUTPUT], pointer, size[1])
            if here > there or (here == there and not is_sooner):
                continue
        m[chosen + i] = a
    for j in range(count):
        a = first + j * ASK_WORDS
        i, o = m[a + INPUT], m[a + OUTPUT]
        b, pointer = m[granted + o], m[size[2] + o * OUTPUT_WORDS]
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
            m[size[3] + i * INPUT_WORDS] = past(m[size[3] + i * INPUT_WORDS], size[1])
            m[size[2] + o * OUTPUT_WORDS] = past(m[size[2] + o * OUTPUT_WORDS], size[0])
    for j in range(count):
        a = first + j * ASK_WORDS
        m[chosen + m[a + INPUT]] = m[granted + m[a + OUTPUT]] = NONE
    return wins


@njit(cache=True, error_model="numpy")
def _largest(m: Ints, count: int, size: tuple[int, int, int, int]) -> int:
    """Match as many as possible: each time along a shortest way that takes one more in."""
    chosen, granted, first = m[AT_CHOSEN], m[AT_GRANTED], m[AT_ASK]
    while count > 0:
        o = _open_output(m, count, size)
        if o == NONE:
            break
        while o != NONE:  # back along the way: each input changes to the output that it led to
            a = m[m[AT_USED] + 3 * m[WORDS] + o] - 1
            i = m[a + INPUT]
            before = m[chosen + i]
            m[granted + o] = m[chosen + i] = a
            o = m[before + OUTPUT] if before != NONE else NONE
    m[size[2]] = past(m[size[2]], size[0])
    wins = 0
    for j in range(count):
        a = first + j * ASK_WORDS
        if m[chosen + m[a + INPUT]] == a:
            m[m[AT_WIN] + wins] = a
            wins += 1
    for j in range(count):
        a = first + j * ASK_WORDS
        i, o = m[a + INPUT], m[a + OUTPUT]
        m[chosen + i] = m[granted + o] = NONE
        m[m[AT_USED] + 3 * m[WORDS] + o] = 0
    for i in range(size[0]):
        m[m[AT_USED] + 2 * m[WORDS] + i] = 0
    return wins


@njit(cache=True, error_model="numpy")
def _open_output(m: Ints, count: int, size: tuple[int, int, int, int]) -> int:
    """Free output that free inputs reach first, over others' matches; ``NONE``: there is none.

    The request that led to each output is noted, as its row and one.
    """
    chosen, granted, first = m[AT_CHOSEN], m[AT_GRANTED], m[AT_ASK]
    queue, led, head, tail = m[AT_USED] + 2 * m[WORDS], m[AT_USED] + 3 * m[WORDS], 0, 0
    for j in range(count):
        m[led + m[first + j * ASK_WORDS + OUTPUT]] = 0
    for j in range(size[0]):
        i = (m[size[2]] + j) % size[0]
        if m[chosen + i] == NONE:
            m[queue + tail] = i
            tail += 1
    while head < tail:
        i, last = m[queue + head], NONE
        head += 1
        while True:
            a = _next_request(m, count, i, last)
            if a == NONE:
                break
            last = m[a + OUTPUT]
            if m[led + last] != 0 or m[chosen + i] == a:
                continue
            m[led + last] = a + 1
            if m[granted + last] == NONE:
                return int(last)
            m[queue + tail] = m[m[granted + last] + INPUT]
            tail += 1
    return NONE


@njit(cache=True, error_model="numpy")
def _next_request(m: Ints, count: int, i: int, last: int) -> int:
    """Request of an input for the first output after one; ``NONE``: there is none."""
    best, a = NONE, m[AT_ASK]
    for _ in range(count):
        o = m[a + OUTPUT]
        if m[a + INPUT] == i and o > last and (best == NONE or o < m[best + OUTPUT]):
            best = a
        a += ASK_WORDS
    return int(best)
