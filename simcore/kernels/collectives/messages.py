"""Times of many messages on idle links."""

import numpy as np

from simcore.kernels.collectives.phase_machine import message_ns
from simcore.kernels.collectives.records import Floats, Ints
from simcore.kernels.jit import njit


@njit(cache=True)
def messages_ns(hops: Ints, latency_ns: Floats, size_bytes: Ints, bytes_per_ns: Floats) -> Ints:
    """``message_ns`` of each of N messages, as (N,) int64."""
    found = np.empty(size_bytes.size, np.int64)
    for i in range(size_bytes.size):
        found[i] = message_ns(hops[i], latency_ns[i], size_bytes[i], bytes_per_ns[i])
    return found
