"""Flows from event to event: they enter transfer, share links, end, and let others go.

All that happens at one instant is one event, followed by one allocation of rates.
"""

import numpy as np

from simcore.kernels.flows.filling import join, share
from simcore.kernels.flows.heaps import (
    MANY,
    PART,
    move_down,
    move_up,
    order_slots,
    push,
    take_events_due,
    take_slots_due,
)
from simcore.kernels.flows.state import (
    ACTIVE,
    CAPPED,
    ENDED,
    FREED,
    GROUP,
    LOGGED,
    NOWHERE,
    STAMP,
    UNUSED,
    WAITING,
    Flows,
    Ints,
    Log,
    Places,
    Routes,
    Sharing,
    Slots,
    Waiting,
)
from simcore.kernels.jit import njit

IDLE, LATER, NEEDS_LOG = 0, 1, 2
"""Reasons why a run stopped: nothing is under way, the next event is later, the log is full."""

_INSTANT = 1e-13
"""Part of the time that is one instant: some hundred roundings of the clock."""
_SAME_RATE = 1e-14


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def run(
    routes: Routes,
    flows: Flows,
    slots: Slots,
    sharing: Sharing,
    waiting: Waiting,
    log: Log,
    counter: Ints,
    until: float,
) -> int:
    """Let flows run up to and including the time *until*; why it stopped."""
    width = len(slots.after) // len(slots.flow)
    while True:
        now = next_event(slots, waiting, counter)
        if now > until or np.isinf(now):
            return IDLE if np.isinf(now) else LATER
        if len(log.time) > 0 and counter[LOGGED] + 2 * len(flows.size) > len(log.time):
            return NEEDS_LOG
        counter[STAMP] += 1
        counter[GROUP] = counter[FREED] = 0
        last = min(now * (1.0 + _INSTANT), until)
        moved = True
        while moved:
            moved = _end_all(routes, flows, slots, sharing, waiting, log, counter, width, last)
            moved |= _begin_all(routes, flows, slots, sharing, waiting, log, counter, width, last)
        _free(slots, sharing, counter, width)
        _set_lone(routes, flows, slots, sharing, log, counter, width, now)
        if counter[GROUP] > 0:
            size = share(routes, flows, slots, sharing, counter, width, counter[GROUP])
            _set_rates(slots, sharing, log, counter, size, now)


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def count_from(slots: Slots, waiting: Waiting, counter: Ints, later: float) -> None:
    """Let flows count time from so much *later* on, which is not after the next event.

    Differences are exact, as they are no longer than the times were. What flows do is then the same
    whenever it begins.
    """
    for at in range(counter[ACTIVE]):
        slot = slots.order[at]
        slots.since[slot] -= later
        slots.ends[slot] -= later
    for at in range(counter[WAITING]):
        waiting.time[at] -= later


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def next_event(slots: Slots, waiting: Waiting, counter: Ints) -> float:
    """Time of the next event; infinite: there is none."""
    now = np.inf
    if counter[ACTIVE] > 0:
        now = slots.ends[slots.order[0]]
    if counter[WAITING] > 0:
        now = min(now, waiting.time[0])
    return now


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _end_all(
    routes: Routes,
    flows: Flows,
    slots: Slots,
    sharing: Sharing,
    waiting: Waiting,
    log: Log,
    counter: Ints,
    width: int,
    last: float,
) -> bool:
    """End the flows whose last byte is through by *last*; True if there was one."""
    sharing_what = sharing.what
    slots_unused = slots.unused
    slots_flow = slots.flow
    flows_route = flows.route
    routes_offsets = routes.offsets
    routes_links = routes.links
    slots_after = slots.after
    slots_before = slots.before
    sharing_head = sharing.head
    sharing_stamp = sharing.stamp
    sharing_freed = sharing.freed
    slots_ends = slots.ends
    log_time = log.time
    ended = take_slots_due(
        slots.order, slots.place, slots_ends, sharing_what, counter[ACTIVE], last
    )
    counter[ACTIVE] -= ended
    for at in range(ended):
        slot = sharing_what[at]
        slots_unused[counter[UNUSED]] = slot
        counter[UNUSED] += 1
        flow = slots_flow[slot]
        route = flows_route[flow]
        first = routes_offsets[route]
        for k in range(first, routes_offsets[route + 1]):
            link = routes_links[k]
            _unlink(slots_after, slots_before, sharing_head, slot * width + k - first, link)
            if sharing_head[link] != NOWHERE and sharing_stamp[link] != -counter[STAMP]:
                sharing_stamp[link] = -counter[STAMP]
                sharing_freed[counter[FREED]] = link
                counter[FREED] += 1
        if len(log_time) > 0:
            _write(log, counter, slots_ends[slot], flow, 0.0)
        _finish(routes, flows, waiting, counter, flow, slots_ends[slot])
    return ended > 0


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _begin_all(
    routes: Routes,
    flows: Flows,
    slots: Slots,
    sharing: Sharing,
    waiting: Waiting,
    log: Log,
    counter: Ints,
    width: int,
    last: float,
) -> bool:
    """Let the flows whose first byte has arrived by *last* enter transfer; True if one did."""
    sharing_what = sharing.what
    sharing_key = sharing.key
    slots_flow = slots.flow
    flows_route = flows.route
    flows_size = flows.size
    flows_cap = flows.cap
    routes_offsets = routes.offsets
    routes_links = routes.links
    slots_after = slots.after
    slots_before = slots.before
    sharing_head = sharing.head
    sharing_group = sharing.group
    slots_stamp = slots.stamp
    slots_ends = slots.ends
    slots_left = slots.left
    slots_since = slots.since
    slots_rate = slots.rate
    slots_bottleneck = slots.bottleneck
    log_time = log.time
    begun = take_events_due(
        waiting.time, waiting.flow, sharing_key, sharing_what, counter[WAITING], last
    )
    counter[WAITING] -= begun
    for at in range(begun):
        time, flow = sharing_key[at], sharing_what[at]
        route = flows_route[flow]
        first, end = routes_offsets[route], routes_offsets[route + 1]
        if flows_size[flow] <= 0.0 or (first == end and np.isinf(flows_cap[flow])):
            _finish(routes, flows, waiting, counter, flow, time)
            continue
        slot = _take_slot(slots, counter)
        slots_flow[slot] = flow
        slots_left[slot] = flows_size[flow]
        slots_since[slot] = time
        slots_bottleneck[slot] = CAPPED
        alone = first == end
        slots_rate[slot] = flows_cap[flow] if alone else 0.0
        slots_ends[slot] = time + flows_size[flow] / flows_cap[flow] if alone else np.inf
        if alone:
            move_up(slots.order, slots.place, slots_ends, slots.place[slot])
            if len(log_time) > 0:
                _write(log, counter, time, flow, flows_cap[flow])
            continue
        for k in range(first, end):
            _link(
                slots_after, slots_before, sharing_head, slot * width + k - first, routes_links[k]
            )
        counter[GROUP] = join(slots_stamp, sharing_group, slot, counter[GROUP], counter[STAMP])
    return begun > 0


@njit(cache=True, nogil=True, error_model="numpy", inline="always", makes_arrays=False)
def _take_slot(slots: Slots, counter: Ints) -> int:
    """A slot that no flow has, at the end of the heap."""
    if counter[UNUSED] > 0:
        counter[UNUSED] -= 1
        slot = slots.unused[counter[UNUSED]]
    else:
        slot = counter[ACTIVE]
    slots.order[counter[ACTIVE]] = slot
    slots.place[slot] = counter[ACTIVE]
    counter[ACTIVE] += 1
    return slot


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _link(after: Places, before: Places, head: Places, entry: int, link: int) -> None:
    """Put an entry on a link."""
    first = head[link]
    after[entry] = first
    before[entry] = NOWHERE
    if first != NOWHERE:
        before[first] = entry
    head[link] = entry


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _unlink(after: Places, before: Places, head: Places, entry: int, link: int) -> None:
    """Take an entry off a link."""
    behind, ahead = after[entry], before[entry]
    if behind != NOWHERE:
        before[behind] = ahead
    if ahead != NOWHERE:
        after[ahead] = behind
    else:
        head[link] = behind


@njit(cache=True, nogil=True, error_model="numpy", inline="always", makes_arrays=False)
def _finish(
    routes: Routes, flows: Flows, waiting: Waiting, counter: Ints, flow: int, time: float
) -> None:
    """End a flow, and send those on their way that waited for it alone."""
    flows.finish[flow] = time
    flows.ended[counter[ENDED]] = flow
    counter[ENDED] += 1
    for k in range(flows.offsets[flow], flows.offsets[flow + 1]):
        other = flows.followers[k]
        flows.waits[other] -= 1
        flows.released[other] = max(flows.released[other], time)
        if flows.waits[other] == 0:
            latency = routes.latency[flows.route[other]]
            begin = flows.released[other] + flows.start[other] + latency
            push(waiting.time, waiting.flow, counter[WAITING], begin, other)
            counter[WAITING] += 1


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _free(slots: Slots, sharing: Sharing, counter: Ints, width: int) -> None:
    """Add the flows to the group that links which others have left held back."""
    for at in range(counter[FREED]):
        link = sharing.freed[at]
        entry = sharing.head[link]
        while entry != NOWHERE:
            slot = entry // width
            if slots.bottleneck[slot] == link:
                counter[GROUP] = join(
                    slots.stamp, sharing.group, slot, counter[GROUP], counter[STAMP]
                )
            entry = slots.after[entry]


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _set_rates(
    slots: Slots, sharing: Sharing, log: Log, counter: Ints, size: int, now: float
) -> None:
    """Give the flows of the group their new rates from *now* on."""
    many = _are_many(size, counter)
    for at in range(size):
        slot = sharing.group[at]
        _set_rate(slots, log, counter, slot, slots.new_rate[slot], now, many)
    if many:
        order_slots(slots.order, slots.place, slots.ends, counter[ACTIVE])


@njit(cache=True, nogil=True, error_model="numpy", inline="always", makes_arrays=False)
def _are_many(size: int, counter: Ints) -> bool:
    """True if of the slots in transfer so many get new rates that all are put in order at once."""
    return size >= MANY and size * PART > counter[ACTIVE]


@njit(cache=True, nogil=True, error_model="numpy", inline="always", makes_arrays=False)
def _set_rate(
    slots: Slots, log: Log, counter: Ints, slot: int, rate: float, now: float, ordered_later: bool
) -> None:
    """Give a flow its new rate from *now* on."""
    old = slots.rate[slot]
    if abs(rate - old) <= _SAME_RATE * old:
        return
    slots.left[slot] = max(0.0, slots.left[slot] - old * (now - slots.since[slot]))
    slots.since[slot] = now
    slots.rate[slot] = rate
    slots.ends[slot] = now + slots.left[slot] / rate
    if len(log.time) > 0:
        _write(log, counter, now, slots.flow[slot], rate)
    if ordered_later:
        return
    if not move_up(slots.order, slots.place, slots.ends, slots.place[slot]):
        move_down(slots.order, slots.place, slots.ends, slots.place[slot], counter[ACTIVE])


@njit(cache=True, nogil=True, error_model="numpy", makes_arrays=False)
def _set_lone(
    routes: Routes,
    flows: Flows,
    slots: Slots,
    sharing: Sharing,
    log: Log,
    counter: Ints,
    width: int,
    now: float,
) -> None:
    """Take the flows out of the group that share no link, and give them their rates."""
    sharing_group = sharing.group
    slots_flow = slots.flow
    flows_route = flows.route
    flows_cap = flows.cap
    routes_offsets = routes.offsets
    routes_links = routes.links
    routes_capacity = routes.capacity
    routes_parts = routes.parts
    slots_after = slots.after
    sharing_head = sharing.head
    slots_bottleneck = slots.bottleneck
    kept, many = 0, _are_many(counter[GROUP], counter)
    for at in range(counter[GROUP]):
        slot = sharing_group[at]
        flow = slots_flow[slot]
        route = flows_route[flow]
        rate, bottleneck = flows_cap[flow], CAPPED
        first = routes_offsets[route]
        lone = True
        for k in range(first, routes_offsets[route + 1]):
            link = routes_links[k]
            entry = slot * width + k - first
            if sharing_head[link] != entry or slots_after[entry] != NOWHERE:
                lone = False
                break
            most = routes_capacity[link] / routes_parts[k]
            if most < rate:
                rate, bottleneck = most, link
        if lone:
            slots_bottleneck[slot] = bottleneck
            _set_rate(slots, log, counter, slot, rate, now, many)
        else:
            sharing_group[kept] = slot
            kept += 1
    if many and kept < counter[GROUP]:
        order_slots(slots.order, slots.place, slots.ends, counter[ACTIVE])
    counter[GROUP] = kept


@njit(cache=True, nogil=True, error_model="numpy", inline="always", makes_arrays=False)
def _write(log: Log, counter: Ints, time: float, flow: int, rate: float) -> None:
    """Write a change of a rate down."""
    at = counter[LOGGED]
    log.time[at] = time
    log.flow[at] = flow
    log.rate[at] = rate
    counter[LOGGED] += 1
