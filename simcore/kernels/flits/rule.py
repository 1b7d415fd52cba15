"""Rule of a routing function, and what all of them share."""

from typing import NamedTuple

from simcore.kernels.flits.network import (
    WAY_HIGH,
    WAY_LOW,
    WAY_OUTPUT,
    WAY_PRIORITY,
    WAYS,
    Ints,
    State,
)
from simcore.kernels.jit import njit

(
    TABLE, MESH, TORUS, BALANCED_TORUS, VALIANT, ROMM, ORDER, ADAPTIVE_ORDER, FLAT_ORDER,
    ESCAPE_MESH, ESCAPE_TORUS, TREE, ADAPTIVE_TREE,
) = range(13)  # fmt: skip
"""Kinds of routing functions."""

MIDDLES = (VALIANT, ROMM)
"""Kinds that go by a router in the middle."""


class Rule(NamedTuple):
    """A routing function.

    Attributes:
        kind: One of those above.
        side: Routers along a dimension, or ways down at a router of a tree.
        dimensions: Their number, or levels of a tree.
        channels: Per port.
        first: Port of the first link between routers, where that is not 0.
        low: First channel that ``MESH`` takes between routers.
        table: (R, N) outputs by router and target, of ``TABLE`` only.
    """

    kind: int
    side: int
    dimensions: int
    channels: int
    first: int
    low: int
    table: Ints


@njit(cache=True)
def write_way(
    state: State, router: int, channel: int, number: int, way: tuple[int, int, int, int]
) -> int:
    """Write a way (output, first and last channel, priority); the number of those there are now."""
    w = state.ways[router, channel, number]
    w[WAY_OUTPUT], w[WAY_LOW], w[WAY_HIGH], w[WAY_PRIORITY] = way
    state.channels[router, channel, WAYS] = number + 1
    return number + 1


@njit(cache=True)
def half(rule: Rule, part: int) -> tuple[int, int]:
    """First and last channel of the lower (0) or the upper (1) half."""
    count = rule.channels // 2
    return (0, count - 1) if part == 0 else (count, 2 * count - 1)


@njit(cache=True)
def held_slots(rule: Rule, state: State, router: int, output: int) -> int:
    """Slots behind an output that are not free, counted by credits."""
    each = rule.channels
    free = state.credits[router, output * each : (output + 1) * each].sum()
    return int(each * state.flits.shape[2] - free)
