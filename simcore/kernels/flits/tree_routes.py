"""Routes of fat trees: up until a common ancestor, then down."""

from simcore.kernels.flits.network import State, draw
from simcore.kernels.flits.rule import Rule, held_slots, write_way
from simcore.kernels.jit import njit


@njit(cache=True)
def up_or_down(
    rule: Rule, state: State, router: int, channel: int, target: int, looks: bool
) -> int:
    """Write the way to a node.

    Down it is the only one; up it is drawn, or where it *looks* the less held of two drawn ones.
    """
    k, level_size = rule.side, rule.side ** (rule.dimensions - 1)
    level, place = router // level_size, router % level_size
    below = k ** (rule.dimensions - 1 - level)  # nodes below each output, routers of a subtree
    if target // (below * k) == place // below:
        output = target // below % k
    else:
        output = k + int(draw(state.random) * k)
        if looks:
            other = k + int(draw(state.random) * k)
            if held_slots(rule, state, router, output) > held_slots(rule, state, router, other):
                output = other
    return write_way(state, router, channel, 0, (output, 0, rule.channels - 1, 0))
