"""Routes of packets: the outputs and the channels that a head may take at a router.

Each routing function writes *ways*: an output, a range of its channels, and a priority.

Source: W. Dally, B. Towles, Principles and Practices of Interconnection Networks, 2004, chapters 8
to 11 and 14, with the choices of BookSim 2 as its results show them.
"""

from simcore.kernels.flits.adaptive_routes import mesh_with_escape, torus_with_escape
from simcore.kernels.flits.grid_routes import around, either_order, in_order, towards_middle
from simcore.kernels.flits.network import HOPS, NONE, TARGET, Links, State
from simcore.kernels.flits.rule import (
    ADAPTIVE_ORDER,
    ADAPTIVE_TREE,
    BALANCED_TORUS,
    ESCAPE_MESH,
    ESCAPE_TORUS,
    FLAT_ORDER,
    MESH,
    MIDDLES,
    ORDER,
    TABLE,
    TORUS,
    Rule,
    half,
    write_way,
)  # fmt: skip
from simcore.kernels.flits.tree_routes import up_or_down
from simcore.kernels.jit import njit


@njit(cache=True)
def route(links: Links, rule: Rule, state: State, router: int, channel: int, packet: int) -> int:
    """Write the ways of the head in an input channel, and tell how many there are."""
    p, kind = state.packets[packet], rule.kind
    if kind in MIDDLES:
        target = towards_middle(links, rule, state, router, packet)
        if target != NONE:
            return in_order(rule, state, (router, channel, target), half(rule, 0), False)
    target = links.exit_router[p[TARGET]]
    every = (0, rule.channels - 1)
    if target == router:
        return write_way(state, router, channel, 0, (links.exit_port[p[TARGET]], *every, 0))
    place = router, channel, target
    if kind == TABLE:
        return write_way(state, router, channel, 0, (rule.table[router, p[TARGET]], *every, 0))
    if kind == MESH:
        return in_order(rule, state, place, (rule.low, rule.channels - 1), False)
    if kind in (TORUS, BALANCED_TORUS):
        return around(rule, state, place, packet)
    if kind in MIDDLES:
        return in_order(rule, state, place, half(rule, 1), False)
    if kind in (ORDER, ADAPTIVE_ORDER, FLAT_ORDER):
        return either_order(rule, state, place, p[HOPS] == 0)
    if kind == ESCAPE_MESH:
        return mesh_with_escape(rule, state, place, p[HOPS] == 0)
    if kind == ESCAPE_TORUS:
        return torus_with_escape(rule, state, place, packet)
    return up_or_down(rule, state, router, channel, p[TARGET], kind == ADAPTIVE_TREE)
