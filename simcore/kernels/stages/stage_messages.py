"""Times of the messages between neighbouring stages of a pipeline."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.collectives.hops import hops, lowest_difference, npu_links
from simcore.kernels.collectives.phase_machine import message_ns
from simcore.kernels.collectives.phase_row import BYTES_PER_NS, LATENCY_NS
from simcore.kernels.jit import njit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True)
def neighbour_messages(stages: int, stride: int, network: Floats, size: int) -> Ints:
    """From every stage to the next one around, and to the one before.

    A message is charged for the lowest dimension in which the two NPUs differ (ASTRA-sim's
    congestion-unaware rule).

    Args:
        stages: S, at least 2.
        stride: Distance of neighbouring stages in NPU ids.
        network: (D, LINK_WORDS) float64, see ``hops``.
        size: Bytes.

    Returns:
        (2, 3, S) int64: to the next and to the previous stage; dimension, time in ns, and links
        of the dimension's NPUs that the message passes.
    """
    found = np.zeros((2, 3, stages), np.int64)
    for stage in range(stages):
        for way in range(2):
            peer = (stage + (1 if way == 0 else stages - 1)) % stages
            d, x, y = lowest_difference(network, stage * stride, peer * stride)
            found[way, 0, stage] = d
            found[way, 1, stage] = message_ns(
                hops(network, d, x, y), network[d, LATENCY_NS], size, network[d, BYTES_PER_NS]
            )
            found[way, 2, stage] = npu_links(network, d, x, y)
    return found
