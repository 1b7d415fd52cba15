"""Minimal adaptive routes on grids, with channels to escape to.

BookSim 2 keeps one way of each priority, so that of the productive ways only that of the lowest
dimension is left: its adaptive routes differ from dimension order by their channels alone.
"""

from simcore.kernels.flits.network import (
    CHANNELS,
    DIMENSION,
    DIMENSIONS,
    FIRST_PORT,
    HOPS,
    NONE,
    SIDE,
    Ints,
    packet_row,
)
from simcore.kernels.flits.routes.grid import next_output, place_of, ring_output
from simcore.kernels.flits.routes.rule import write_way
from simcore.kernels.jit import njit

RING_CHANNEL = 3
"""Channel that adaptive routes use on a torus; BookSim 2 leaves 2 and those above 3 unused."""


@njit(cache=True, error_model="numpy")
def mesh_with_escape(m: Ints, place: tuple[int, int, int], is_first: bool) -> int:
    """Write the escape, channel 0 by order of dimensions, and unless in it the other channels."""
    router, channel, target = place
    output = next_output(m, router, target, False)
    count = write_way(m, 0, (output, 0, 0, 0))
    if channel % m[CHANNELS] == 0 and not is_first:
        return count
    return write_way(m, count, (output, 1, m[CHANNELS] - 1, 1))


@njit(cache=True, error_model="numpy")
def torus_with_escape(m: Ints, place: tuple[int, int, int], packet: int) -> int:
    """Write the escape, one of channels 0 and 1, and unless in it the shorter way around."""
    router, channel, target = place
    p, count = packet_row(m, packet), 0
    if m[p + HOPS] == 0 or channel % m[CHANNELS] > 1:
        m[p + DIMENSION] = NONE
        output = _shorter_way(m, router, target)
        count = write_way(m, 0, (output, RING_CHANNEL, RING_CHANNEL, 1))
    output, part = ring_output(m, router, target, packet)
    return write_way(m, count, (output, part, part, 0))


@njit(cache=True, error_model="numpy")
def _shorter_way(m: Ints, router: int, target: int) -> int:
    """Output on the ring of the lowest dimension that differs; down where both are as short."""
    side = m[SIDE]
    for d in range(m[DIMENSIONS]):
        here, there = place_of(m, router, d), place_of(m, target, d)
        if here != there:
            is_up = 2 * ((there - here) % side) < side
            return int(m[FIRST_PORT] + 2 * d + (0 if is_up else 1))
    return NONE
