"""Members of a set that behave alike, found by partition refinement.

Members start with a colour each, which says what they are. Two of one colour get different colours
when their partners, in a fixed order, have different ones; and so on until nothing changes. Then
members of one colour have alike partners, who have alike partners, without end.

Source: J. Hopcroft, "An n log n algorithm for minimizing states in a finite automaton", 1971;
G. Karypis and V. Kumar use the same idea for graphs; here as colour refinement (1-dimensional
Weisfeiler-Leman), round by round, which suits arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Members that have equally many partners.

    Attributes:
        members: (I,) int64.
        traits: (I, A) int64, what distinguishes them from the start.
        partners: (I, P) int64, partner of each in each of P relations.
    """

    members: Ints
    traits: Ints
    partners: Ints


def alike(count: int, blocks: Sequence[Block]) -> Ints:
    """Number the classes of members that behave alike.

    Args:
        count: Members, 0 to count - 1.
        blocks: Each member is in one of them; those of different blocks are never alike.

    Returns:
        (count,) int64, class of each; classes are numbered by their first member.
    """
    colours = np.zeros(count, np.int64)
    classes = 0
    for block in blocks:
        colours[block.members], new = _numbered(block.traits, classes)
        classes = new
    while True:
        before, found, classes = colours, classes, 0
        colours = np.empty_like(before)
        for block in blocks:
            seen = np.column_stack((before[block.members], before[block.partners]))
            colours[block.members], classes = _numbered(seen, classes)
        if classes == found:
            break
    _, first, number = np.unique(colours, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[number]


def _numbered(rows: Ints, first: int) -> tuple[Ints, int]:
    """A number for each row, equal rows equal numbers, from *first*; and the next free number."""
    if not rows.size or bool((rows == rows[0]).all()):
        return np.full(rows.shape[0], first, np.int64), first + 1
    order = np.lexsort(rows.T)
    differs = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    numbers = np.empty(rows.shape[0], np.int64)
    numbers[order] = first + np.concatenate(([0], np.cumsum(differs)))
    return numbers, int(numbers[order[-1]]) + 1
