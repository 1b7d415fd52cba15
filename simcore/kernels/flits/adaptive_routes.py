"""Minimal adaptive routes on grids, with channels to escape to.

BookSim 2 keeps one way of each priority, so that of the productive ways only that of the lowest
dimension is left: its adaptive routes differ from dimension order by their channels alone.
"""

from simcore.kernels.flits.grid_routes import next_output, ring_output
from simcore.kernels.flits.network import DIMENSION, HOPS, NONE, State
from simcore.kernels.flits.rule import Rule, write_way
from simcore.kernels.jit import njit

RING_CHANNEL = 3
"""Channel that adaptive routes use on a torus; BookSim 2 leaves 2 and those above 3 unused."""


@njit(cache=True)
def mesh_with_escape(
    rule: Rule, state: State, place: tuple[int, int, int], is_first: bool
) -> int:
    """Write the escape, channel 0 by order of dimensions, and unless in it the other channels."""
    router, channel, target = place
    output = next_output(rule, router, target, False)
    count = write_way(state, router, channel, 0, (output, 0, 0, 0))
    if channel % rule.channels == 0 and not is_first:
        return count
    return write_way(state, router, channel, count, (output, 1, rule.channels - 1, 1))


@njit(cache=True)
def torus_with_escape(rule: Rule, state: State, place: tuple[int, int, int], packet: int) -> int:
    """Write the escape, one of channels 0 and 1, and unless in it the shorter way around."""
    router, channel, target = place
    p, count = state.packets[packet], 0
    if p[HOPS] == 0 or channel % rule.channels > 1:
        p[DIMENSION] = NONE
        output = _shorter_way(rule, router, target)
        count = write_way(state, router, channel, 0, (output, RING_CHANNEL, RING_CHANNEL, 1))
    output, part = ring_output(rule, state, router, target, packet)
    return write_way(state, router, channel, count, (output, part, part, 0))


@njit(cache=True)
def _shorter_way(rule: Rule, router: int, target: int) -> int:
    """Output on the ring of the lowest dimension that differs; down where both are as short."""
    stride = 1
    for d in range(rule.dimensions):
        here, there = router // stride % rule.side, target // stride % rule.side
        if here != there:
            is_up = 2 * ((there - here) % rule.side) < rule.side
            return rule.first + 2 * d + (0 if is_up else 1)
        stride *= rule.side
    return NONE
