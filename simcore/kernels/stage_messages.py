"""Times of the messages between neighbouring stages of a pipeline."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.phase_machine import hops_at, message_ns
from simcore.kernels.topology_codes import RING

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True)
def neighbour_messages(
    stages: int, stride: int, network: Ints, latency_ns: Floats, bytes_per_ns: Floats, size: int
) -> Ints:
    """From every stage to the next one around, and to the one before.

    A message is charged for the lowest dimension in which the two NPUs differ (ASTRA-sim's
    congestion-unaware rule).

    Args:
        stages: S, at least 2.
        stride: Distance of neighbouring stages in NPU ids.
        network: (D, 2) int64, topology code and NPUs of each dimension.
        latency_ns: (D,) float64, of one hop.
        bytes_per_ns: (D,) float64, of one link.
        size: Bytes.

    Returns:
        (2, 3, S) int64: to the next and to the previous stage; dimension, time in ns, and links
        of the dimension's NPUs that the message passes.
    """
    found = np.zeros((2, 3, stages), np.int64)
    for stage in range(stages):
        for way in range(2):
            peer = (stage + (1 if way == 0 else stages - 1)) % stages
            source, target = stage * stride, peer * stride
            for dimension in range(network.shape[0]):
                npus = network[dimension, 1]
                apart = abs(source % npus - target % npus)
                if apart != 0:
                    hops = hops_at(network[dimension, 0], npus, apart)
                    found[way, 0, stage] = dimension
                    found[way, 1, stage] = message_ns(
                        hops, latency_ns[dimension], size, bytes_per_ns[dimension]
                    )
                    found[way, 2, stage] = hops if network[dimension, 0] == RING else 1
                    break
                source //= npus
                target //= npus
    return found
