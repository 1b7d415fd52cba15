"""Time of one phase on one dimension whose members behave alike: one member stands for all.

What the member sends at some distance, it receives from the mirrored distance at the same time, so
each send is delivered to the member itself. The state machine is that of ASTRA-sim 2.0's ring,
direct and halving-doubling algorithms (see the collectives package for its parameters).

The order of events is ASTRA-sim's too: those of one time run in the order in which they were
scheduled, but the member's own (bundles on its local bus) run together, where the first of them
stands; what they add for the same time joins them.
"""

import heapq
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from simcore.kernels.topology_codes import FULLY_CONNECTED, SWITCH

LONGEST_NS = float(1 << 61)  # of one delay, so that times never pass the range of 64 bits
_NEIGHBOUR, _ROTATING, _HALVING = 0, 1, 2
_DELAYED, _READY, _ARRIVED = 0, 1, 2


class PhaseArguments(NamedTuple):
    """One phase of one member: the algorithm's program and the dimension under it.

    Sizes are in bytes, times in ns, ``bytes_per_ns`` is the bandwidth of one link. The fields of
    the program are those of ``collectives.PhaseProgram``.
    """

    steps: int
    parallel: int
    reduced: int
    first_bytes: int
    first_distance: int
    factor: float
    peers: int
    waits_for_all: bool
    reduces_first_half: bool
    reduces_always: bool
    members: int
    topology: int
    npus: int
    stride: int
    bytes_per_ns: float
    latency_ns: float
    endpoint_delay_ns: int
    memory_bytes_per_s: float


@njit(cache=True)
def hops_at(topology: int, npus: int, distance: int) -> int:
    """Links that a message crosses to an NPU *distance* coordinates away in one dimension."""
    if topology == FULLY_CONNECTED:
        return 1
    if topology == SWITCH:
        return 2
    return min(distance, npus - distance)


@njit(cache=True)
def message_ns(hops: int, latency_ns: float, size_bytes: int, bytes_per_ns: float) -> int:
    """Time of a message on idle links: latency per hop, bandwidth once, fraction dropped."""
    return int(min(hops * latency_ns + size_bytes / bytes_per_ns, LONGEST_NS))


@njit(cache=True)
def reduction_ns(size_bytes: int, memory_bytes_per_s: float) -> int:
    """Two reads and a write of *size_bytes*, each truncated by itself; 0 without a bandwidth."""
    if memory_bytes_per_s <= 0.0:
        return 0
    return 3 * int(min(size_bytes / memory_bytes_per_s * 1e9, LONGEST_NS / 4))


@njit(cache=True)
def phase_time(a: PhaseArguments) -> tuple[int, int, int]:
    """Run one phase of one chunk from an idle start.

    Returns:
        Duration in ns; bytes that the member sends; how long before its end the step was scheduled
        that ended it (ns), which decides the order of phases that end at the same time.
    """
    packets = a.steps + a.parallel
    size = np.zeros(packets, np.int64)
    distance = np.zeros(packets, np.int64)
    count = np.zeros(8, np.int64)  # plain, reduced, toggle, inserted, taken, steps, free, received
    count[5] = a.steps
    following = np.array([float(a.first_bytes), float(a.first_distance), a.factor])
    heap = [(0, 0, 0, 0, 0)]  # time, place among the events of that time, number, what, packet
    heap.pop()
    sequence = 0
    for _ in range(a.parallel if a.peers == _ROTATING else 1):
        sequence = _insert(a, 0, sequence, heap, count, following, size, distance)
    sent_bytes = 0
    while len(heap) > 0:
        now, place, _, what, packet = heapq.heappop(heap)
        if what == _DELAYED:
            sequence += 1
            wait = reduction_ns(size[packet], a.memory_bytes_per_s)
            joined = place if wait == 0 else _place(heap, now + wait, sequence)
            # beyond the packets' numbers: the bundle ended in a reduction
            heapq.heappush(heap, (now + wait, joined, sequence, _READY, packet + packets))
        elif what == _ARRIVED:
            count[7] += 1
            sequence = _insert(a, now, sequence, heap, count, following, size, distance)
        else:
            count[6] += 1
            tries = 1
            if a.waits_for_all and count[5] <= a.members - 1:
                tries = 0 if count[7] < a.members - 1 else a.parallel
            for _ in range(tries):
                if count[4] < count[3] and count[5] > 0 and count[6] > 0:
                    taken = count[4]
                    hops = hops_at(a.topology, a.npus, distance[taken] * a.stride)
                    time = message_ns(hops, a.latency_ns, size[taken], a.bytes_per_ns)
                    sequence += 1
                    heapq.heappush(heap, (now + time, sequence, sequence, _ARRIVED, 0))
                    sent_bytes += size[taken]
                    count[4] += 1
                    count[5] -= 1
                    count[6] -= 1
            if tries > 0 and count[5] == 0 and count[6] == a.parallel:
                wait = a.endpoint_delay_ns
                if packet >= packets:
                    wait = reduction_ns(size[packet - packets], a.memory_bytes_per_s)
                return now, sent_bytes, wait
    return -1, sent_bytes, 0


@njit(cache=True)
def _insert(
    a: PhaseArguments,
    now: int,
    sequence: int,
    heap: list[tuple[int, int, int, int, int]],
    count: NDArray[np.int64],
    following: NDArray[np.float64],
    size: NDArray[np.int64],
    distance: NDArray[np.int64],
) -> int:
    """Put the next packet in line and its bundle on the local bus; returns the event number."""
    if count[0] == 0 and count[1] == 0:
        count[0] = a.parallel
        count[1] = a.reduced
        count[2] = 1 - count[2]
    reduce = False
    if count[0] > 0:
        count[0] -= 1
    else:
        reduce = a.reduces_always or (a.reduces_first_half and count[2] == 1)
        count[1] -= 1
    packet = count[3]
    count[3] += 1
    size[packet] = int(following[0])
    distance[packet] = int(following[1])
    _advance(a, following)
    sequence += 1
    due = now + a.endpoint_delay_ns
    what = _DELAYED if reduce else _READY
    heapq.heappush(heap, (due, _place(heap, due, sequence), sequence, what, packet))
    return sequence


@njit(cache=True)
def _place(heap: list[tuple[int, int, int, int, int]], time: int, sequence: int) -> int:
    """Where the member's own events of *time* stand: at the first of them, else here."""
    for due, place, _, what, _ in heap:
        if due == time and what != _ARRIVED:
            return place
    return sequence


@njit(cache=True)
def _advance(a: PhaseArguments, following: NDArray[np.float64]) -> None:
    """Size and distance of the packet after this one."""
    if a.peers == _ROTATING:
        following[1] = following[1] % (a.members - 1) + 1
    elif a.peers == _HALVING:
        following[1] = float(int(following[1] * following[2]))
        following[0] = float(int(following[0] / following[2]))
        if a.reduces_first_half and following[1] == a.members:
            following[2] = 0.5
            following[1] = float(int(following[1] * 0.5))
            following[0] = float(int(following[0] / 0.5))
