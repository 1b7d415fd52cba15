"""Rule of a routing function, and what all of them share."""

from typing import NamedTuple

from simcore.kernels.flits.network import (
    AT_FOUND,
    AT_OUTPUT,
    AT_ROUTER,
    AT_TABLE,
    AT_WAY,
    CHANNELS,
    CREDITS,
    DEPTH,
    MOST_WAYS,
    NEXT_IN_TURN,
    NODES,
    OUTPUT_WORDS,
    PORTS,
    ROUTER_WORDS,
    SIDE,
    WAY_HIGH,
    WAY_LOW,
    WAY_OUTPUT,
    WAY_PRIORITY,
    WAY_WORDS,
    WAYS,
    Ints,
    input_row,
)
from simcore.kernels.jit import njit

(
    TABLE, MESH, TORUS, BALANCED_TORUS, VALIANT, ROMM, ORDER, ADAPTIVE_ORDER, FLAT_ORDER,
    FLAT_ADAPTIVE_ORDER, FLAT_VALIANT, FLAT_DETOUR, ESCAPE_MESH, ESCAPE_TORUS, VALIANT_TORUS,
    TREE, ADAPTIVE_TREE, TOLD, GROUPS, ADAPTIVE_GROUPS,
) = range(20)  # fmt: skip
"""Kinds of routing functions."""

MIDDLES = (VALIANT, ROMM, FLAT_VALIANT, FLAT_DETOUR)
"""Kinds that go by a router in the middle, by order of dimensions."""

LOOKING = (ADAPTIVE_ORDER, FLAT_ADAPTIVE_ORDER, FLAT_DETOUR, ADAPTIVE_TREE, ADAPTIVE_GROUPS)
"""Kinds that look at the slots that are held when they choose."""


ANY, LOWER, UPPER, IN_TURN = range(4)
"""Parts of the channels that ``TOLD`` routes take: all, either half; or all of the output that the
router takes next of ``side`` ones that follow each other."""
PART_BITS = 2


class Rule(NamedTuple):
    """A routing function.

    Attributes:
        kind: One of those above.
        side: Routers along a dimension, or ways down at a router of a tree.
        dimensions: Their number, or levels of a tree.
        channels: Per port.
        first: Port of the first link between routers, where that is not 0.
        low: First channel that ``MESH`` takes between routers.
        table: (R, N) outputs by router and target, of ``TABLE``; of ``TOLD`` shifted by
            ``PART_BITS``, with a part of the channels.
    """

    kind: int
    side: int
    dimensions: int
    channels: int
    first: int
    low: int
    table: Ints


@njit(cache=True, error_model="numpy")
def write_way(m: Ints, number: int, way: tuple[int, int, int, int]) -> int:
    """Write a way (output, first and last channel, priority); the number of those there are now."""
    w = m[AT_FOUND] + number * WAY_WORDS
    m[w + WAY_OUTPUT], m[w + WAY_LOW], m[w + WAY_HIGH], m[w + WAY_PRIORITY] = way
    return number + 1


@njit(cache=True, error_model="numpy")
def keep_ways(m: Ints, router: int, channel: int, count: int) -> None:
    """Keep the ways that the head in an input channel has found."""
    w = m[AT_WAY] + (router * m[PORTS] * m[CHANNELS] + channel) * MOST_WAYS * WAY_WORDS
    for j in range(count * WAY_WORDS):
        m[w + j] = m[m[AT_FOUND] + j]
    m[input_row(m, router, channel) + WAYS] = count


@njit(cache=True, error_model="numpy")
def as_told(m: Ints, router: int, channel: int, target: int) -> int:
    """Write the way to a node that the table tells."""
    told = m[m[AT_TABLE] + router * m[NODES] + target]
    output, part, low, high = told >> PART_BITS, told & IN_TURN, 0, m[CHANNELS] - 1
    if part == IN_TURN:
        turn = m[AT_ROUTER] + router * ROUTER_WORDS + NEXT_IN_TURN
        output += m[turn]
        m[turn] = m[turn] + 1 if m[turn] + 1 < m[SIDE] else 0
    elif part != ANY:
        low, high = half(m, part - LOWER)
    return write_way(m, 0, (output, low, high, 0))


@njit(cache=True, error_model="numpy")
def half(m: Ints, part: int) -> tuple[int, int]:
    """First and last channel of the lower (0) or the upper (1) half."""
    count = m[CHANNELS] // 2
    return (0, count - 1) if part == 0 else (count, 2 * count - 1)


@njit(cache=True, error_model="numpy")
def held_slots(m: Ints, router: int, output: int) -> int:
    """Slots behind an output that are not free, counted by credits."""
    each = m[CHANNELS]
    o, free = m[AT_OUTPUT] + (router * m[PORTS] + output) * each * OUTPUT_WORDS, 0
    for vc in range(each):
        free += m[o + vc * OUTPUT_WORDS + CREDITS]
    return int(each * m[DEPTH] - free)
