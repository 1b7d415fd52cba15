"""Routes of packets: the output and the channels that a head may take at a router.

Source: W. Dally, B. Towles, Principles and Practices of Interconnection Networks, 2004, chapters 8
and 14, with the choices of BookSim 2 as its results show them.
"""

from typing import NamedTuple

from simcore.kernels.flits.network import (
    DIMENSION,
    PART,
    TARGET,
    WAY,
    State,
    draw,
)
from simcore.kernels.jit import njit

MESH, TORUS, BALANCED_TORUS = range(3)


class Rule(NamedTuple):
    """A routing function on a grid.

    Attributes:
        kind: ``MESH``, ``TORUS`` or ``BALANCED_TORUS``.
        side: Routers along a dimension.
        dimensions: Their number.
        channels: Per port.
    """

    kind: int
    side: int
    dimensions: int
    channels: int


@njit(cache=True)
def route(rule: Rule, state: State, router: int, packet: int) -> tuple[int, int, int]:
    """Output, and first and last channel, of a head at a router."""
    target, stride = state.packets[packet, TARGET], 1
    for d in range(rule.dimensions):
        here, there = router // stride % rule.side, target // stride % rule.side
        if here != there:
            if rule.kind == MESH:
                return 2 * d + (0 if there > here else 1), 0, rule.channels - 1
            return _around(rule, state, packet, (d, here, there))
        stride *= rule.side
    return 2 * rule.dimensions, 0, rule.channels - 1


@njit(cache=True)
def _around(
    rule: Rule, state: State, packet: int, place: tuple[int, int, int]
) -> tuple[int, int, int]:
    """Output and channels on a ring; the direction and the half are chosen when it is entered."""
    d, here, there = place
    p = state.packets[packet]
    if p[DIMENSION] != d:
        up, down = (there - here) % rule.side, (here - there) % rule.side
        is_up = up < down or (up == down and draw(state.random) < 0.5)
        wraps = here > there if is_up else there > here
        p[DIMENSION], p[WAY] = d, 0 if is_up else 1
        p[PART] = int(wraps) if is_up else int(not wraps)
        if rule.kind == BALANCED_TORUS and not wraps and not _crosses(rule, here, there):
            p[PART] = 0 if draw(state.random) < 0.5 else 1
    half = rule.channels // 2
    low = half * p[PART]
    return 2 * d + p[WAY], low, low + half - 1


@njit(cache=True)
def _crosses(rule: Rule, here: int, there: int) -> bool:
    """True if a way that does not wrap goes over the middle of the ring."""
    middle = (rule.side - 1) // 2
    return min(here, there) <= middle < max(here, there)
