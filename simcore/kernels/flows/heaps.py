"""Heaps of flows by time: those that will begin, and those that will end."""

from simcore.kernels.flows.state import Floats, Ints
from simcore.kernels.jit import njit

MANY, PART = 16, 6
"""Events due at once, and part of a heap that they are, from which on a heap is passed over whole:
taking one out costs as much as passing some ten."""


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def push(key: Floats, what: Ints, size: int, time: float, number: int) -> None:
    """Add an event to a heap of *size* events, ordered by time, then number."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if key[parent] < time or (key[parent] == time and what[parent] <= number):
            break
        key[at] = key[parent]
        what[at] = what[parent]
        at = parent
    key[at] = time
    what[at] = number


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def drop(key: Floats, what: Ints, left: int) -> None:
    """Take the first event off a heap; *left* remain."""
    _sink(key, what, 0, left, key[left], what[left])


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _sink(key: Floats, what: Ints, at: int, left: int, time: float, number: int) -> None:
    """Put an event at a place of a heap of *left*, or as far below as it belongs."""
    while True:
        below = 2 * at + 1
        if below >= left:
            break
        other = below + 1
        if other < left and (
            key[other] < key[below] or (key[other] == key[below] and what[other] < what[below])
        ):
            below = other
        if time < key[below] or (time == key[below] and number <= what[below]):
            break
        key[at] = key[below]
        what[at] = what[below]
        at = below
    key[at] = time
    what[at] = number


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def move_up(order: Ints, place: Ints, ends: Floats, at: int) -> bool:
    """Move the slot at a place of the heap up as far as it belongs; True if it moved."""
    slot = order[at]
    time = ends[slot]
    start = at
    while at > 0:
        parent = (at - 1) >> 1
        other = order[parent]
        if ends[other] <= time:
            break
        order[at] = other
        place[other] = at
        at = parent
    order[at] = slot
    place[slot] = at
    return at != start


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def move_down(order: Ints, place: Ints, ends: Floats, at: int, size: int) -> None:
    """Move the slot at a place of the heap of *size* slots down as far as it belongs."""
    slot = order[at]
    time = ends[slot]
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and ends[order[below + 1]] < ends[order[below]]:
            below += 1
        other = order[below]
        if time <= ends[other]:
            break
        order[at] = other
        place[other] = at
        at = below
    order[at] = slot
    place[slot] = at


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def take_out(order: Ints, place: Ints, ends: Floats, slot: int, left: int) -> None:
    """Take a slot out of the heap; *left* remain."""
    at = place[slot]
    if at < left:
        last = order[left]
        order[at] = last
        place[last] = at
        if not move_up(order, place, ends, at):
            move_down(order, place, ends, at, left)


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def order_slots(order: Ints, place: Ints, ends: Floats, size: int) -> None:
    """Make a heap of the *size* slots in *order*, in whatever order they are."""
    for at in range(size):
        place[order[at]] = at
    for at in range((size >> 1) - 1, -1, -1):
        move_down(order, place, ends, at, size)


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def order_events(key: Floats, what: Ints, size: int) -> None:
    """Make a heap, as ``push`` does, of *size* events in whatever order they are."""
    for first in range((size >> 1) - 1, -1, -1):
        _sink(key, what, first, size, key[first], what[first])


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def take_slots_due(
    order: Ints, place: Ints, ends: Floats, due: Ints, size: int, last: float
) -> int:
    """Take the slots that end by *last* out of the heap of *size* slots, into *due*; how many."""
    found, wanted = 0, max(size // PART, MANY)
    if size > 0 and ends[order[0]] <= last:
        due[0] = 0
        found = 1
    at = 0
    while at < found < wanted:
        for below in range(2 * due[at] + 1, min(2 * due[at] + 3, size)):
            if ends[order[below]] <= last:
                due[found] = below
                found += 1
        at += 1
    if found < wanted:
        for at in range(found):
            due[at] = order[0]
            take_out(order, place, ends, due[at], size - 1 - at)
        return found
    found = left = 0
    for at in range(size):
        slot = order[at]
        if ends[slot] <= last:
            due[found] = slot
            found += 1
        else:
            order[left] = slot
            left += 1
    order_slots(order, place, ends, left)
    return found


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def take_events_due(
    key: Floats, what: Ints, time: Floats, due: Ints, size: int, last: float
) -> int:
    """Take the events by *last* out of the heap of *size* events, into *time* and *due*."""
    found, wanted = 0, max(size // PART, MANY)
    if size > 0 and key[0] <= last:
        due[0] = 0
        found = 1
    at = 0
    while at < found < wanted:
        for below in range(2 * due[at] + 1, min(2 * due[at] + 3, size)):
            if key[below] <= last:
                due[found] = below
                found += 1
        at += 1
    if found < wanted:
        for at in range(found):
            time[at], due[at] = key[0], what[0]
            drop(key, what, size - 1 - at)
        return found
    found = left = 0
    for at in range(size):
        if key[at] <= last:
            time[found], due[found] = key[at], what[at]
            found += 1
        else:
            key[left], what[left] = key[at], what[at]
            left += 1
    order_events(key, what, left)
    return found
