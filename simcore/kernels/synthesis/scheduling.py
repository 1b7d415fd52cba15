"""Times at which links carry chunks: whenever a link is free, the most urgent hop that is ready."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.synthesis.heaps import drop, push

Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@njit(cache=True, nogil=True)
def urgency(
    offsets: Ints, after: Ints, order: Ints, takes: Floats, latency: Floats, through: Bools
) -> Floats:
    """Time (S,) from the start of each hop to the end of the longest chain that waits for it.

    Args:
        offsets: (S + 1,) where the hops that wait for each hop begin.
        after: Those hops.
        order: (S,) hops, each before those that wait for it.
        takes: (S,) time of each hop on its link.
        latency: (S,) time after that until its data is there.
        through: (S,) as for ``schedule``.
    """
    longest = np.zeros(len(order))
    for place in range(len(order) - 1, -1, -1):
        hop = order[place]
        most = 0.0
        for at in range(offsets[hop], offsets[hop + 1]):
            then = after[at]
            ahead = min(takes[hop], takes[then]) if through[then] else 0.0
            most = max(most, longest[then] - ahead)
        longest[hop] = most + takes[hop] + latency[hop]
    return longest


@njit(cache=True, nogil=True)
def schedule(
    link: Shorts,
    of_links: tuple[Floats, Floats, int],
    ways: tuple[Shorts, Shorts, Shorts],
    through: Bools,
    key: Floats,
) -> Floats:
    """Start (S,) of each hop; on every link one at a time, the lowest key first.

    Numbers of hops and links are short: what is looked at lies all over the memory.

    Args:
        link: (S,) link of each hop.
        of_links: (L,) time that a hop takes on each link; (L,) time after that until its data is
            there; links of which each carries one hop at a time: those after them carry any number.
        ways: (S + 1,) where the hops that wait for each hop begin; those hops; (S,) how many each
            waits for, changed.
        through: (S,) true where a hop leaves a switch, which passes a chunk on, copies it or adds
            it up as it comes in, not before all of it comes in as fast as it leaves.
        key: (S,) which of the hops that are ready goes first.

    Returns:
        The starts; infinite for hops that wait for each other.
    """
    (takes, latency, shared), (offsets, after, waits) = of_links, ways
    hops, links = len(link), len(takes)
    first = _begins(link, links)
    ready_key, ready = np.empty(hops), np.empty(hops, np.int32)
    count, free_at = np.zeros(links, np.int64), np.zeros(links)
    start = np.full(hops, np.inf)
    room = hops + len(after) + links + 2
    queue = np.empty(room), np.empty(room, np.int64), np.full(links, -1, np.int64)
    event_key, event, carried = queue
    awake, is_awake, woken = np.empty(links, np.int64), np.zeros(links, np.bool_), 0
    soon, found, events, now = np.empty(hops + 1, np.int32), 0, 0, 0.0
    for hop in range(hops):
        found = _found(hop, waits[hop] == 0, soon, found)
    while True:
        for hop in soon[:found]:
            on = link[hop]
            push(ready_key, ready, first[on], count[on], key[hop], hop)
            count[on] += 1
            woken = _wake(on, awake, is_awake, woken)
        found = 0
        for on in awake[:woken]:
            is_awake[on] = False
            if count[on] and free_at[on] <= now:
                hop = ready[first[on]]
                count[on] -= 1
                drop(ready_key, ready, first[on], count[on])
                start[hop], free_at[on] = now, now + (takes[on] if on < shared else 0.0)
                others = after[offsets[hop] : offsets[hop + 1]]
                times = now, free_at[on], now + takes[on] + latency[on]
                events, found = _send(
                    hop, on, times, others, link, takes, through, waits, queue, events, soon, found
                )
        woken = 0
        if found == 0:
            if events == 0:
                return start
            now = event_key[0]
        until = now * (1.0 + 1e-12)
        while events and event_key[0] <= until:
            what, now = event[0], event_key[0]
            events -= 1
            drop(event_key, event, 0, events)
            if what >= hops:
                waits[what - hops] -= 1
                found = _found(what - hops, waits[what - hops] == 0, soon, found)
            if what < 0:
                on = -1 - what
                woken = _wake(on, awake, is_awake, woken)
                what, carried[on] = carried[on], -1
            if 0 <= what < hops:
                for hop in after[offsets[what] : offsets[what + 1]]:
                    waits[hop] -= 1
                    found = _found(hop, waits[hop] == 0 and not through[hop], soon, found)


@njit(cache=True, nogil=True)
def _send(
    hop: int,
    on: int,
    times: tuple[float, float, float],
    others: Shorts,
    link: Shorts,
    takes: Floats,
    through: Bools,
    waits: Shorts,
    queue: tuple[Floats, Ints, Ints],
    events: int,
    soon: Shorts,
    found: int,
) -> tuple[int, int]:
    """Note when a hop that starts on a link now is done, and when others may go on.

    A link that is done is item -1 - link, a hop that has arrived is its number, and one for which
    enough of another has come in is S and its number.

    Args:
        hop: The hop.
        on: Its link.
        times: Now; when the link is done; when the data is there.
        others: Hops that wait for it.
        link: As for ``schedule``.
        takes: (L,) time that a hop takes on each link.
        through: As there.
        waits: (S,) for how many hops each waits; changed.
        queue: Times and items of events, and (L,) the hop whose data is there when a link is done
            and for which others wait then, or -1.
        events: Events.
        soon: Hops that are ready now.
        found: How many.

    Returns:
        Events and hops that are ready then.
    """
    event_key, event, carried = queue
    now, done, arrival = times
    waited = False
    for other in others:
        when = arrival - min(takes[on], takes[link[other]])
        waited |= not through[other]
        if through[other] and when <= now:
            waits[other] -= 1
            found = _found(other, waits[other] == 0, soon, found)
        elif through[other]:
            push(event_key, event, 0, events, when, len(link) + other)
            events += 1
    push(event_key, event, 0, events, done, -1 - on)
    events += 1
    if waited and arrival > done:
        push(event_key, event, 0, events, arrival, hop)
        events += 1
    elif waited:
        carried[on] = hop
    return events, found


@njit(cache=True, nogil=True)
def _found(hop: int, is_ready: bool, soon: Shorts, found: int) -> int:
    """Put a hop on the list of those that are ready now, if it is; hops on it then."""
    soon[found] = hop
    return found + is_ready


@njit(cache=True, nogil=True)
def _wake(link: int, awake: Ints, is_awake: Bools, woken: int) -> int:
    """Put a link on the list of those to look at; links on it then."""
    if is_awake[link]:
        return woken
    is_awake[link] = True
    awake[woken] = link
    return woken + 1


@njit(cache=True, nogil=True)
def _begins(link: Shorts, links: int) -> Ints:
    """First places (links + 1,) of the hops of each link in a list of hops by link."""
    first = np.zeros(links + 1, np.int64)
    for one in link:
        first[one + 1] += 1
    for one in range(links):
        first[one + 1] += first[one]
    return first
