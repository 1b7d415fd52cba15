"""Chunks of one collective on their way through the dimensions, on a member that stands for all."""

import heapq

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True)
def pipeline_time(
    chunks: int,
    queue_of_phase: NDArray[np.int64],
    phase_ns: NDArray[np.int64],
    last_step_ns: NDArray[np.int64],
    queues: int,
    active: int,
) -> tuple[int, int, bool]:
    """Send *chunks* equal chunks through the same phases; each queue runs *active* at once.

    A chunk that ends a phase first joins the next queue; then its old queue starts a waiting
    chunk, then the new one does. Chunks that end at the same time go on in the order in which
    their last steps were scheduled (the event order of ASTRA-sim 2.0).

    Args:
        chunks: Chunks, all entering the first queue at time 0.
        queue_of_phase: (P,) int64, queue of each phase.
        phase_ns: (P,) int64, duration of each phase.
        last_step_ns: (P,) int64, how long before its end the last step of a phase was scheduled.
        queues: Number of queues.
        active: Chunks that a queue runs at once.

    Returns:
        The end of the last chunk in ns; how long before that its last step was scheduled; and
        whether two chunks tied in a way that this order cannot decide (the result may then be
        another than that of the full simulation).
    """
    phases = phase_ns.size
    waiting = np.empty((queues, chunks * phases), np.int64)
    head = np.zeros(queues, np.int64)
    tail = np.zeros(queues, np.int64)
    running = np.zeros(queues, np.int64)
    phase = np.zeros(chunks, np.int64)
    heap = [(0, 0, 0, 0)]
    heap.pop()
    sequence = 0
    first = queue_of_phase[0]
    for chunk in range(chunks):
        waiting[first, tail[first]] = chunk
        tail[first] += 1
    tied = False
    last_end, last_scheduled, last_phase = -1, -1, -1
    now = 0
    queue = first
    entered = first
    done = 0
    wait = 0
    while True:
        for q in (queue, entered):
            while running[q] < active and head[q] < tail[q]:
                chunk = waiting[q, head[q]]
                head[q] += 1
                running[q] += 1
                end = now + phase_ns[phase[chunk]]
                sequence += 1
                heapq.heappush(heap, (end, end - last_step_ns[phase[chunk]], sequence, chunk))
        if done == chunks:
            return now, wait, tied
        now, scheduled, _, chunk = heapq.heappop(heap)
        finished = phase[chunk]
        wait = last_step_ns[finished]
        queue = queue_of_phase[finished]
        entered = queue
        if finished + 1 == phases:
            done += 1
        else:
            entered = queue_of_phase[finished + 1]
            if now == last_end and scheduled == last_scheduled and finished != last_phase:
                tied = tied or queue_of_phase[finished + 1] == queue_of_phase[last_phase + 1]
            last_end, last_scheduled, last_phase = now, scheduled, finished
            waiting[entered, tail[entered]] = chunk
            tail[entered] += 1
            phase[chunk] += 1
        running[queue] -= 1
