"""Routes on grids that take one output: by order of dimensions, around rings, by a middle."""

from simcore.kernels.flits.network import (
    DIMENSION,
    HOPS,
    MIDDLE,
    NONE,
    PART,
    TARGET,
    WAY,
    Links,
    State,
    draw,
)
from simcore.kernels.flits.rule import (
    ADAPTIVE_ORDER,
    BALANCED_TORUS,
    FLAT_ORDER,
    VALIANT,
    Rule,
    half,
    held_slots,
    write_way,
)
from simcore.kernels.jit import njit


@njit(cache=True)
def next_output(rule: Rule, router: int, target: int, is_reverse: bool) -> int:
    """Output towards a router on a grid without wraps, lowest dimension first or last."""
    output, stride = NONE, 1
    for d in range(rule.dimensions):
        here, there = router // stride % rule.side, target // stride % rule.side
        if here != there:
            if rule.kind == FLAT_ORDER:
                past = there - (1 if there > here else 0)
                output = rule.first + d * (rule.side - 1) + past
            else:
                output = rule.first + 2 * d + (0 if there > here else 1)
            if not is_reverse:
                return output
        stride *= rule.side
    return output


@njit(cache=True)
def in_order(
    rule: Rule, state: State, place: tuple[int, int, int], span: tuple[int, int], is_reverse: bool
) -> int:
    """Write the way from a router and channel to a target, with a range of channels."""
    router, channel, target = place
    output = next_output(rule, router, target, is_reverse)
    return write_way(state, router, channel, 0, (output, span[0], span[1], 0))


@njit(cache=True)
def either_order(rule: Rule, state: State, place: tuple[int, int, int], is_first: bool) -> int:
    """Write the way by rising or by falling dimensions, as was chosen at the first router.

    The choice is a toss-up, or there falls on the output with fewer slots held. The half of the
    channels tells it afterwards.
    """
    router, channel, target = place
    is_reverse = channel % rule.channels >= rule.channels // 2
    if is_first:
        difference = 0
        if rule.kind == ADAPTIVE_ORDER:
            rising = held_slots(rule, state, router, next_output(rule, router, target, False))
            falling = held_slots(rule, state, router, next_output(rule, router, target, True))
            difference = rising - falling
        is_reverse = difference > 0 or (difference == 0 and draw(state.random) < 0.5)
    return in_order(rule, state, place, half(rule, int(is_reverse)), is_reverse)


@njit(cache=True)
def towards_middle(links: Links, rule: Rule, state: State, router: int, packet: int) -> int:
    """Router in the middle that a packet has yet to reach; ``NONE``: none.

    It is drawn at the first router: any one, or one within the box of source and target.
    """
    p = state.packets[packet]
    if p[HOPS] == 0:
        if rule.kind == VALIANT:
            p[MIDDLE] = int(draw(state.random) * links.router.shape[0])
        else:
            p[MIDDLE] = _between(rule, state, router, links.exit_router[p[TARGET]])
    if p[MIDDLE] == router:
        p[MIDDLE] = NONE
    return int(p[MIDDLE])


@njit(cache=True)
def _between(rule: Rule, state: State, router: int, target: int) -> int:
    middle, stride = 0, 1
    for _ in range(rule.dimensions):
        here, there = router // stride % rule.side, target // stride % rule.side
        low, high = min(here, there), max(here, there)
        middle += (low + int(draw(state.random) * (high - low + 1))) * stride
        stride *= rule.side
    return middle


@njit(cache=True)
def around(rule: Rule, state: State, place: tuple[int, int, int], packet: int) -> int:
    """Write the way on rings; the direction and the half are chosen when a ring is entered."""
    router, channel, target = place
    output, part = ring_output(rule, state, router, target, packet)
    low, high = half(rule, part)
    return write_way(state, router, channel, 0, (output, low, high, 0))


@njit(cache=True)
def ring_output(rule: Rule, state: State, router: int, target: int, packet: int) -> tuple[int, int]:
    """Output on the ring of the lowest dimension that differs, and half of its channels."""
    p, stride = state.packets[packet], 1
    for d in range(rule.dimensions):
        here, there = router // stride % rule.side, target // stride % rule.side
        stride *= rule.side
        if here == there:
            continue
        if p[DIMENSION] != d:
            up, down = (there - here) % rule.side, (here - there) % rule.side
            is_up = up < down or (up == down and draw(state.random) < 0.5)
            wraps = here > there if is_up else there > here
            p[DIMENSION], p[WAY] = d, 0 if is_up else 1
            p[PART] = int(wraps) if is_up else int(not wraps)
            if rule.kind == BALANCED_TORUS and not wraps and not _crosses(rule, here, there):
                p[PART] = 0 if draw(state.random) < 0.5 else 1
        return rule.first + 2 * d + p[WAY], p[PART]
    return NONE, 0


@njit(cache=True)
def _crosses(rule: Rule, here: int, there: int) -> bool:
    """True if a way that does not wrap goes over the middle of the ring."""
    middle = (rule.side - 1) // 2
    return min(here, there) <= middle < max(here, there)
