"""Allocators: a matching of inputs and outputs that ask for each other.

iSLIP: each output grants the first request at or after its pointer, each input accepts the first
grant at or after its own, and both pointers move to one past a match of the first iteration. A
separable allocator has a round-robin arbiter per input and per output, one stage after the other,
and looks at priorities first; pointers move to one past a match.

Requests are rows of the table at ``AT_ASK``; pointers are words of what is matched.

Sources: N. McKeown, "The iSLIP scheduling algorithm for input-queued switches", IEEE/ACM
Transactions on Networking 7(2), 1999; W. Dally, B. Towles, Principles and Practices of
Interconnection Networks, 2004, chapter 19.
"""

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
)
from simcore.kernels.flits.network import WIDTH as WORDS
from simcore.kernels.jit import njit

ISLIP, INPUT_FIRST, OUTPUT_FIRST = range(3)

INPUT, OUTPUT, PRIORITY, LABEL = range(4)
"""Columns of a request: who asks for what, how urgently, and a word of the asker's own."""
ASK_WORDS = 4


@njit(cache=True, error_model="numpy")
def match(m: Ints, kind: int, iterations: int, count: int, size: tuple[int, int, int, int]) -> int:
    """Write the requests that are granted to ``AT_WIN``, as their rows, and tell how many.

    Args:
        m: Everything.
        kind: Of allocator.
        iterations: Of iSLIP.
        count: Requests.
        size: Inputs and outputs, and where the pointers of outputs and of inputs begin.
    """
    if count == 0:
        return 0
    if kind == INPUT_FIRST:
        return _input_first(m, count, size)
    wins = _output_first(m, count, size, kind == OUTPUT_FIRST)
    if iterations == 1:
        return wins
    for _ in range(1, iterations):
        more = _again(m, count, size, wins)
        if more == wins:
            break
        wins = more
    for j in range(wins):
        a = m[m[AT_WIN] + j]
        m[m[AT_USED] + 2 * m[WORDS] + m[a + INPUT]] = 0
        m[m[AT_USED] + 3 * m[WORDS] + m[a + OUTPUT]] = 0
    return wins


@njit(cache=True, error_model="numpy")
def past(place: int, size: int) -> int:
    """The place after one, on a ring."""
    return place + 1 if place + 1 < size else 0


@njit(cache=True, error_model="numpy")
def steps(place: int, pointer: int, size: int) -> int:
    """Steps from a pointer on to a place, on a ring."""
    return place - pointer if place >= pointer else place - pointer + size


@njit(cache=True, error_model="numpy")
def _is_better(m: Ints, a: int, b: int, what: tuple[int, int, int], looks: bool) -> bool:
    """True if request *a* comes before *b* at an arbiter: column, pointer and size of it."""
    if b == NONE:
        return True
    if looks and m[a + PRIORITY] != m[b + PRIORITY]:
        return bool(m[a + PRIORITY] > m[b + PRIORITY])
    column, pointer, size = what
    return steps(m[a + column], pointer, size) < steps(m[b + column], pointer, size)


@njit(cache=True, error_model="numpy")
def _both(m: Ints, count: int, size: tuple[int, int, int, int]) -> int:
    """Write the requests that are granted and chosen, and move the pointers past them."""
    chosen, granted, win = m[AT_CHOSEN], m[AT_GRANTED], m[AT_WIN]
    a, wins = m[AT_ASK], 0
    for _ in range(count):
        i, o = m[a + INPUT], m[a + OUTPUT]
        if m[granted + o] == a and m[chosen + i] == a:
            m[win + wins] = a
            wins += 1
            m[size[2] + o * OUTPUT_WORDS], m[size[3] + i * INPUT_WORDS] = (
                past(i, size[0]),
                past(o, size[1]),
            )
        a += ASK_WORDS
    _clean(m, count)
    return wins


@njit(cache=True, error_model="numpy")
def _clean(m: Ints, count: int) -> None:
    chosen, granted, a = m[AT_CHOSEN], m[AT_GRANTED], m[AT_ASK]
    for _ in range(count):
        m[chosen + m[a + INPUT]] = NONE
        m[granted + m[a + OUTPUT]] = NONE
        a += ASK_WORDS


@njit(cache=True, error_model="numpy")
def _input_first(m: Ints, count: int, size: tuple[int, int, int, int]) -> int:
    chosen, granted, first = m[AT_CHOSEN], m[AT_GRANTED], m[AT_ASK]
    for j in range(count):
        a = first + j * ASK_WORDS
        i = m[a + INPUT]
        if _is_better(m, a, m[chosen + i], (OUTPUT, m[size[3] + i * INPUT_WORDS], size[1]), True):
            m[chosen + i] = a
    for j in range(count):
        a = first + j * ASK_WORDS
        i, o = m[a + INPUT], m[a + OUTPUT]
        is_chosen = m[chosen + i] == a
        if is_chosen and _is_better(
            m, a, m[granted + o], (INPUT, m[size[2] + o * OUTPUT_WORDS], size[0]), True
        ):
            m[granted + o] = a
    return _both(m, count, size)


@njit(cache=True, error_model="numpy")
def _output_first(m: Ints, count: int, size: tuple[int, int, int, int], looks: bool) -> int:
    """Match once; with priorities where it *looks* at them."""
    chosen, granted, first = m[AT_CHOSEN], m[AT_GRANTED], m[AT_ASK]
    for j in range(count):
        a = first + j * ASK_WORDS
        o = m[a + OUTPUT]
        if _is_better(m, a, m[granted + o], (INPUT, m[size[2] + o * OUTPUT_WORDS], size[0]), looks):
            m[granted + o] = a
    for j in range(count):
        a = first + j * ASK_WORDS
        i = m[a + INPUT]
        is_granted = m[granted + m[a + OUTPUT]] == a
        if is_granted and _is_better(
            m, a, m[chosen + i], (OUTPUT, m[size[3] + i * INPUT_WORDS], size[1]), looks
        ):
            m[chosen + i] = a
    return _both(m, count, size)


@njit(cache=True, error_model="numpy")
def _again(m: Ints, count: int, size: tuple[int, int, int, int], wins: int) -> int:
    """Match what is left after *wins*; pointers stay."""
    chosen, granted, win, first = m[AT_CHOSEN], m[AT_GRANTED], m[AT_WIN], m[AT_ASK]
    inputs, outputs = m[AT_USED] + 2 * m[WORDS], m[AT_USED] + 3 * m[WORDS]
    for j in range(wins):
        m[inputs + m[m[win + j] + INPUT]] = 1
        m[outputs + m[m[win + j] + OUTPUT]] = 1
    for j in range(count):
        a = first + j * ASK_WORDS
        i, o = m[a + INPUT], m[a + OUTPUT]
        is_left = not m[inputs + i] and not m[outputs + o]
        if is_left and _is_better(
            m, a, m[granted + o], (INPUT, m[size[2] + o * OUTPUT_WORDS], size[0]), False
        ):
            m[granted + o] = a
    for j in range(count):
        a = first + j * ASK_WORDS
        i = m[a + INPUT]
        is_granted = m[granted + m[a + OUTPUT]] == a
        if is_granted and _is_better(
            m, a, m[chosen + i], (OUTPUT, m[size[3] + i * INPUT_WORDS], size[1]), False
        ):
            m[chosen + i] = a
    for j in range(count):
        a = first + j * ASK_WORDS
        if m[chosen + m[a + INPUT]] == a:
            m[win + wins] = a
            wins += 1
    _clean(m, count)
    return wins
