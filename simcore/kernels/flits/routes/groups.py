"""Routes of dragonflies: to the link between two groups, over it, and to the router there.

Channel v is that of phase v: of minimal routes before the link between groups and from it on; of
adaptive ones a detour by another group, then the two parts of the way to the target.

Source: J. Kim, W. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly
topology", ISCA 2008, with the choices of BookSim 2 as its results show them.
"""

from simcore.kernels.flits.network import (
    HOPS,
    MIDDLE,
    NODES,
    PART,
    SIDE,
    TARGET,
    Ints,
    draw_way,
    packet_row,
)
from simcore.kernels.flits.routes.rule import held_slots, write_way
from simcore.kernels.jit import njit

DETOUR_SLOTS = 30
"""Slots held on the minimal way beyond twice those on the detour from which a detour is taken."""


@njit(cache=True, error_model="numpy")
def group_output(m: Ints, router: int, node: int) -> int:
    """Output towards a node on the minimal way, of routers with as many nodes as global links."""
    p = m[SIDE]
    each = 2 * p  # routers of a group
    group, there, last = router // each, node // (p * each), node // p
    if last == router:
        return int(node % p)
    link = there if there < group else there - 1
    goal = last if there == group else group * each + link // p
    if goal == router:
        return int(p + each - 1 + link % p)
    return int(p + goal % each - (1 if goal > router else 0))


@njit(cache=True, error_model="numpy")
def between_groups(m: Ints, router: int, channel: int, packet: int) -> int:
    """Write the minimal way: in channel 0 up to the link between groups, in channel 1 from it."""
    p = packet_row(m, packet)
    output = group_output(m, router, m[p + TARGET])
    if m[p + HOPS] == 0:
        m[p + PART] = 0
    if output >= 3 * m[SIDE] - 1:
        m[p + PART] = 1
    return write_way(m, 0, (output, m[p + PART], m[p + PART], 0))


@njit(cache=True, error_model="numpy")
def around_groups(m: Ints, router: int, channel: int, packet: int) -> int:
    """Write the minimal way or a detour by a drawn node of another group, chosen at the source."""
    p = packet_row(m, packet)
    target = m[p + TARGET]
    if m[p + HOPS] == 0:
        m[p + PART] = _first_phase(m, router, packet)
    if m[p + PART] == 0 and m[p + MIDDLE] // m[SIDE] == router:
        m[p + PART] = 1
    output = group_output(m, router, m[p + MIDDLE] if m[p + PART] == 0 else target)
    if m[p + PART] == 1 and output >= 3 * m[SIDE] - 1:
        m[p + PART] = 2
    return write_way(m, 0, (output, m[p + PART], m[p + PART], 0))


@njit(cache=True, error_model="numpy")
def _first_phase(m: Ints, router: int, packet: int) -> int:
    p, each = packet_row(m, packet), 2 * m[SIDE]
    target, group = m[p + TARGET], router // each
    if target // (m[SIDE] * each) == group:
        return 2
    middle = int(draw_way(m) * m[NODES])
    m[p + MIDDLE] = middle
    if middle // (m[SIDE] * each) == group:
        return 1
    straight = held_slots(m, router, group_output(m, router, target))
    detour = held_slots(m, router, group_output(m, router, middle))
    return 0 if straight > 2 * detour + DETOUR_SLOTS else 1
