"""Routes on grids that take one output: by order of dimensions, around rings, by a middle."""

from simcore.kernels.flits.network import (
    AT_DOOR,
    AT_PLACE,
    CHANNELS,
    DIMENSION,
    DIMENSIONS,
    DOOR_WORDS,
    EXIT_ROUTER,
    FIRST_PORT,
    HOPS,
    KIND,
    MIDDLE,
    NONE,
    PART,
    ROUTERS,
    SIDE,
    TARGET,
    WAY,
    Ints,
    draw,
    packet_row,
)
from simcore.kernels.flits.rule import (
    ADAPTIVE_ORDER,
    BALANCED_TORUS,
    FLAT_ORDER,
    VALIANT,
    half,
    held_slots,
    write_way,
)
from simcore.kernels.jit import njit


@njit(cache=True, error_model="numpy")
def place_of(m: Ints, router: int, dimension: int) -> int:
    """Coordinate of a router along a dimension of a grid."""
    return int(m[m[AT_PLACE] + router * m[DIMENSIONS] + dimension])


@njit(cache=True, error_model="numpy")
def next_output(m: Ints, router: int, target: int, is_reverse: bool) -> int:
    """Output towards a router on a grid without wraps, lowest dimension first or last."""
    output, dimensions = NONE, m[DIMENSIONS]
    here, there = m[AT_PLACE] + router * dimensions, m[AT_PLACE] + target * dimensions
    for d in range(dimensions):
        if m[here + d] != m[there + d]:
            if m[KIND] == FLAT_ORDER:
                beyond = m[there + d] - (1 if m[there + d] > m[here + d] else 0)
                output = m[FIRST_PORT] + d * (m[SIDE] - 1) + beyond
            else:
                output = m[FIRST_PORT] + 2 * d + (0 if m[there + d] > m[here + d] else 1)
            if not is_reverse:
                return int(output)
    return int(output)


@njit(cache=True, error_model="numpy")
def in_order(m: Ints, place: tuple[int, int, int], span: tuple[int, int], is_reverse: bool) -> int:
    """Write the way from a router and channel to a target, with a range of channels."""
    router, channel, target = place
    output = next_output(m, router, target, is_reverse)
    return write_way(m, router, channel, 0, (output, span[0], span[1], 0))


@njit(cache=True, error_model="numpy")
def either_order(m: Ints, place: tuple[int, int, int], is_first: bool) -> int:
    """Write the way by rising or by falling dimensions, as was chosen at the first router.

    The choice is a toss-up, or there falls on the output with fewer slots held. The half of the
    channels tells it afterwards.
    """
    router, channel, target = place
    is_reverse = channel % m[CHANNELS] >= m[CHANNELS] // 2
    if is_first:
        difference = 0
        if m[KIND] == ADAPTIVE_ORDER:
            rising = held_slots(m, router, next_output(m, router, target, False))
            falling = held_slots(m, router, next_output(m, router, target, True))
            difference = rising - falling
        is_reverse = difference > 0 or (difference == 0 and draw(m) < 0.5)
    return in_order(m, place, half(m, int(is_reverse)), is_reverse)


@njit(cache=True, error_model="numpy")
def towards_middle(m: Ints, router: int, packet: int) -> int:
    """Router in the middle that a packet has yet to reach; ``NONE``: none.

    It is drawn at the first router: any one, or one within the box of source and target.
    """
    p = packet_row(m, packet)
    if m[p + HOPS] == 0:
        if m[KIND] == VALIANT:
            m[p + MIDDLE] = int(draw(m) * m[ROUTERS])
        else:
            exit_ = m[m[AT_DOOR] + m[p + TARGET] * DOOR_WORDS + EXIT_ROUTER]
            m[p + MIDDLE] = _between(m, router, exit_)
    if m[p + MIDDLE] == router:
        m[p + MIDDLE] = NONE
    return int(m[p + MIDDLE])


@njit(cache=True, error_model="numpy")
def _between(m: Ints, router: int, target: int) -> int:
    middle, stride = 0, 1
    for d in range(m[DIMENSIONS]):
        here, there = place_of(m, router, d), place_of(m, target, d)
        low, high = min(here, there), max(here, there)
        middle += (low + int(draw(m) * (high - low + 1))) * stride
        stride *= m[SIDE]
    return middle


@njit(cache=True, error_model="numpy")
def around(m: Ints, place: tuple[int, int, int], packet: int) -> int:
    """Write the way on rings; the direction and the half are chosen when a ring is entered."""
    router, channel, target = place
    output, part = ring_output(m, router, target, packet)
    low, high = half(m, part)
    return write_way(m, router, channel, 0, (output, low, high, 0))


@njit(cache=True, error_model="numpy")
def ring_output(m: Ints, router: int, target: int, packet: int) -> tuple[int, int]:
    """Output on the ring of the lowest dimension that differs, and half of its channels."""
    p, side = packet_row(m, packet), m[SIDE]
    for d in range(m[DIMENSIONS]):
        here, there = place_of(m, router, d), place_of(m, target, d)
        if here == there:
            continue
        if m[p + DIMENSION] != d:
            up = there - here if there >= here else there - here + side
            is_up = 2 * up < side or (2 * up == side and draw(m) < 0.5)
            wraps = here > there if is_up else there > here
            m[p + DIMENSION], m[p + WAY] = d, 0 if is_up else 1
            m[p + PART] = int(wraps) if is_up else int(not wraps)
            if m[KIND] == BALANCED_TORUS and not wraps and not _crosses(side, here, there):
                m[p + PART] = 0 if draw(m) < 0.5 else 1
        return int(m[FIRST_PORT] + 2 * d + m[p + WAY]), int(m[p + PART])
    return NONE, 0


@njit(cache=True, error_model="numpy")
def _crosses(side: int, here: int, there: int) -> bool:
    """True if a way that does not wrap goes over the middle of the ring."""
    middle = (side - 1) // 2
    return min(here, there) <= middle < max(here, there)
