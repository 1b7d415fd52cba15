"""Binary heaps of (key, item) in two flat arrays, each from an address on."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def push(keys: Floats, items: Ints, first: int, size: int, key: float, item: int) -> None:
    """Add an item to the *size* ones of a heap that begins at *first*; equal keys by item."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        other = keys[first + above]
        if other < key or (other == key and items[first + above] <= item):
            break
        keys[first + place] = other
        items[first + place] = items[first + above]
        place = above
    keys[first + place] = key
    items[first + place] = item


@njit(cache=True, nogil=True)
def drop(keys: Floats, items: Ints, first: int, left: int) -> None:
    """Take the item with the lowest key, which is at *first*, off a heap; *left* remain."""
    key, item = keys[first + left], items[first + left]
    place = 0
    while 2 * place + 1 < left:
        below = first + 2 * place + 1
        if 2 * place + 2 < left and (
            keys[below + 1] < keys[below]
            or (keys[below + 1] == keys[below] and items[below + 1] < items[below])
        ):
            below += 1
        if key < keys[below] or (key == keys[below] and item <= items[below]):
            break
        keys[first + place] = keys[below]
        items[first + place] = items[below]
        place = below - first
    keys[first + place] = key
    items[first + place] = item


@njit(cache=True, nogil=True)
def lower(keys: Floats, items: Ints, places: Ints, size: int, key: float, item: int) -> int:
    """Give an item of a heap from address 0 a lower key, or add it; items there are then.

    ``places`` (items,) tells where each item is in the heap, -1 for none.
    """
    place = places[item]
    if place < 0:
        place = size
        size += 1
    while place > 0:
        above = (place - 1) >> 1
        if keys[above] < key or (keys[above] == key and items[above] <= item):
            break
        _put(keys, items, places, place, keys[above], items[above])
        place = above
    _put(keys, items, places, place, key, item)
    return size


@njit(cache=True, nogil=True)
def take(keys: Floats, items: Ints, places: Ints, left: int) -> None:
    """Take the lowest item, which is at address 0, off a heap of ``lower``; *left* remain."""
    places[items[0]] = -1
    if left == 0:
        return
    key, item = keys[left], items[left]
    place = 0
    while 2 * place + 1 < left:
        below = 2 * place + 1
        if below + 1 < left and (
            keys[below + 1] < keys[below]
            or (keys[below + 1] == keys[below] and items[below + 1] < items[below])
        ):
            below += 1
        if key < keys[below] or (key == keys[below] and item <= items[below]):
            break
        _put(keys, items, places, place, keys[below], items[below])
        place = below
    _put(keys, items, places, place, key, item)


@njit(cache=True, nogil=True)
def _put(keys: Floats, items: Ints, places: Ints, place: int, key: float, item: int) -> None:
    keys[place] = key
    items[place] = item
    places[item] = place
