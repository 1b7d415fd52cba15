"""Minimal adaptive routes on grids, with channels to escape to."""

from simcore.kernels.flits.grid_routes import next_output, ring_output
from simcore.kernels.flits.network import DIMENSION, HOPS, NONE, State
from simcore.kernels.flits.rule import Rule, write_way
from simcore.kernels.jit import njit

RING_CHANNEL = 3
"""Channel that adaptive routes use on a torus; BookSim 2 leaves 2 and those above 3 unused."""


@njit(cache=True)
def mesh_with_escape(rule: Rule, state: State, place: tuple[int, int, int]) -> int:
    """Write the escape, channel 0 by order of dimensions, and unless in it all productive ways."""
    router, channel, target = place
    escape = next_output(rule, router, target, False)
    count = write_way(state, router, channel, 0, (escape, 0, 0, 0))
    if channel % rule.channels == 0:
        return count
    stride = 1
    for d in range(rule.dimensions):
        here, there = router // stride % rule.side, target // stride % rule.side
        if here != there:
            output = rule.first + 2 * d + (0 if there > here else 1)
            count = write_way(state, router, channel, count, (output, 1, rule.channels - 1, 1))
        stride *= rule.side
    return count


@njit(cache=True)
def torus_with_escape(rule: Rule, state: State, place: tuple[int, int, int], packet: int) -> int:
    """Write the escape, one of channels 0 and 1, and unless in it all shorter ways around."""
    router, channel, target = place
    p, count, stride = state.packets[packet], 0, 1
    if p[HOPS] == 0 or channel % rule.channels > 1:
        p[DIMENSION] = NONE
        for d in range(rule.dimensions):
            here, there = router // stride % rule.side, target // stride % rule.side
            up, down = (there - here) % rule.side, (here - there) % rule.side
            for way in range(2):
                if up != 0 and (up <= down if way == 0 else down <= up):
                    output = rule.first + 2 * d + way
                    to = (output, RING_CHANNEL, RING_CHANNEL, 1)
                    count = write_way(state, router, channel, count, to)
            stride *= rule.side
    output, part = ring_output(rule, state, router, target, packet)
    return write_way(state, router, channel, count, (output, part, part, 0))
