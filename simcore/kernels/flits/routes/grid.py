"""Routes on grids that take one output: by order of dimensions, around rings, by a middle."""

from simcore.kernels.flits.network import (
    AT_DOOR,
    AT_PLACE,
    AT_ROUTER,
    CHANNELS,
    COORDINATES,
    DIMENSION,
    DIMENSIONS,
    DOOR_WORDS,
    EXIT,
    EXIT_PORT,
    EXIT_ROUTER,
    FIRST_PORT,
    GOAL,
    HOPS,
    KIND,
    LOW_CHANNEL,
    MIDDLE,
    NONE,
    PART,
    ROUTER_WORDS,
    ROUTERS,
    SIDE,
    TARGET,
    WAY,
    Ints,
    draw_way,
    packet_row,
)
from simcore.kernels.flits.routes.rule import (
    ADAPTIVE_ORDER,
    BALANCED_TORUS,
    FLAT_ADAPTIVE_ORDER,
    FLAT_DETOUR,
    FLAT_ORDER,
    FLAT_VALIANT,
    ROMM,
    half,
    held_slots,
    write_way,
)
from simcore.kernels.jit import njit

DETOUR_SLOTS = 2
"""Slots, times routers to pass, for which a packet on a flattened butterfly keeps straight on."""


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
            if FLAT_ORDER <= m[KIND] <= FLAT_DETOUR:
                beyond = m[there + d] - (1 if m[there + d] > m[here + d] else 0)
                output = m[FIRST_PORT] + d * (m[SIDE] - 1) + beyond
            else:
                output = m[FIRST_PORT] + 2 * d + (0 if m[there + d] > m[here + d] else 1)
            if not is_reverse:
                return int(output)
    return int(output)


@njit(cache=True, error_model="numpy")
def straight_on(m: Ints, router: int, p: int) -> int:
    """Write the way of a packet on a mesh, lowest dimension first; *p*: where its words begin.

    No branch depends on where a head goes, which no processor foresees: a wrong guess takes longer
    than all of this.
    """
    dimensions, last, side = m[DIMENSIONS], m[CHANNELS] - 1, m[FIRST_PORT]
    here, there = m[m[AT_ROUTER] + router * ROUTER_WORDS + COORDINATES], m[p + GOAL]
    output, low = m[p + EXIT], 0
    for d in range(dimensions - 1, -1, -1):
        differs = int(m[here + d] != m[there + d])
        output += differs * (side + 2 * d + int(m[there + d] < m[here + d]) - output)
        low += differs * (m[LOW_CHANNEL] - low)
    return write_way(m, 0, (output, low, last, 0))


@njit(cache=True, error_model="numpy")
def in_order(m: Ints, place: tuple[int, int, int], span: tuple[int, int], is_reverse: bool) -> int:
    """Write the way from a router and channel to a target, with a range of channels."""
    router, _, target = place
    output = next_output(m, router, target, is_reverse)
    return write_way(m, 0, (output, span[0], span[1], 0))


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
        if m[KIND] in (ADAPTIVE_ORDER, FLAT_ADAPTIVE_ORDER):
            rising = held_slots(m, router, next_output(m, router, target, False))
            falling = held_slots(m, router, next_output(m, router, target, True))
            difference = rising - falling
        is_reverse = difference > 0 or (difference == 0 and draw_way(m) < 0.5)
    return in_order(m, place, half(m, int(is_reverse)), is_reverse)


@njit(cache=True, error_model="numpy")
def towards_middle(m: Ints, router: int, packet: int) -> int:
    """Router in the middle that a packet has yet to reach; ``NONE``: none.

    It is drawn at the first router: any one, or one within the box of source and target, or on a
    flattened butterfly, where the straight way is held, one that differs where these do.
    """
    p = packet_row(m, packet)
    if m[p + HOPS] == 0:
        exit_ = m[m[AT_DOOR] + m[p + TARGET] * DOOR_WORDS + EXIT_ROUTER]
        if m[KIND] == ROMM:
            m[p + MIDDLE] = _between(m, router, exit_)
        elif m[KIND] == FLAT_DETOUR:
            m[p + MIDDLE] = _detour(m, router, exit_)
        else:
            m[p + MIDDLE] = int(draw_way(m) * m[ROUTERS])
    if m[p + MIDDLE] == router:
        m[p + MIDDLE], m[p + DIMENSION] = NONE, NONE
    return int(m[p + MIDDLE])


@njit(cache=True, error_model="numpy")
def ends_here(m: Ints, router: int, packet: int) -> bool:
    """True if a packet on a flattened butterfly leaves at a router, its middle reached or not.

    One that was sent by a middle because the straight way was held goes there first.
    """
    p = packet_row(m, packet)
    is_last = m[m[AT_DOOR] + m[p + TARGET] * DOOR_WORDS + EXIT_ROUTER] == router
    return bool(is_last and (m[KIND] == FLAT_VALIANT or m[p + HOPS] == 0))


@njit(cache=True, error_model="numpy")
def _detour(m: Ints, router: int, target: int) -> int:
    """Router in the middle if fewer slots are held that way, per router passed; else ``NONE``."""
    middle, stride, straight, around_ = 0, 1, 0, 0
    for d in range(m[DIMENSIONS]):
        here, there = place_of(m, router, d), place_of(m, target, d)
        place = here
        if here != there:
            place = int(draw_way(m) * m[SIDE])
            straight += 1
            around_ += int(place != here) + int(place != there)
        middle += place * stride
        stride *= m[SIDE]
    if middle == router:
        return NONE
    held = held_slots(m, router, next_output(m, router, target, False))
    other = held_slots(m, router, next_output(m, router, middle, False))
    return NONE if straight * held <= around_ * other + DETOUR_SLOTS else int(middle)


@njit(cache=True, error_model="numpy")
def _between(m: Ints, router: int, target: int) -> int:
    middle, stride = 0, 1
    for d in range(m[DIMENSIONS]):
        here, there = place_of(m, router, d), place_of(m, target, d)
        low, high = min(here, there), max(here, there)
        middle += (low + int(draw_way(m) * (high - low + 1))) * stride
        stride *= m[SIDE]
    return middle


@njit(cache=True, error_model="numpy")
def around(m: Ints, place: tuple[int, int, int], packet: int) -> int:
    """Write the way on rings; the direction and the half are chosen when a ring is entered."""
    router, _, target = place
    output, part = ring_output(m, router, target, packet)
    low, high = half(m, part)
    return write_way(m, 0, (output, low, high, 0))


@njit(cache=True, error_model="numpy")
def around_by_middle(m: Ints, router: int, channel: int, packet: int) -> int:
    """Write the way on rings to a middle, then to the target, each in a half of the ring's half."""
    p, quarter = packet_row(m, packet), m[CHANNELS] // 4
    door = m[AT_DOOR] + m[p + TARGET] * DOOR_WORDS
    goal, phase = towards_middle(m, router, packet), 0
    if goal == NONE:
        goal, phase = m[door + EXIT_ROUTER], 1
    if goal == router:
        return write_way(m, 0, (m[door + EXIT_PORT], 0, m[CHANNELS] - 1, 0))
    output, part = ring_output(m, router, goal, packet)
    low = (2 * part + phase) * quarter
    return write_way(m, 0, (output, low, low + quarter - 1, 0))


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
            is_up = 2 * up < side or (2 * up == side and draw_way(m) < 0.5)
            wraps = here > there if is_up else there > here
            m[p + DIMENSION], m[p + WAY] = d, 0 if is_up else 1
            m[p + PART] = int(wraps) if is_up else int(not wraps)
            if m[KIND] == BALANCED_TORUS and not wraps and not _crosses(side, here, there):
                m[p + PART] = 0 if draw_way(m) < 0.5 else 1
        return int(m[FIRST_PORT] + 2 * d + m[p + WAY]), int(m[p + PART])
    return NONE, 0


@njit(cache=True, error_model="numpy")
def _crosses(side: int, here: int, there: int) -> bool:
    """True if a way that does not wrap goes over the middle of the ring."""
    middle = (side - 1) // 2
    return min(here, there) <= middle < max(here, there)
