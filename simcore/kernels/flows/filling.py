"""Max-min fair rates by progressive filling, worked out again only where something changed.

A group of flows gets new rates while all others keep theirs: rates rise together until a link is
full or a flow at its cap, whose flows are then frozen (D. Bertsekas and R. Gallager, "Data
Networks", 2nd ed., 1992, section 6.5.2). That is the allocation of all flows if each of the others
still has its bottleneck: a full link on which none is faster. Those that do not join the group, and
it is filled again. An allocation in which every flow has a bottleneck is the only one.
"""

from simcore.kernels.flows.heaps import drop, push
from simcore.kernels.flows.state import (
    CAPPED,
    HEAP,
    NOWHERE,
    STAMP,
    Floats,
    Flows,
    Ints,
    Routes,
    Sharing,
    Slots,
)
from simcore.kernels.jit import njit

TOLERANCE = 1e-12
"""Part of a capacity or rate below which a difference is one of rounding."""
_MOST_ROUNDS = 1 << 12
_PATIENT_ROUNDS = 12
"""Rounds after which all flows that are joined to the group by links join it."""


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def join(stamps: Ints, group: Ints, slot: int, size: int, stamp: int) -> int:
    """Add a slot to the group of *size*, unless it is there; the size then."""
    if stamps[slot] == stamp:
        return size
    stamps[slot] = stamp
    group[size] = slot
    return size + 1


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def share(
    routes: Routes,
    flows: Flows,
    slots: Slots,
    sharing: Sharing,
    counter: Ints,
    width: int,
    size: int,
) -> int:
    """Work out the rates of the group of *size* slots, and of those that must change with it.

    Returns:
        Slots in the group then; ``new_rate`` and ``bottleneck`` hold the answer.
    """
    stamp = counter[STAMP]
    rounds = 0
    while True:
        links = _touch(routes, flows, slots, sharing, width, size, stamp, rounds)
        _fill(routes, flows, slots, sharing, counter, width, size, links, stamp)
        before = size
        for at in range(links):
            link = sharing.touched[at]
            if sharing.fixed[link] > 0:
                size = _join_wronged(routes, flows, slots, sharing, width, size, link, stamp)
        if size == before:
            return size
        rounds += 1
        if rounds >= _PATIENT_ROUNDS:
            size = _join_all(routes, flows, slots, sharing, width, size, stamp)


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _touch(
    routes: Routes,
    flows: Flows,
    slots: Slots,
    sharing: Sharing,
    width: int,
    size: int,
    stamp: int,
    rounds: int,
) -> int:
    """Gather the links of the group, and what the others leave of them; how many there are."""
    mark = stamp * _MOST_ROUNDS + rounds
    links = 0
    for at in range(size):
        slot = sharing.group[at]
        slots.frozen[slot] = False
        route = flows.route[slots.flow[slot]]
        for k in range(routes.offsets[route], routes.offsets[route + 1]):
            link = routes.links[k]
            if sharing.stamp[link] == mark:
                continue
            sharing.stamp[link] = mark
            sharing.touched[links] = link
            links += 1
            room, weight, opened, fixed = routes.capacity[link], 0.0, 0, 0
            entry = sharing.head[link]
            while entry != NOWHERE:
                other = entry // width
                place = routes.offsets[flows.route[slots.flow[other]]] + entry % width
                if slots.stamp[other] == stamp:
                    weight += routes.parts[place]
                    opened += 1
                else:
                    room -= routes.parts[place] * slots.rate[other]
                    fixed += 1
                entry = slots.after[entry]
            sharing.room[link] = room
            sharing.weight[link] = weight
            sharing.open[link] = opened
            sharing.fixed[link] = fixed
            sharing.level[link] = -1.0
            sharing.fastest[link] = 0.0
    return links


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _fill(
    routes: Routes,
    flows: Flows,
    slots: Slots,
    sharing: Sharing,
    counter: Ints,
    width: int,
    size: int,
    links: int,
    stamp: int,
) -> None:
    """Raise the rates of the group together until each flow meets a full link or its cap."""
    counter[HEAP] = 0
    for at in range(links):
        link = sharing.touched[at]
        _add_event(
            sharing.key,
            sharing.what,
            counter,
            max(sharing.room[link], 0.0) / sharing.weight[link],
            link,
        )
    for at in range(size):
        slot = sharing.group[at]
        cap = flows.cap[slots.flow[slot]]
        if cap < 1e300:
            _add_event(sharing.key, sharing.what, counter, cap, -1 - slot)
    level, unfrozen = 0.0, size
    while unfrozen > 0:
        key, what = sharing.key[0], sharing.what[0]
        counter[HEAP] -= 1
        drop(sharing.key, sharing.what, counter[HEAP])
        if what < 0:
            if not slots.frozen[-1 - what]:
                level = max(level, key)
                _freeze(routes, flows, slots, sharing, -1 - what, level, CAPPED)
                unfrozen -= 1
            continue
        if sharing.open[what] == 0:
            continue
        present = max(sharing.room[what], 0.0) / sharing.weight[what]
        if present > key:
            _add_event(sharing.key, sharing.what, counter, present, what)
            continue
        level = max(level, key)
        sharing.level[what] = level
        entry = sharing.head[what]
        while entry != NOWHERE:
            slot = entry // width
            if slots.stamp[slot] == stamp and not slots.frozen[slot]:
                _freeze(routes, flows, slots, sharing, slot, level, what)
                unfrozen -= 1
            entry = slots.after[entry]


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _add_event(key: Floats, names: Ints, counter: Ints, level: float, what: int) -> None:
    push(key, names, counter[HEAP], level, what)
    counter[HEAP] += 1


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _freeze(
    routes: Routes,
    flows: Flows,
    slots: Slots,
    sharing: Sharing,
    slot: int,
    level: float,
    bottleneck: int,
) -> None:
    """Give a slot of the group its rate."""
    slots.frozen[slot] = True
    slots.new_rate[slot] = level
    slots.bottleneck[slot] = bottleneck
    route = flows.route[slots.flow[slot]]
    for k in range(routes.offsets[route], routes.offsets[route + 1]):
        link = routes.links[k]
        sharing.room[link] -= routes.parts[k] * level
        sharing.weight[link] -= routes.parts[k]
        sharing.open[link] -= 1
        sharing.fastest[link] = max(sharing.fastest[link], level)


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _join_wronged(
    routes: Routes,
    flows: Flows,
    slots: Slots,
    sharing: Sharing,
    width: int,
    size: int,
    link: int,
    stamp: int,
) -> int:
    """Add the flows on *link* that the new rates leave without a bottleneck, or above one."""
    level = sharing.level[link]
    lost = sharing.room[link] > TOLERANCE * routes.capacity[link]
    most = sharing.fastest[link] * (1.0 - TOLERANCE)
    if level >= 0.0:
        level = _water_level(routes, flows, slots, sharing, width, link, stamp)
    entry = sharing.head[link]
    while entry != NOWHERE:
        slot = entry // width
        if slots.stamp[slot] != stamp:
            rate = slots.rate[slot]
            too_fast = level >= 0.0 and rate > level * (1.0 + TOLERANCE)
            held = slots.bottleneck[slot] == link
            if too_fast or (held and (lost or rate < most)):
                size = join(slots.stamp, sharing.group, slot, size, stamp)
        entry = slots.after[entry]
    return size


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _water_level(
    routes: Routes,
    flows: Flows,
    slots: Slots,
    sharing: Sharing,
    width: int,
    link: int,
    stamp: int,
) -> float:
    """Rate that the flows which a full link holds back get if faster ones are held as well.

    At least the level at which it filled up; no flow of a lower rate has to change for this link.
    """
    level = sharing.level[link]
    for _ in range(3):
        room, weight, faster = routes.capacity[link], 0.0, 0
        entry = sharing.head[link]
        while entry != NOWHERE:
            slot = entry // width
            place = routes.offsets[flows.route[slots.flow[slot]]] + entry % width
            if slots.stamp[slot] != stamp:
                held = slots.rate[slot] > level * (1.0 + TOLERANCE)
                faster += held
                rate = slots.rate[slot]
            else:
                held = slots.frozen[slot] and slots.bottleneck[slot] == link
                rate = slots.new_rate[slot]
            if held:
                weight += routes.parts[place]
            else:
                room -= routes.parts[place] * rate
            entry = slots.after[entry]
        if faster == 0:
            break
        if room / weight <= level * (1.0 + TOLERANCE):
            break
        level = room / weight
    return level


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _join_all(
    routes: Routes, flows: Flows, slots: Slots, sharing: Sharing, width: int, size: int, stamp: int
) -> int:
    """Add all flows that share links with the group, and those that share links with them."""
    at = 0
    while at < size:
        route = flows.route[slots.flow[sharing.group[at]]]
        for k in range(routes.offsets[route], routes.offsets[route + 1]):
            entry = sharing.head[routes.links[k]]
            while entry != NOWHERE:
                size = join(slots.stamp, sharing.group, entry // width, size, stamp)
                entry = slots.after[entry]
        at += 1
    return size
