"""Heaps of flows by time: those that will begin, and those that will end."""

from simcore.kernels.flows.state import Floats, Ints
from simcore.kernels.jit import njit


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
def drop(key: Floats, what: Ints, left: int) -> None:
    """Take the first event off a heap; *left* remain."""
    time, number = key[left], what[left]
    at = 0
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


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
def take_out(order: Ints, place: Ints, ends: Floats, slot: int, left: int) -> None:
    """Take a slot out of the heap; *left* remain."""
    at = place[slot]
    if at < left:
        last = order[left]
        order[at] = last
        place[last] = at
        if not move_up(order, place, ends, at):
            move_down(order, place, ends, at, left)
