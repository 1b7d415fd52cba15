"""Times at which links carry chunks: whenever a link is free, the most urgent hop that is ready."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.synthesis.heaps import drop, push

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def urgency(offsets: Ints, after: Ints, order: Ints, span: Floats, ahead: Floats) -> Floats:
    """Time (S,) from the start of each hop to the end of the longest chain that waits for it.

    Args:
        offsets: (S + 1,) where the hops that wait for each hop begin.
        after: Those hops.
        order: (S,) hops, each before those that wait for it.
        span: (S,) time of each hop, its latency included.
        ahead: (S,) as for ``schedule``.
    """
    longest = np.zeros(len(order))
    for place in range(len(order) - 1, -1, -1):
        hop = order[place]
        most = 0.0
        for at in range(offsets[hop], offsets[hop + 1]):
            most = max(most, longest[after[at]] - ahead[after[at]])
        longest[hop] = most + span[hop]
    return longest


@njit(cache=True, nogil=True)
def schedule(
    link: Ints,
    takes: Floats,
    latency: Floats,
    waits: Ints,
    offsets: Ints,
    after: Ints,
    ahead: Floats,
    key: Floats,
    links: int,
) -> Floats:
    """Start (S,) of each hop; on every link one at a time, the lowest key first.

    Args:
        link: (S,) link of each hop.
        takes: (S,) time that it keeps the link.
        latency: (S,) time after that until its data is there.
        waits: (S,) hops that it waits for; changed.
        offsets: (S + 1,) where the hops that wait for each hop begin.
        after: Those hops.
        ahead: (S,) time before the arrival of the one hop that it waits for, from which a hop is
            ready: a switch passes a chunk on as it comes in; 0 where it must be there.
        key: (S,) which of the hops that are ready goes first.
        links: Links.

    Returns:
        The starts; infinite for hops that wait for each other.
    """
    hops = len(link)
    first = _begins(link, links)
    ready_key, ready = np.empty(hops), np.empty(hops, np.int64)
    count, free_at = np.zeros(links, np.int64), np.zeros(links)
    start = np.full(hops, np.inf)
    # a link that is done is item -1 - link, a hop that has arrived is its number, and one that is
    # ready before the arrival of another is S and its number
    room = 2 * hops + links + 2
    event_key, event = np.empty(room), np.empty(room, np.int64)
    awake, is_awake, woken = np.empty(links, np.int64), np.zeros(links, np.bool_), 0
    for hop in range(hops):
        if waits[hop] == 0:
            _make_ready(hop, link[hop], ready_key, ready, first, count, key)
            woken = _wake(link[hop], awake, is_awake, woken)
    events, now = 0, 0.0
    while True:
        for one in range(woken):
            on = awake[one]
            is_awake[on] = False
            if count[on] and free_at[on] <= now:
                hop = ready[first[on]]
                count[on] -= 1
                drop(ready_key, ready, first[on], count[on])
                start[hop], free_at[on] = now, now + takes[hop]
                push(event_key, event, 0, events, free_at[on], -1 - on)
                arrival, events = free_at[on] + latency[hop], events + 1
                next_ones = after[offsets[hop] : offsets[hop + 1]]
                events = _announce(hop, now, arrival, next_ones, ahead, event_key, event, events)
        woken = 0
        if events == 0:
            return start
        now = event_key[0]
        until = now * (1.0 + 1e-12)
        while events and event_key[0] <= until:
            what, now = event[0], event_key[0]
            events -= 1
            drop(event_key, event, 0, events)
            if what < 0:
                woken = _wake(-1 - what, awake, is_awake, woken)
                continue
            if what >= hops:
                _make_ready(what - hops, link[what - hops], ready_key, ready, first, count, key)
                woken = _wake(link[what - hops], awake, is_awake, woken)
                continue
            for hop in after[offsets[what] : offsets[what + 1]]:
                waits[hop] -= 1
                if waits[hop] == 0 and ahead[hop] == 0.0:
                    _make_ready(hop, link[hop], ready_key, ready, first, count, key)
                    woken = _wake(link[hop], awake, is_awake, woken)


@njit(cache=True, nogil=True)
def _announce(
    hop: int,
    now: float,
    arrival: float,
    after: Ints,
    ahead: Floats,
    event_key: Floats,
    event: Ints,
    events: int,
) -> int:
    """Note when a hop that starts now arrives, and when those are ready that need not wait for it.

    Returns:
        Events then.
    """
    push(event_key, event, 0, events, arrival, hop)
    events += 1
    for other in after:
        if ahead[other] > 0.0:
            push(event_key, event, 0, events, max(now, arrival - ahead[other]), len(ahead) + other)
            events += 1
    return events


@njit(cache=True, nogil=True)
def _wake(link: int, awake: Ints, is_awake: NDArray[np.bool_], woken: int) -> int:
    """Put a link on the list of those to look at; links on it then."""
    if is_awake[link]:
        return woken
    is_awake[link] = True
    awake[woken] = link
    return woken + 1


@njit(cache=True, nogil=True)
def _begins(link: Ints, links: int) -> Ints:
    """First places (links + 1,) of the hops of each link in a list of hops by link."""
    first = np.zeros(links + 1, np.int64)
    for one in link:
        first[one + 1] += 1
    for one in range(links):
        first[one + 1] += first[one]
    return first


@njit(cache=True, nogil=True)
def _make_ready(
    hop: int, on: int, ready_key: Floats, ready: Ints, first: Ints, count: Ints, key: Floats
) -> None:
    """Put a hop among those that its link can carry."""
    push(ready_key, ready, first[on], count[on], key[hop], hop)
    count[on] += 1
