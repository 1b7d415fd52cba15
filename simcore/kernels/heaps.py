"""Binary heaps: of numbers, and of events.

A heap of numbers lies in a flat array from an address on, and whoever keeps it knows its size.

A heap of events is in order of time, of when they were scheduled, and of their numbers: ``event``
(Q, 4) int64 of (time, scheduled at, number, what), ``counter`` int64 whose first two words are the
events in the heap and the numbers given so far.
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit

EVENTS, NUMBERS = 0, 1

Ints = NDArray[np.int64]


@njit(cache=True)
def push_number(heap: Ints, first: int, size: int, number: int) -> None:
    """Add a number to the *size* ones of a heap that begins at *first*."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if heap[first + above] <= number:
            break
        heap[first + place] = heap[first + above]
        place = above
    heap[first + place] = number


@njit(cache=True)
def drop_lowest(heap: Ints, first: int, left: int) -> None:
    """Take the lowest number, which is at *first*, off a heap; *left* remain."""
    last = heap[first + left]
    place = 0
    while 2 * place + 1 < left:
        below = 2 * place + 1
        if below + 1 < left and heap[first + below + 1] < heap[first + below]:
            below += 1
        if last <= heap[first + below]:
            break
        heap[first + place] = heap[first + below]
        place = below
    heap[first + place] = last


@njit(cache=True)
def push_event(event: Ints, counter: Ints, time: int, scheduled: int, what: int) -> None:
    """Add an event."""
    counter[NUMBERS] += 1
    number = counter[NUMBERS]
    at = counter[EVENTS]
    counter[EVENTS] += 1
    while at > 0:
        parent = (at - 1) // 2
        if not _before(time, scheduled, number, event, parent):
            break
        _copy(event, parent, at)
        at = parent
    event[at, 0] = time
    event[at, 1] = scheduled
    event[at, 2] = number
    event[at, 3] = what


@njit(cache=True)
def drop_first_event(event: Ints, counter: Ints) -> None:
    """Take the first event away."""
    counter[EVENTS] -= 1
    size = counter[EVENTS]
    time, scheduled, number = event[size, 0], event[size, 1], event[size, 2]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and _before(
            event[below + 1, 0], event[below + 1, 1], event[below + 1, 2], event, below
        ):
            below += 1
        if _before(time, scheduled, number, event, below):
            break
        _copy(event, below, at)
        at = below
    _copy(event, size, at)


@njit(cache=True)
def _before(time: int, scheduled: int, number: int, event: Ints, at: int) -> bool:
    if time != event[at, 0]:
        return bool(time < event[at, 0])
    if scheduled != event[at, 1]:
        return bool(scheduled < event[at, 1])
    return bool(number < event[at, 2])


@njit(cache=True)
def _copy(event: Ints, source: int, target: int) -> None:
    for field in range(4):
        event[target, field] = event[source, field]
