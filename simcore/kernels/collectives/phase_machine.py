"""Time of one phase on one dimension whose members behave alike: one member stands for all.

What the member sends at some distance, it receives from the mirrored distance at the same time, so
each send is delivered to the member itself. The state machine is that of ASTRA-sim 2.0's ring,
direct and halving-doubling algorithms (see the collectives package for its parameters). It runs
any program; most have a shorter way, see ``phase_members``.

The order of events is ASTRA-sim's too: those of one time run in the order in which they were
scheduled, but the member's own (bundles on its local bus) run together, where the first of them
stands; what they add for the same time joins them.
"""

import heapq

import numpy as np

from simcore.kernels.collectives import records
from simcore.kernels.collectives.hops import hops, lowest_difference
from simcore.kernels.collectives.records import Ints, Machine, Record
from simcore.kernels.jit import njit

LONGEST_NS = float(1 << 61)  # of one delay, so that times never pass the range of 64 bits
_DELAYED, _READY, _ARRIVED = 0, 1, 2
_INSERTED, _TAKEN, _LEFT, _FREE, _RECEIVED, _NEXT_BYTES, _NEXT_DISTANCE, _NEXT_SHRINKS = range(8)


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
def is_reduced(row: Record, packet: int) -> bool:
    """True if the data of a packet, counted from 0, is reduced before it is sent."""
    period = row["parallel"] + row["reduced"]
    if packet % period < row["parallel"]:
        return False
    if row["reduce_rule"] == records.REDUCE_FIRST_HALF:
        return packet // period % 2 == 0
    return row["reduce_rule"] == records.REDUCE_ALWAYS


@njit(cache=True)
def next_packet(row: Record, size: int, distance: int, shrinks: int) -> tuple[int, int, int]:
    """Size, distance and direction of the packet after one with these."""
    if row["peers"] == records.PEERS_ROTATING:
        return size, distance % (row["members"] - 1) + 1, shrinks
    if row["peers"] != records.PEERS_HALVING:
        return size, distance, shrinks
    if shrinks == 0:
        return size * 2, distance // 2, shrinks
    size, distance = size // 2, distance * 2
    if row["reduce_rule"] == records.REDUCE_FIRST_HALF and distance == row["members"]:
        return size * 2, distance // 2, 0
    return size, distance, shrinks


@njit(cache=True)
def travel_ns(machine: Machine, a: int, b: int, size: int) -> int:
    """Time of a message over the lowest dimension in which *a* and *b* differ; 0 to oneself."""
    d, x, y = lowest_difference(machine, a, b)
    if d < 0:
        return 0
    crossed = hops(machine, d, x, y)
    link = machine.links[d]
    return message_ns(crossed, link["latency_ns"], size, link["bytes_per_ns"])


@njit(cache=True)
def phase_time(row: Record, size_bytes: int, machine: Machine) -> tuple[int, int, int]:
    """Run one phase of one chunk from an idle start.

    Args:
        row: PHASE, the phase.
        size_bytes: Of the chunk.
        machine: Of the one dimension.

    Returns:
        Duration in ns; bytes that the member sends; how long before its end the step was scheduled
        that ended it (ns), which decides the order of phases that end at the same time.
    """
    packets = row["steps"] + row["parallel"]
    size = np.zeros(packets, np.int64)
    distance = np.zeros(packets, np.int64)
    state = np.zeros(8, np.int64)
    state[_LEFT] = row["steps"]
    state[_NEXT_BYTES] = size_bytes // row["divisor"]
    state[_NEXT_DISTANCE] = row["distance"]
    state[_NEXT_SHRINKS] = row["shrinks"]
    heap = [(0, 0, 0, 0, 0)]  # time, place among the events of that time, number, what, packet
    heap.pop()
    sequence = 0
    delay_ns = machine.delay_ns
    for _ in range(row["parallel"] if row["peers"] == records.PEERS_ROTATING else 1):
        sequence = _insert(row, delay_ns, sequence, heap, state, size, distance)
    sent_bytes = 0
    while len(heap) > 0:
        now, place, _, what, packet = heapq.heappop(heap)
        if what == _DELAYED:
            sequence += 1
            wait = reduction_ns(size[packet], machine.memory_bytes_per_s)
            joined = place if wait == 0 else _place(heap, now + wait, sequence)
            # beyond the packets' numbers: the bundle ended in a reduction
            heapq.heappush(heap, (now + wait, joined, sequence, _READY, packet + packets))
        elif what == _ARRIVED:
            state[_RECEIVED] += 1
            sequence = _insert(row, now + delay_ns, sequence, heap, state, size, distance)
        else:
            state[_FREE] += 1
            tries = 1
            if row["waits"] != 0 and state[_LEFT] <= row["members"] - 1:
                tries = 0 if state[_RECEIVED] < row["members"] - 1 else row["parallel"]
            for _ in range(tries):
                if state[_TAKEN] < state[_INSERTED] and state[_LEFT] > 0 and state[_FREE] > 0:
                    taken = state[_TAKEN]
                    sequence += 1
                    arrival = now + _travel_from_first(row, machine, distance[taken], size[taken])
                    heapq.heappush(heap, (arrival, sequence, sequence, _ARRIVED, 0))
                    sent_bytes += size[taken]
                    state[_TAKEN] += 1
                    state[_LEFT] -= 1
                    state[_FREE] -= 1
            if tries > 0 and state[_LEFT] == 0 and state[_FREE] == row["parallel"]:
                wait = delay_ns
                if packet >= packets:
                    wait = reduction_ns(size[packet - packets], machine.memory_bytes_per_s)
                return now, sent_bytes, wait
    return -1, sent_bytes, 0


@njit(cache=True)
def _travel_from_first(row: Record, machine: Machine, distance: int, size: int) -> int:
    """Time of a message from the first member to the one at a *distance*."""
    link, crossed = machine.links[0], hops(machine, 0, 0, distance * row["stride"])
    return message_ns(crossed, link["latency_ns"], size, link["bytes_per_ns"])


@njit(cache=True)
def _insert(
    row: Record,
    due_ns: int,
    sequence: int,
    heap: list[tuple[int, int, int, int, int]],
    state: Ints,
    size: Ints,
    distance: Ints,
) -> int:
    """Put the next packet in line and its bundle on the local bus; returns the event number."""
    packet = state[_INSERTED]
    state[_INSERTED] += 1
    size[packet], distance[packet] = state[_NEXT_BYTES], state[_NEXT_DISTANCE]
    state[_NEXT_BYTES], state[_NEXT_DISTANCE], state[_NEXT_SHRINKS] = next_packet(
        row, state[_NEXT_BYTES], state[_NEXT_DISTANCE], state[_NEXT_SHRINKS]
    )
    sequence += 1
    what = _DELAYED if is_reduced(row, packet) else _READY
    heapq.heappush(heap, (due_ns, _place(heap, due_ns, sequence), sequence, what, packet))
    return sequence


@njit(cache=True)
def _place(heap: list[tuple[int, int, int, int, int]], time: int, sequence: int) -> int:
    """Place of the first of the member's own events of *time*; without one, here."""
    for due, place, _, what, _ in heap:
        if due == time and what != _ARRIVED:
            return place
    return sequence
