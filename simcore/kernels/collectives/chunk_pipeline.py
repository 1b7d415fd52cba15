"""Chunks of one collective on their way through the dimensions, on a member that stands for all."""

import numpy as np

from simcore.kernels.collectives.records import Ints
from simcore.kernels.heaps import drop_first_event, push_event
from simcore.kernels.jit import njit


@njit(cache=True)
def pipeline_time(
    chunks: int, over: Ints, duration_ns: Ints, last_step_ns: Ints, queues: int, active: int
) -> tuple[int, int, bool]:
    """Send *chunks* equal chunks through the same phases; each queue runs *active* at once.

    A chunk that ends a phase first joins the next queue; then its old queue starts a waiting
    chunk, then the new one does. Chunks that end at the same time go on in the order in which
    their last steps were scheduled (the event order of ASTRA-sim 2.0).

    Args:
        chunks: Chunks, all entering the first queue at time 0.
        over: (P,) int64, the queue of each phase.
        duration_ns: (P,) int64, of each phase.
        last_step_ns: (P,) int64, how long before its end its last step was scheduled.
        queues: Number of queues: one per dimension.
        active: Chunks that a queue runs at once.

    Returns:
        The end of the last chunk in ns; how long before that its last step was scheduled; and
        whether two chunks tied in a way that this order cannot decide (the result may then be
        another than that of the full simulation).
    """
    phases = over.size
    waiting = np.empty((queues, chunks * phases), np.int64)
    head = np.zeros(queues, np.int64)
    tail = np.zeros(queues, np.int64)
    running = np.zeros(queues, np.int64)
    phase = np.zeros(chunks, np.int64)
    event, counter = np.empty((chunks, 4), np.int64), np.zeros(2, np.int64)
    queue = over[0]
    for chunk in range(chunks):
        waiting[queue, chunk] = chunk
    tail[queue] = chunks
    entered = queue
    tied = False
    latest = np.full((queues, 3), -1, np.int64)  # end, its scheduling and phase, by queue entered
    now, wait, done = 0, 0, 0
    while True:
        for q in (queue, entered):
            while running[q] < active and head[q] < tail[q]:
                chunk = waiting[q, head[q]]
                head[q] += 1
                running[q] += 1
                end = now + duration_ns[phase[chunk]]
                push_event(event, counter, end, end - last_step_ns[phase[chunk]], chunk)
        if done == chunks:
            return now, wait, tied
        now, scheduled, chunk = event[0, 0], event[0, 1], event[0, 3]
        drop_first_event(event, counter)
        finished = phase[chunk]
        wait = last_step_ns[finished]
        queue = over[finished]
        entered = queue
        running[queue] -= 1
        if finished + 1 == phases:
            done += 1
            continue
        entered = over[finished + 1]
        seen = latest[entered]
        if seen[0] == now and seen[1] == scheduled and seen[2] != finished:
            tied = True
        seen[0], seen[1], seen[2] = now, scheduled, finished
        waiting[entered, tail[entered]] = chunk
        tail[entered] += 1
        phase[chunk] += 1
