"""Finds the sections of a piece that repeat: layers that are alike, one after the other.

A section goes from a node up to the next one like it. All nodes behind the first wait for nodes of
the section alone, the last node included, and nothing outside waits for those before the last one:
so once the first is all that runs, what follows up to the last is decided.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.stages import stage_layout as f

MOST_PLACES = 512
"""Places in sections that are told apart; nodes at further ones are followed one by one."""

_LONGEST = 128
"""Nodes of a section at most."""

Ints = NDArray[np.int64]


class Sections(NamedTuple):
    """Sections that were found so far, by place in one; the first is none.

    Attributes:
        first: (Q,) int64, address of the first node of an example.
        place: (Q,) int64, its place in its piece.
        nodes: (Q,) int64, from there to the next node like it.
    """

    first: Ints
    place: Ints
    nodes: Ints


@njit(cache=True)
def mark_sections(fixed: Ints, piece: Ints, known: Sections, places: int) -> int:
    """Mark the nodes of a piece at which a section begins that repeats.

    Args:
        fixed: The rows of its nodes; gets the marks.
        piece: Its record.
        known: Sections of other pieces; grows.
        places: How many these are.

    Returns:
        How many are known now.
    """
    row, nodes = piece[f.ROWS], piece[f.NODES]
    parents, lowest = np.zeros(nodes, np.int64), np.full(nodes, nodes)
    for place in range(nodes):
        at = row + place * f.NODE_FIELDS
        for edge in range(fixed[at + n.CHILDREN], fixed[at + f.NODE_FIELDS + n.CHILDREN]):
            child = fixed[edge]
            if child > place:
                parents[child] += 1
                lowest[child] = min(lowest[child], place)
    for place in range(nodes):
        if fixed[row + place * f.NODE_FIELDS + f.SECTION] != 0:
            continue
        length, times = _section(fixed, row, nodes, place, parents, lowest)
        if times == 0:
            continue
        first = row + place * f.NODE_FIELDS
        number = 1
        while number < places and not _equal(fixed, known, number, first, place, length):
            number += 1
        if number == MOST_PLACES:
            continue
        if number == places:
            known.first[number], known.place[number] = first, place
            known.nodes[number] = length
            places += 1
        for passed in range(times + 1):
            at = first + passed * length * f.NODE_FIELDS
            fixed[at + f.SECTION], fixed[at + f.REPEATS] = number, times - passed
    return places


@njit(cache=True)
def _section(
    fixed: Ints, row: int, nodes: int, first: int, parents: Ints, lowest: Ints
) -> tuple[int, int]:
    """Nodes of the section from *first* on, and how often it stands there; 0 times: there is none.

    Of several lengths, the one that repeats as a whole, else the one with which most is passed.
    """
    best, times, furthest = 0, 0, first
    for last in range(first + 1, min(nodes, first + _LONGEST + 1)):
        at, begin = row + last * f.NODE_FIELDS, row + first * f.NODE_FIELDS
        if lowest[last] < first or parents[last] != fixed[at + n.MISSING]:
            break
        before = at - f.NODE_FIELDS
        if fixed[before + n.KIND] > n.COMMUNICATION or fixed[before + n.MATE] > 0:
            break
        for edge in range(fixed[before + n.CHILDREN], fixed[at + n.CHILDREN]):
            furthest = max(furthest, fixed[edge])
            if fixed[edge] < last:
                return best, times
        if furthest > last or fixed[at + f.ITEM] != fixed[begin + f.ITEM]:
            continue
        length, alike = last - first, 0
        while last + alike < nodes and _match(fixed, begin, at, alike, length):
            alike += 1
        repeats = (alike + length - 1) // length
        if repeats * length > times * best:
            best, times = length, repeats
        if alike >= length:
            break
    return best, times


@njit(cache=True)
def _equal(fixed: Ints, known: Sections, number: int, first: int, begin: int, length: int) -> bool:
    """True if a section, from the place *begin* of its piece on, is one that is known."""
    if known.nodes[number] != length:
        return False
    for place in range(length):
        if not _match(fixed, known.first[number], first, place, begin - known.place[number]):
            return False
    return True


@njit(cache=True)
def _match(fixed: Ints, one: int, other: int, place: int, apart: int) -> bool:
    """True if the nodes *place* behind two others are alike, and so is what waits for them.

    *apart*: how much higher than that of the one is the other's place in its piece.
    """
    one += place * f.NODE_FIELDS
    other += place * f.NODE_FIELDS
    if fixed[one + n.KIND] != fixed[other + n.KIND] or fixed[one + n.MATE] != fixed[other + n.MATE]:
        return False
    # the first node of a section is about to end: it does not matter what it waited for
    waits_alike = place == 0 or fixed[one + n.MISSING] == fixed[other + n.MISSING]
    if fixed[one + f.ITEM] != fixed[other + f.ITEM] or not waits_alike:
        return False
    child, begin = fixed[one + n.CHILDREN], fixed[other + n.CHILDREN]
    count = fixed[one + f.NODE_FIELDS + n.CHILDREN] - child
    if fixed[other + f.NODE_FIELDS + n.CHILDREN] - begin != count:
        return False
    for edge in range(count):  # noqa: SIM110 (a compiled loop)
        if fixed[begin + edge] - fixed[child + edge] != apart:
            return False
    return True
