"""Routes of fat trees: up until a common ancestor, then down."""

from simcore.kernels.flits.network import CHANNELS, DIMENSIONS, SIDE, Ints, draw_way
from simcore.kernels.flits.routes.rule import held_slots, write_way
from simcore.kernels.jit import njit


@njit(cache=True, error_model="numpy")
def up_or_down(m: Ints, router: int, channel: int, target: int, looks: bool) -> int:
    """Write the way to a node.

    Down it is the only one; up it is drawn, or where it *looks* the less held of two drawn ones.
    """
    k, level_size = m[SIDE], m[SIDE] ** (m[DIMENSIONS] - 1)
    level, place = router // level_size, router % level_size
    below = k ** (m[DIMENSIONS] - 1 - level)  # nodes below each output, routers of a subtree
    if target // (below * k) == place // below:
        output = target // below % k
    else:
        output = k + int(draw_way(m) * k)
        if looks:
            other = k + int(draw_way(m) * k)
            if held_slots(m, router, output) > held_slots(m, router, other):
                output = other
    return write_way(m, 0, (output, 0, m[CHANNELS] - 1, 0))
