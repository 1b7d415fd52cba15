"""Routes of packets: the outputs and the channels that a head may take at a router.

Each routing function writes *ways*: an output, a range of its channels, and a priority.

Source: W. Dally, B. Towles, Principles and Practices of Interconnection Networks, 2004, chapters 8
to 11 and 14, with the choices of BookSim 2 as its results show them.
"""

from simcore.kernels.flits.network import (
    AT_DOOR,
    AT_TABLE,
    CHANNELS,
    DOOR_WORDS,
    EXIT_PORT,
    EXIT_ROUTER,
    HOPS,
    KIND,
    NODES,
    NONE,
    TARGET,
    Ints,
    packet_row,
)
from simcore.kernels.flits.routes.adaptive import mesh_with_escape, torus_with_escape
from simcore.kernels.flits.routes.grid import (
    around,
    around_by_middle,
    either_order,
    ends_here,
    in_order,
    straight_on,
    towards_middle,
)
from simcore.kernels.flits.routes.groups import around_groups, between_groups
from simcore.kernels.flits.routes.rule import (
    ADAPTIVE_ORDER,
    ADAPTIVE_TREE,
    BALANCED_TORUS,
    ESCAPE_MESH,
    ESCAPE_TORUS,
    FLAT_ADAPTIVE_ORDER,
    FLAT_DETOUR,
    FLAT_ORDER,
    FLAT_VALIANT,
    GROUPS,
    MESH,
    MIDDLES,
    ORDER,
    TABLE,
    TOLD,
    TORUS,
    VALIANT_TORUS,
    as_told,
    half,
    write_way,
)
from simcore.kernels.flits.routes.tree import up_or_down
from simcore.kernels.jit import njit


@njit(cache=True, error_model="numpy")
def route(m: Ints, router: int, channel: int, packet: int) -> int:
    """Write the ways of the head in an input channel, and tell how many there are."""
    p, kind, last = packet_row(m, packet), m[KIND], m[CHANNELS] - 1
    if kind == MESH:
        return straight_on(m, router, p)
    if kind >= GROUPS:
        if kind == GROUPS:
            return between_groups(m, router, channel, packet)
        return around_groups(m, router, channel, packet)
    if kind == VALIANT_TORUS:
        return around_by_middle(m, router, channel, packet)
    has_middle = kind in MIDDLES
    is_flat = kind in (FLAT_VALIANT, FLAT_DETOUR)
    if has_middle and not (is_flat and ends_here(m, router, packet)):
        target = towards_middle(m, router, packet)
        if target != NONE:
            return in_order(m, (router, channel, target), half(m, 0), False)
    door = m[AT_DOOR] + m[p + TARGET] * DOOR_WORDS
    target = m[door + EXIT_ROUTER]
    if target == router:
        return write_way(m, 0, (m[door + EXIT_PORT], 0, last, 0))
    place = router, channel, target
    if kind == TOLD:
        return as_told(m, router, channel, m[p + TARGET])
    if kind == TABLE:
        output = m[m[AT_TABLE] + router * m[NODES] + m[p + TARGET]]
        return write_way(m, 0, (output, 0, last, 0))
    if kind in (TORUS, BALANCED_TORUS):
        return around(m, place, packet)
    if has_middle:
        return in_order(m, place, half(m, 1), False)
    if kind in (ORDER, ADAPTIVE_ORDER, FLAT_ORDER, FLAT_ADAPTIVE_ORDER):
        return either_order(m, place, m[p + HOPS] == 0)
    if kind == ESCAPE_MESH:
        return mesh_with_escape(m, place, m[p + HOPS] == 0)
    if kind == ESCAPE_TORUS:
        return torus_with_escape(m, place, packet)
    return up_or_down(m, router, channel, m[p + TARGET], kind == ADAPTIVE_TREE)
