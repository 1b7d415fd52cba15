"""Times of the collectives of one machine, all in one call."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.collectives.time import collective_time
from simcore.kernels.jit import njit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FIRST_PHASE, CHUNKS, CHUNK_BYTES = 0, 1, 2
COLLECTIVE_WORDS = 3
"""Words of a collective: its first phase, and the number and size of its chunks."""

MISSING, DURATION_NS, HELD_NS, LAST_NS, TIED = 0, 1, 2, 3, 4
ANSWER_WORDS = 5
"""Words of an answer, as ``collective_time`` returns them."""


@njit(cache=True)
def collective_times(
    collectives: Ints, rows: Ints, active: int, network: Floats, local: Floats, times: Ints
) -> tuple[Ints, Floats]:
    """Time N collectives, one after the other; see ``collective_time``.

    Args:
        collectives: (N + 1, COLLECTIVE_WORDS) int64; the last one begins where the phases end.
        rows: (P, ROW_WORDS) int64, the phases of all.
        active: Chunks that a dimension works on at once.
        network: (D, LINK_WORDS) float64.
        local: (LOCAL_WORDS,) float64.
        times: (P, TIME_WORDS) int64, gets the time of each phase.

    Returns:
        (N, ANSWER_WORDS) int64, and (N, 2, D) float64 bytes that one member sends, and that pass
        the links of one NPU.
    """
    count = collectives.shape[0] - 1
    answers = np.zeros((count, ANSWER_WORDS), np.int64)
    traffic = np.zeros((count, 2, network.shape[0]))
    for number in range(count):
        first, chunks, chunk_bytes = collectives[number]
        behind = collectives[number + 1, FIRST_PHASE]
        missing, duration, held, last, tied = collective_time(
            rows[first:behind],
            chunks,
            chunk_bytes,
            active,
            network,
            local,
            times[first:behind],
            traffic[number],
        )
        answer = answers[number]
        answer[MISSING], answer[DURATION_NS], answer[HELD_NS] = missing, duration, held
        answer[LAST_NS], answer[TIED] = last, tied
    return answers, traffic
